"""Who is let into the admin, what pages say during an outage, and signals that come early."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client

from catalogsite.prompt_stop import prompt_stop
from catalogsite.start import run_command

ADMIN_PAGES = ["/admin/", "/admin/messaging/outboxmessage/", "/admin/nothing/"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", [*ADMIN_PAGES, "/admin/login/"])
def test_somebody_signed_in_without_the_right_is_refused_at_once(client: Client, path: str) -> None:
    client.force_login(User.objects.create_user("reader"))

    assert client.get(path).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize("path", ADMIN_PAGES)
def test_anonymous_is_sent_to_the_login(client: Client, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 302
    assert "/login/" in response["Location"]


@pytest.mark.django_db
def test_staff_enters(client: Client) -> None:
    client.force_login(User.objects.create_user("keeper", is_staff=True))

    assert client.get("/admin/").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "kind"), [("/", "text/html"), ("/api/materials/", "application/json")]
)
def test_a_page_says_when_to_come_back_while_the_database_is_away(
    client: Client, path: str, kind: str
) -> None:
    away = _away()

    with (
        mock.patch("materials.catalog.models.CatalogEntry.objects.all", side_effect=away),
        mock.patch("django.db.models.query.QuerySet._fetch_all", side_effect=away),
        mock.patch("django.db.models.query.QuerySet.count", side_effect=away),
    ):
        response = client.get(path)

    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert response["Content-Type"].startswith(kind)
    assert "SECRETPW" not in response.content.decode()


def _away() -> OperationalError:
    # A driver's error without a code, as psycopg raises when there is no server.
    away = OperationalError("connection failed: postgres://eva:SECRETPW@db/")
    away.__cause__ = psycopg.OperationalError("connection failed")
    return away


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("method", "path"),
    [("post", "/preferences/"), ("get", "/nothing/"), ("post", "/editor/a/publish/")],
)
def test_a_refusal_to_somebody_signed_in_says_when_to_come_back_too(method: str, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("ada"))

    with mock.patch("django.db.models.query.QuerySet._fetch_all", side_effect=_away()):
        response = getattr(client, method)(path)

    assert (response.status_code, response["Retry-After"]) == (503, "5")


@pytest.mark.any_database
@pytest.mark.django_db(transaction=True)
def test_signing_in_and_out_while_others_write_says_when_to_come_back(client: Client) -> None:
    User.objects.create_user("ada", password="a long password")
    sign_in = {"username": "ada", "password": "a long password"}
    client.force_login(User.objects.get())

    with _write_lock():
        signing_in = Client().post("/accounts/login/", sign_in)
        signing_out = client.post("/accounts/logout/")

    for response in (signing_in, signing_out):
        assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert Client().post("/accounts/login/", sign_in).status_code == 302


@contextmanager
def _write_lock() -> Iterator[None]:
    """As if another process wrote for longer than anybody waits."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 20")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()
        connection.close()


@pytest.mark.django_db
@pytest.mark.parametrize("step", ["create", "save", "delete"])
def test_a_session_that_cannot_be_written_in_time_says_when_to_come_back(
    client: Client, step: str
) -> None:
    User.objects.create_user("ada", password="a long password")
    busy = OperationalError("canceling statement due to lock timeout")
    busy.__cause__ = psycopg.errors.LockNotAvailable()
    if step == "delete":
        client.force_login(User.objects.get())

    with mock.patch(f"django.contrib.sessions.backends.db.SessionStore.{step}", side_effect=busy):
        if step == "delete":
            response = client.post("/accounts/logout/")
        else:
            response = client.post(
                "/accounts/login/", {"username": "ada", "password": "a long password"}
            )

    assert (response.status_code, response["Retry-After"]) == (503, "5")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_while_a_command_is_still_starting_is_an_end_in_good_order(
    number: signal.Signals,
) -> None:
    code = (
        "import sys, time\n"
        "from catalogsite.prompt_stop import prompt_stop\n"
        "with prompt_stop(['manage.py', 'consume', 'catalog']):\n"
        "    print('starting', flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"starting\n"

        began = time.monotonic()
        process.send_signal(number)

        assert process.wait(timeout=30) == 0
        assert time.monotonic() - began < 5
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_stopped_migration_is_no_end_in_good_order() -> None:
    before = signal.getsignal(signal.SIGTERM)

    with prompt_stop(["manage.py", "migrate"]):
        assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("sys.exit()", 0), ("pass", 0)])
def test_a_command_that_has_ended_is_gone_at_once_with_its_code_and_all_it_said(
    end: str, code: int
) -> None:
    program = (
        "import atexit, sys, time\n"
        "from catalogsite.prompt_stop import prompt_stop\n"
        "with prompt_stop(['manage.py', 'relay_outbox']):\n"
        "    atexit.register(time.sleep, 120)\n"
        "    print('said')\n"
        f"    {end}\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        timeout=60,
    )

    assert (done.returncode, done.stdout, done.stderr) == (code, b"said\n", b"")


@pytest.mark.parametrize("arguments", [["nonsense"], ["nonsense", "--help"], ["help", "nonsense"]])
def test_a_command_that_does_not_exist_is_wrong_use(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        run_command(["manage.py", *arguments])

    assert end.value.code == 2
    assert "Unknown command: 'nonsense'" in capsys.readouterr().err
