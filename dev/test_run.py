"""`make test`: the whole suite on SQLite, then on a private PostgreSQL, with one broker node.

`python -m dev.test_run [pytest arguments]`. Exit 0 when both passed. A service that cannot be
had is said plainly; with CI set it fails the run before it starts.

On a machine that is busy with other things a test may fail that tells nothing about the code. So
a few failures, and no more, are run again, alone; what passed only then is named at the end.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dev import guardian, services
from dev.postgres import ClusterFailed, PostgresCluster
from dev.rabbitmq import NodeFailed, RabbitNode
from dev.terminal import ensure_streams

PROJECT = Path(__file__).resolve().parent.parent
FAILED, CONFIGURATION, NO_TESTS = 1, 3, 5
STOP_SECONDS = 60
# More than CI's two cores: many a test waits for processes, a broker or a clock.
WORKERS = 3
# More than these are no accident of a busy machine.
FAILURES_TRIED_AGAIN = 3
TRIES_ALONE = 2


class Stopped(BaseException):
    """Ctrl-C or SIGTERM."""


@dataclass(frozen=True)
class Result:
    """What one pytest run said at its end."""

    database: str
    code: int
    counts: str
    seconds: float
    only_alone: tuple[str, ...] = ()


def main() -> int:
    ensure_streams()
    os.chdir(PROJECT)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        missing = services.missing(services.SERVICES, wanted_by="the tests")
        if missing and os.environ.get("CI"):
            return CONFIGURATION
        results = _run_both(sys.argv[1:], missing=missing)
    except (NodeFailed, ClusterFailed) as error:
        print(error, file=sys.stderr)
        return FAILED
    except Stopped:
        print("Stopped.", file=sys.stderr)
        return 128 + signal.SIGINT
    _tell(results, missing=missing)
    return FAILED if missing or not _passed([result.code for result in results]) else 0


def _tell(results: list[Result], *, missing: list[str]) -> None:
    print()
    if missing:
        print(f"NOT DONE: whatever needs {' and '.join(missing)} (see above)")
    print(", ".join(f"{result.database} took {result.seconds:.0f} s" for result in results))
    for result in results:
        print(f"{result.database}: {result.counts}")
    for result in results:
        if result.only_alone:
            print(f"{result.database}: passed only when run again alone:")
            print(*(f"  {name}" for name in result.only_alone), sep="\n")


def _passed(codes: list[int]) -> bool:
    """A selection may hold nothing for the second database, but not nothing at all."""
    return set(codes) <= {0, NO_TESTS} and 0 in codes


def _run_both(arguments: list[str], *, missing: list[str]) -> list[Result]:
    folder = Path(tempfile.mkdtemp(prefix="catalogsite-test-"))
    # The PostgreSQL server has a user of its own and must get through.
    folder.chmod(0o711)
    guard = guardian.watch_over(folder)
    try:
        if "rabbitmq-server" not in missing:
            # Where the `broker` fixture looks for it.
            RabbitNode(folder / "broker", schedulers=1).start()
        results = [_run_suite("SQLite", "", folder=folder, arguments=arguments)]
        if "postgresql" not in missing:
            cluster = PostgresCluster(folder / "postgres")
            cluster.start()
            url = cluster.url()
            rest = ["-m", "not any_database", *arguments]
            results.append(_run_suite("PostgreSQL", url, folder=folder, arguments=rest))
        return results
    finally:
        guard.release()


def _run_suite(database: str, url: str, *, folder: Path, arguments: list[str]) -> Result:
    print(f"--- {database}", flush=True)
    report = folder / f"{database}.xml"
    environment = _environment(url, folder=folder)
    began = time.monotonic()
    notes = folder / f"{database}-notes"
    asked = (f"--junitxml={report}", f"--override-ini=cache_dir={notes}", *arguments)
    code = _pytest("-n", str(WORKERS), "--dist=worksteal", *asked, environment=environment)
    failed = _failed(notes)
    again = ("--last-failed", f"--override-ini=cache_dir={notes}", *arguments, "-n", "0")
    tries = TRIES_ALONE if 0 < len(failed) <= FAILURES_TRIED_AGAIN else 0
    while code == FAILED and tries:
        print(f"--- {database}: what failed, again and alone", flush=True)
        code = _pytest(*again, environment=environment)
        tries -= 1
    only_alone = tuple(failed) if failed and code == 0 else ()
    return Result(database, code, _counts(report), time.monotonic() - began, only_alone)


def _environment(url: str, *, folder: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    if environment.pop("PYTHONDONTWRITEBYTECODE", ""):
        # Still not beside the sources; but hundreds of processes must not compile them anew.
        environment.setdefault("PYTHONPYCACHEPREFIX", str(folder / "bytecode"))
    environment |= {"CATALOGSITE_TEST_RUN": str(folder)}
    return environment | ({"DATABASE_URL": url} if url else {})


def _pytest(*arguments: str, environment: Mapping[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", *arguments]
    pytest = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
    try:
        return pytest.wait()
    except Stopped:
        pytest.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            pytest.wait(STOP_SECONDS)
        pytest.kill()
        raise


def _counts(report: Path) -> str:
    """In pytest's own words; a run that did not get to its report says so."""
    try:
        suite = ElementTree.parse(report).getroot().find("testsuite")
    except (OSError, ElementTree.ParseError):
        suite = None
    if suite is None:
        return "no report, pytest did not get to its end"
    tests, failures, errors, skipped = (
        int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")
    )
    passed = tests - failures - errors - skipped
    return f"{passed} passed, {failures + errors} failed, {skipped} skipped"


def _failed(notes: Path) -> list[str]:
    """What failed, by the names that pytest takes, from the notes it keeps for `--last-failed`."""
    try:
        return list(json.loads((notes / "v/cache/lastfailed").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return []


def _stop(number: int, frame: object) -> None:
    raise Stopped


if __name__ == "__main__":
    sys.exit(main())
