"""FAULTS S13: a debug page or error mail shows no URL with a password, wherever it was found."""

import logging
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core import mail
from django.http import HttpRequest
from django.test import RequestFactory, override_settings
from django.utils.log import AdminEmailHandler
from django.views.debug import technical_500_response
from django.views.decorators.debug import sensitive_variables
from pytest_django import Settings

from catalogsite.error_reports import ErrorReport, ErrorReportFilter
from catalogsite.known_secrets import known_secrets
from messaging.broker.address import BrokerAddress
from tests.environment import PROJECT, clean_environment
from tests.eventually import eventually

# Never written out: the reports show source lines, and these must not count as a find.
PW = "SECRET" + "PW"
AMQP_URL = f"amqp://mq:{PW}%2F1@broker/site"
DATABASE_URL = f"postgres://db:{PW}%3C2@store/catalog"


@pytest.fixture(autouse=True)
def secrets(settings: Settings) -> None:
    """Settings as they are when both URLs hold a password."""
    database = {"ENGINE": "django.db.backends.postgresql", "USER": "db", "PASSWORD": f"{PW}<2"}
    settings.AMQP = BrokerAddress.parse(AMQP_URL)
    settings.KNOWN_SECRETS = known_secrets(
        secret_key=f"{PW}-of-signing",
        broker=settings.AMQP,
        database=database,
        urls=(AMQP_URL, DATABASE_URL),
        public=("catalog",),
    )
    settings.SECRET_KEY = f"{PW}-of-signing"
    settings.DATABASES_SHOWN = {"default": database}
    settings.DEBUG = True


@pytest.fixture
def request_with_everything(rf: RequestFactory) -> HttpRequest:
    """As under runserver, which copies the environment into META."""
    request = rf.post(
        f"/editor/?next={AMQP_URL}",
        {"password": f"{PW}-typed", "title": AMQP_URL, "note": "kept"},
        AMQP_URL=AMQP_URL,
        DATABASE_URL=DATABASE_URL,
        PGPASSWORD=f"{PW}<2",
        SOME_BROKER=f"see {DATABASE_URL}",
        HTTP_COOKIE=f"sessionid={PW}-session; lang=ru",
    )
    request.COOKIES["sessionid"] = f"{PW}-session"
    return request


class Holder:
    """Any object that says too much of itself."""

    def __repr__(self) -> str:
        return f"Holder({DATABASE_URL})"


def fail_with_secrets_about() -> None:
    password = f"{PW}/1"
    url = AMQP_URL
    nested = {"default": {"PASSWORD": f"{PW}<2", "HOST": "store"}, "list": [url, Holder()]}
    padding = "x" * 4070 + AMQP_URL
    raise RuntimeError(
        f"no connection to {DATABASE_URL} with password={password} {len(nested)}{padding[:3]}"
    )


def exc_info_of_failure() -> tuple[type[BaseException], BaseException, object]:
    try:
        fail_with_secrets_about()
    except RuntimeError:
        return sys.exc_info()  # type: ignore[return-value]
    raise AssertionError


def assert_clean(text: str) -> None:
    assert re.findall(f".{{0,40}}{PW}.{{0,20}}", text) == []


@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_the_debug_page_shows_no_secret(request_with_everything: HttpRequest, accept: str) -> None:
    request_with_everything.META["HTTP_ACCEPT"] = accept

    response = technical_500_response(request_with_everything, *exc_info_of_failure())

    page = response.content.decode()
    assert "RuntimeError" in page
    assert "fail_with_secrets_about" in page
    assert "kept" in page
    assert "broker" in page
    assert_clean(page)


def test_a_secret_is_not_left_in_half_where_django_cuts_a_long_value(
    request_with_everything: HttpRequest,
) -> None:
    page = technical_500_response(request_with_everything, *exc_info_of_failure()).content.decode()

    assert "trimmed" in page
    assert f"mq:{PW[:3]}" not in page


