"""The Chromium of this machine, for browser tests and pictures."""

import shutil
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)

# Inside a container there is no sandbox to be had, and only pages of our own are opened.
ARGUMENTS = ("--no-sandbox", "--disable-gpu")


def find_chromium() -> Path | None:
    """The program, or None where there is none."""
    found = [path for name in _NAMES if (path := shutil.which(name))]
    return next((Path(path) for path in (*found, *_MAC) if Path(path).exists()), None)
