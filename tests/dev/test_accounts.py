"""The development accounts: the same at the second run, and nobody else's account touched."""

import stat
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dev.accounts import make_accounts

pytestmark = pytest.mark.django_db


def test_an_editor_and_an_operator_can_sign_in_with_what_is_shown(tmp_path: Path) -> None:
    accounts = {one.name: one.password for one in make_accounts(tmp_path / "accounts.json")}

    editor, operator = (User.objects.get(username=name) for name in ("editor", "operator"))
    assert editor.check_password(str(accounts["editor"]))
    assert operator.check_password(str(accounts["operator"]))
    assert [group.name for group in editor.groups.all()] == ["Editors"]
    assert [group.name for group in operator.groups.all()] == ["Operators"]
    assert (editor.is_staff, operator.is_staff) == (False, True)
    assert not editor.is_superuser
    assert not operator.is_superuser
    assert operator.has_perm("messaging.correct_deadletter")


def test_the_second_run_shows_the_same_passwords(tmp_path: Path) -> None:
    first = make_accounts(tmp_path / "accounts.json")

    assert make_accounts(tmp_path / "accounts.json") == first


def test_a_new_database_gets_the_kept_passwords(tmp_path: Path) -> None:
    first = make_accounts(tmp_path / "accounts.json")
    User.objects.all().delete()

    assert make_accounts(tmp_path / "accounts.json") == first
    assert User.objects.get(username="editor").check_password(str(first[0].password))


def test_passwords_are_kept_for_the_owner_alone(tmp_path: Path) -> None:
    make_accounts(tmp_path / "accounts.json")

    assert stat.S_IMODE((tmp_path / "accounts.json").stat().st_mode) == 0o600


def test_an_editor_whom_somebody_else_made_is_left_alone(tmp_path: Path) -> None:
    User.objects.create_user("editor", password="chosen by a person")

    accounts = make_accounts(tmp_path / "accounts.json")

    assert accounts[0].password is None
    editor = User.objects.get(username="editor")
    assert editor.check_password("chosen by a person")
    assert not editor.groups.exists()


def test_a_password_that_was_changed_since_is_not_shown(tmp_path: Path) -> None:
    make_accounts(tmp_path / "accounts.json")
    editor = User.objects.get(username="editor")
    editor.set_password("changed by a person")
    editor.save()

    assert make_accounts(tmp_path / "accounts.json")[0].password is None