def test_an_error_mail_shows_no_secret(
    request_with_everything: HttpRequest, settings: Settings
) -> None:
    settings.DEBUG = False
    settings.ADMINS = [("Operator", "operator@example.org")]
    record = logging.LogRecord(
        "django.request", logging.ERROR, __file__, 1, "Failed: %s", ("/editor/",), None
    )
    record.exc_info = exc_info_of_failure()  # type: ignore[assignment]
    record.request = request_with_everything

    AdminEmailHandler(include_html=True).emit(record)

    [message] = mail.outbox
    html = message.alternatives[0][0]  # type: ignore[attr-defined]
    assert "RuntimeError" in str(message.body)
    assert_clean(f"{message.subject}\n{message.body}\n{html}")


def test_settings_meta_and_cookies_are_starred_by_name(
    request_with_everything: HttpRequest,
) -> None:
    shown = ErrorReportFilter()
    meta = shown.get_safe_request_meta(request_with_everything)
    settings_shown = shown.get_safe_settings()
    cookies = shown.get_safe_cookies(request_with_everything)

    stars = shown.cleansed_substitute
    assert meta["AMQP_URL"] == meta["DATABASE_URL"] == meta["PGPASSWORD"] == stars
    assert meta["SOME_BROKER"] == "see postgres://********@store/catalog"
    assert settings_shown["SECRET_KEY"] == settings_shown["KNOWN_SECRETS"] == stars
    assert settings_shown["DATABASES_SHOWN"]["default"]["PASSWORD"] == stars
    assert settings_shown["DATABASES_SHOWN"]["default"]["USER"] == "db"
    assert settings_shown["STATIC_URL"] == "/static/"
    assert PW not in repr(settings_shown)
    assert cookies["sessionid"] == stars


def test_posted_passwords_are_starred_under_debug_too(request_with_everything: HttpRequest) -> None:
    posted = ErrorReportFilter().get_post_parameters(request_with_everything)

    assert posted["password"] == ErrorReportFilter.cleansed_substitute
    assert posted["note"] == "kept"
    assert posted["title"] == "amqp://********@broker/site"


def test_without_a_request_there_is_still_a_report() -> None:
    report = ErrorReport(None, *exc_info_of_failure())

    assert_clean(report.get_traceback_text())
    assert_clean(report.get_traceback_html())


def test_variables_that_cannot_be_shown_do_not_hide_the_error(rf: RequestFactory) -> None:
    class Broken:
        def __repr__(self) -> str:
            raise OSError("no words")

    @sensitive_variables("hidden")
    def fail() -> None:
        hidden, broken = f"{PW}-hidden", Broken()
        raise ValueError(len([hidden, broken]))

    with override_settings(DEBUG=True), pytest.raises(ValueError, match="2") as caught:
        fail()
    page = ErrorReport(rf.get("/"), caught.type, caught.value, caught.tb).get_traceback_text()
    page += ErrorReport(rf.get("/"), caught.type, caught.value, caught.tb).get_traceback_html()

    assert "[no repr: OSError]" in page
    assert f"{PW}-hidden" not in page


@pytest.fixture
def runserver(tmp_path: Path) -> Iterator[int]:
    """The development server on a database that has no tables, both URLs with a password."""
    port = _free_port()
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"],
            cwd=PROJECT,
            env=clean_environment()
            | {
                "DEBUG": "true",
                "SECRET_KEY": f"{PW}-of-signing-and-more",
                "AMQP_URL": AMQP_URL,
                "DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3",
                "OTHER_DATABASE_URL": DATABASE_URL,
            },
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        _await_port(port, process)
        yield port
    finally:
        process.kill()
        process.wait()
    assert PW not in (tmp_path / "log").read_text()


def test_the_development_server_shows_no_secret_of_its_environment(runserver: int) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{runserver}/admin/login/", headers={"Cookie": f"sessionid={'a' * 32}"}
    )

    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)

    page = caught.value.read().decode()
    assert caught.value.code == 500
    assert "no such table" in page
    assert "OTHER_DATABASE_URL" in page, "META holds the environment"
    assert PW not in page


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    def answers() -> bool:
        assert process.poll() is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    eventually(answers, what="runserver listening")
