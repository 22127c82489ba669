"""The programs that tests and benchmarks start: got where we may, and named where they are missing.

Each runs with a folder and ports of its own; what the system itself runs of them is left alone.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from dev import packages
from dev.chromium import find_chromium
from dev.postgres import find_binaries as find_postgres
from dev.rabbitmq import find_scripts as find_rabbitmq

# By the name of Debian's package: what finds it.
SERVICES: Mapping[str, Callable[[], Path | None]] = MappingProxyType(
    {
        "rabbitmq-server": find_rabbitmq,
        "postgresql": find_postgres,
        "chromium": find_chromium,
    }
)


def missing(wanted: Iterable[str], *, wanted_by: str) -> list[str]:
    """What of these is not installed and cannot be, after trying to get it where we may.

    Each is told, with the ways to get it. `wanted_by` are those who need them, in the plural.
    """
    return [package for package in wanted if not _is_there(package, wanted_by=wanted_by)]


def _is_there(package: str, *, wanted_by: str) -> bool:
    find = SERVICES[package]
    if find() is None and packages.can_install():
        try:
            packages.install(package, purpose=f"{wanted_by} start it.")
        except packages.InstallFailed as error:
            print(error, file=sys.stderr)
    if find() is not None:
        return True
    print(
        f"{package} is not installed, and {wanted_by} need it.\n"
        f"  Debian, Ubuntu: sudo apt-get install {package}\n"
        f"  macOS:          brew install {package.replace('-server', '')}",
        file=sys.stderr,
    )
    return False
