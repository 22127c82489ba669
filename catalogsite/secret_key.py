"""The signing key of a machine that was given none: made once, kept under var/."""

import os
import secrets
from pathlib import Path

from catalogsite.environment import SettingError


def kept_secret_key(path: Path) -> str:
    """The key in `path`, made there (mode 600) when there is none. Safe against a race."""
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _make(path)
        key = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("SECRET_KEY", f"is not set, and {path} cannot be used") from error
    if not key:
        raise SettingError("SECRET_KEY", f"is not set, and {path} is empty")
    return key


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(50))
        # A link, unlike a rename, leaves a key alone that another process made meanwhile.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
