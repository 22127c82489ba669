"""A Python that has loaded the libraries already; each command is a fork of it.

`python -m tests.processes.forking DESCRIPTOR`, started by `tests.processes.warm_start`. To load
Django, pika and the rest costs a command most of its start. Only what is not ours is loaded here,
and no setting is read: what the command itself does from its first line on, it does in the fork.
"""

import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

LIBRARIES = (
    "csp.apps",
    "django.conf.urls.i18n",
    "django.contrib.admin",
    "django.contrib.auth.apps",
    "django.contrib.auth.hashers",
    "django.contrib.contenttypes.apps",
    "django.contrib.messages.middleware",
    "django.contrib.sessions.middleware",
    "django.core.management",
    "django.core.management.commands.migrate",
    "django.core.serializers.json",
    "django.core.handlers.wsgi",
    "django.db.backends.sqlite3.base",
    "django.db.backends.postgresql.base",
    "django.db.models",
    "django.forms",
    "django.template.defaultfilters",
    "django.template.defaulttags",
    "django.utils.log",
    "django.views.generic",
    "django_htmx.middleware",
    "environ",
    "markdown_it",
    "mdit_py_plugins.footnote",
    "msgspec",
    "nh3",
    "pika",
    "psycopg",
    "psycopg.types.json",
    "rich.console",
    "rich.traceback",
    "structlog",
    "urllib.request",
    "whitenoise.middleware",
    "xml.sax.saxutils",
)
LENGTH_BYTES = 8
# Standard input, output and error of the command, and where its number and its end are told.
DESCRIPTORS = 4


@dataclass(frozen=True)
class Wish:
    """One command that is asked for, with its open descriptors."""

    command: list[str]
    environment: dict[str, str]
    folder: str
    standard: list[int]
    told: int


def main(asked: socket.socket) -> Wish | None:
    """Fork for each wish. Returns one in the fork, and None once nobody can ask any more."""
    for name in LIBRARIES:
        import_module(name)
    gc.freeze()
    running: dict[int, int] = {}
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting = selectors.DefaultSelector()
    waiting.register(asked, selectors.EVENT_READ)
    waiting.register(woken, selectors.EVENT_READ)
    while True:
        ready = {key.fileobj for key, _ in waiting.select()}
        if woken in ready:
            woken.recv(4096)
            _tell_ends(running)
        if asked not in ready:
            continue
        wish = _read(asked)
        if wish is None:
            return None
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            waiting.close()
            for mine in (asked, woken, wake):
                mine.close()
            for descriptor in running.values():
                os.close(descriptor)
            return wish
        for descriptor in wish.standard:
            os.close(descriptor)
        running[pid] = wish.told


def become(wish: Wish) -> None:
    """Run what is wished for as if this process had been started for it."""
    os.setsid()
    os.write(wish.told, b"%d\n" % os.getpid())
    os.close(wish.told)
    for number, descriptor in enumerate(wish.standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(wish.folder)
    os.environ.clear()
    os.environ.update(wish.environment)
    if wish.command[0] == "-m":
        sys.argv = wish.command[1:]
        runpy.run_module(wish.command[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = wish.command
        runpy.run_path(wish.command[0], run_name="__main__")


def _tell_ends(running: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            told = running.pop(pid)
            with suppress(BrokenPipeError):
                os.write(told, b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(told)


def _read(asked: socket.socket) -> Wish | None:
    head, descriptors, _, _ = socket.recv_fds(asked, LENGTH_BYTES, DESCRIPTORS)
    if not head:
        return None
    while len(head) < LENGTH_BYTES:
        head += asked.recv(LENGTH_BYTES - len(head))
    left = int.from_bytes(head, "big")
    parts = []
    while left:
        parts.append(asked.recv(left))
        left -= len(parts[-1])
    said: dict[str, Any] = json.loads(b"".join(parts))
    return Wish(**said, standard=descriptors[:-1], told=descriptors[-1])


if __name__ == "__main__":
    wished = main(socket.socket(fileno=int(sys.argv[1])))
    if wished is not None:
        become(wished)
