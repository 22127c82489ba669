"""The editor and the operator that `make up` makes, for development alone.

Passwords are random, made once and kept in a file for the next run. An account of these names
that somebody else made stays untouched.
"""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

GROUPS = {"editor": "Editors", "operator": "Operators"}
# No group has it: who may send another body is somebody's decision. Here it is to be tried.
OWN_RIGHTS = {"operator": ("messaging", "correct_deadletter")}


@dataclass(frozen=True)
class Account:
    """`password` is None where it is not ours to know."""

    name: str
    password: str | None


def make_accounts(kept: Path) -> list[Account]:
    """Each account exists afterwards, in its group; the operator enters the admin and corrects."""
    passwords = _read(kept)
    accounts = [
        _make(name, group=group, password=passwords.get(name)) for name, group in GROUPS.items()
    ]
    _write(kept, passwords | {one.name: one.password for one in accounts if one.password})
    return accounts


def _make(name: str, *, group: str, password: str | None) -> Account:
    from django.contrib.auth.models import Group, Permission, User

    user, is_new = User.objects.get_or_create(
        username=name, defaults={"is_staff": name == "operator"}
    )
    if is_new:
        password = password or secrets.token_urlsafe(9)
        user.set_password(password)
        user.save()
        user.groups.add(Group.objects.get(name=group))
    elif not password or not user.check_password(password):
        return Account(name, None)
    if name in OWN_RIGHTS:
        app_label, codename = OWN_RIGHTS[name]
        own = {"content_type__app_label": app_label, "codename": codename}
        user.user_permissions.add(Permission.objects.get(**own))
    return Account(name, password)


def _read(kept: Path) -> dict[str, str]:
    try:
        passwords: dict[str, str] = json.loads(kept.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return passwords


def _write(kept: Path, passwords: dict[str, str]) -> None:
    draft = kept.with_name(f"{kept.name}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(passwords, file)
    draft.replace(kept)
