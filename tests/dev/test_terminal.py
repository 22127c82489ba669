"""Our standing at the terminal: Ctrl-C is ours alone, closed streams do no harm."""

import subprocess
import sys

import pytest

from tests.environment import PROJECT

pytestmark = pytest.mark.any_database

WAIT_FOR_CTRL_C = """
import signal, sys, time
from dev.terminal import ensure_streams, own_foreground
ensure_streams()
def stop(*_):
    raise SystemExit(0)
signal.signal(signal.SIGINT, stop)
with own_foreground():
    print("ready", flush=True)
    time.sleep(60)
"""

# A process of its own, because one with threads must not fork. The shell stands for make: it
# is in the group that Ctrl-C reaches.
AT_A_TERMINAL = """
import os, pty, sys
python, program = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv("/bin/sh", ["sh", "-c", '"$0" -c "$1"; echo code $?', python, program])
output = b""
while b"ready" not in output:
    output += os.read(terminal, 1000)
os.write(terminal, b"\\x03")
while b"code" not in output:
    output += os.read(terminal, 1000)
os.waitpid(pid, 0)
print(output.decode())
"""

OPEN_A_FILE = """
import os, sys, tempfile
from dev.terminal import ensure_streams
ensure_streams()
with tempfile.TemporaryFile() as file:
    print("goes nowhere")
    print("goes nowhere", file=sys.stderr)
    sys.exit(file.fileno() < 3)
"""


def test_ctrl_c_ends_us_in_good_order_and_the_caller_goes_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_A_TERMINAL, sys.executable, WAIT_FOR_CTRL_C],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "code 0" in done.stdout, done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_not_taken_by_a_file_of_ours(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, OPEN_A_FILE],
        cwd=PROJECT,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
