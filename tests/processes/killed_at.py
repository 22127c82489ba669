"""Runs a `manage.py` command, or gunicorn, that kills itself at one call of one function.

`python -m tests.processes.killed_at package.module:Class.name before|after|never NTH COMMAND …`
With `never` it says that it is held there, and sleeps as one whose call takes very long.
A worker of gunicorn counts its own calls: the next one dies at the same place.
SIGKILL leaves no time for anything: what is not committed or confirmed by then is lost. So crash
points are tried on the product as it is, without a hook in it.
"""

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import django
from gunicorn.app import wsgiapp

import manage

HELD_SECONDS = 60


def main() -> None:
    function, when, nth, *command = sys.argv[1:]
    os.environ["DJANGO_SETTINGS_MODULE"] = "catalogsite.settings"
    django.setup()
    _arm(function, when=when, nth=int(nth))
    if command[0] == "gunicorn":
        sys.argv = command
        wsgiapp.run()
    else:
        sys.argv = ["manage.py", *command]
        manage.main()


def _arm(function: str, *, when: str, nth: int) -> None:
    module_name, _, path = function.partition(":")
    owner: Any = import_module(module_name)
    *classes, name = path.split(".")
    for class_name in classes:
        owner = getattr(owner, class_name)
    original = getattr(owner, name)
    deadly = _deadly(original, when=when, nth=nth)
    setattr(owner, name, deadly)
    if not classes:
        _replace_everywhere(original, deadly)


def _deadly(original: Callable[..., Any], *, when: str, nth: int) -> Callable[..., Any]:
    calls = iter(range(1, sys.maxsize))
    lock = threading.Lock()

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        with lock:
            number = next(calls)
        if number == nth and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if number == nth and when == "never":
            print("held", flush=True)
            time.sleep(HELD_SECONDS)
        result = original(*args, **kwargs)
        if number == nth and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return call


def _replace_everywhere(original: object, deadly: object) -> None:
    """Also where a module that is already loaded imported the function by name."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if value is original:
                setattr(module, name, deadly)


if __name__ == "__main__":
    main()
