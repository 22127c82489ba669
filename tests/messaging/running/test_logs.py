"""Log records: one a line, in two forms, with the contract's fields and without secrets."""

import io
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
import structlog
from pytest_django import Settings

from messaging.broker.address import BrokerAddress
from messaging.running import logs
from tests.environment import PROJECT, clean_environment

FIELDS = {
    "consumer": "catalog",
    "eventId": "0193a8f0-0000-7000-8000-000000000001",
    "materialId": "article-107",
    "revision": 3,
    "attempt": 0,
    "outcome": "applied",
}


class StandardError:
    """What has been written to standard error since the test began."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._before = ""

    def getvalue(self) -> str:
        self._before += self._capsys.readouterr().err
        return self._before


@pytest.fixture
def stderr(capsys: pytest.CaptureFixture[str], settings: Settings) -> Iterator[StandardError]:
    """Standard error, with logging as before afterwards."""
    settings.KNOWN_SECRETS = ("a long and known secret",)
    root = logging.getLogger()
    before = (root.handlers, root.level, structlog.get_config())
    yield StandardError(capsys)
    root.handlers, root.level = before[0], before[1]
    structlog.configure(**before[2])
    logging.captureWarnings(capture=False)


def use(form: str, level: str = "INFO") -> Any:
    logs.configure({"format": form, "level": level})
    return structlog.get_logger("messaging.handling.worker")


def records(stderr: StandardError) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.getvalue().splitlines()]


def test_a_json_record_has_the_contracts_fields_under_their_names(stderr: StandardError) -> None:
    use("json").info("applied", **FIELDS)

    [record] = records(stderr)
    assert {key: record[key] for key in FIELDS} == FIELDS
    assert record["event"] == "applied"
    assert record["level"] == "info"
    assert record["logger"] == "messaging.handling.worker"
    assert datetime.fromisoformat(record["timestamp"]).tzinfo is not None


def test_a_console_record_says_the_same_in_one_line(stderr: StandardError) -> None:
    use("console").info("applied", **FIELDS)

    [line] = stderr.getvalue().splitlines()
    assert " info     applied consumer=catalog " in line
    assert "eventId=0193a8f0-0000-7000-8000-000000000001 materialId=article-107 " in line
    assert "revision=3 attempt=0 outcome=applied [messaging.handling.worker]" in line


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_record_is_one_line_whatever_is_in_it(stderr: StandardError, form: str) -> None:
    log = use(form)
    breaks = "a\nb\r\nc\x0bd\x0ce\x85f\u2028g\u2029h\x1b[31mi\x00j\ud83dk"

    log.info(breaks, reason=breaks, nested={"x": [breaks]})
    logging.getLogger("elsewhere").warning("said %s", breaks)
    try:
        raise ValueError(breaks)
    except ValueError:
        log.exception("failed")
        logging.getLogger("elsewhere").exception("failed too")

    text = stderr.getvalue()
    assert len(text.splitlines()) == text.count("\n") == 4
    assert "\x1b" not in text
    assert "\x00" not in text


def test_a_traceback_is_one_field(stderr: StandardError) -> None:
    log = use("json")

    try:
        raise RuntimeError("no luck")
    except RuntimeError:
        log.exception("failed", **FIELDS)

    [record] = records(stderr)
    assert record["exception"].startswith('  File "')
    assert "\n" in record["exception"]
    assert record["exception"].endswith("RuntimeError: no luck")
    assert record["level"] == "error"


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_is_logged_by_whatever_way(stderr: StandardError, form: str) -> None:
    log = use(form)
    url = "amqp://u:SECRETPW@broker/v"

    log.info(f"to {url}", to=url, more={"deep": [{url: url}]}, known="a long and known secret")
    log.info("positional %s", url)
    logging.getLogger("django.db").error("with args %s", url)
    log.info("address", address=BrokerAddress.parse(url))
    try:
        raise OSError(url) from ValueError("password=SECRETPW")
    except OSError as error:
        log.exception("failed", error=error)
        logging.getLogger("x").error(error, exc_info=True)

    assert "SECRETPW" not in stderr.getvalue()
    assert "known secret" not in stderr.getvalue()
    assert "********@broker" in stderr.getvalue()


@dataclass(frozen=True)
class Fact:
    """As an event is: without words of its own, and with a body."""

    body: bytes = b"BODYBODY"
    data: str = "BODYBODY"


@pytest.mark.parametrize("form", ["json", "console"])
def test_no_body_is_logged_by_whatever_way(stderr: StandardError, form: str) -> None:
    use(form).info(
        "seen",
        body="BODYBODY",
        data={"title": "BODYBODY"},
        document={"data": "BODYBODY"},
        raw=b"BODYBODY",
        view=memoryview(b"BODYBODY"),
        fact=Fact(),
        facts=[Fact()],
    )

    assert "BODY" not in stderr.getvalue()
    assert "<8 bytes>" in stderr.getvalue()


def test_values_of_many_kinds_become_plain(stderr: StandardError) -> None:
    class Rude:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    use("json").info(
        "kinds",
        uuid=UUID(int=1),
        when=datetime(2026, 1, 2, tzinfo=UTC),
        nothing=None,
        yes=True,
        share=0.5,
        infinite=float("inf"),
        several={"a"},
        rude=Rude(),
        **{"to amqp://u:SECRETPW@h": 1},
    )

    [record] = records(stderr)
    assert record["uuid"] == "00000000-0000-0000-0000-000000000001"
    assert record["when"] == "2026-01-02 00:00:00+00:00"
    assert (record["nothing"], record["yes"], record["share"]) == (None, True, 0.5)
    assert record["infinite"] == "inf"
    assert record["several"] == ["a"]
    assert record["rude"] == "<Rude>"
    assert record["to amqp://********@h"] == 1


def test_the_level_holds_for_all_loggers(stderr: StandardError) -> None:
    log = use("json", "WARNING")

    log.info("unseen")
    logging.getLogger("django.server").info("unseen")
    logging.getLogger("axes.x").info("unseen")
    log.warning("seen")
    logging.getLogger("django.request").error("seen")

    assert [record["event"] for record in records(stderr)] == ["seen", "seen"]


def test_djangos_own_handlers_write_nothing_beside(stderr: StandardError) -> None:
    use("json")

    logging.getLogger("django.server").info('"GET / HTTP/1.1" 200 5')
    logging.getLogger("django.request").error("Internal Server Error: /x")

    assert [record["logger"] for record in records(stderr)] == ["django.server", "django.request"]


def test_pika_is_heard_under_debug_alone_and_never_as_an_error(stderr: StandardError) -> None:
    pika = logging.getLogger("pika.adapters.utils.connection_workflow")

    use("json", "INFO")
    pika.error("AMQPConnector - reporting failure")
    use("json", "DEBUG")
    pika.error("to amqp://u:SECRETPW@h")
    pika.debug("every frame")

    assert [(record["level"], record["event"]) for record in records(stderr)] == [
        ("debug", "to amqp://********@h")
    ]


def test_configuring_twice_does_not_write_twice(stderr: StandardError) -> None:
    use("json")
    use("json").info("once")

    assert len(records(stderr)) == 1


def test_a_record_that_cannot_be_formatted_does_not_show_its_arguments(
    stderr: StandardError,
) -> None:
    use("json")

    logging.getLogger("careless").warning("%d", "BODYBODY")

    assert stderr.getvalue() == ("a log record of 'careless' could not be written: TypeError\n")


def test_a_closed_standard_error_stops_nothing(
    stderr: StandardError, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = use("json")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)

    log.info("nobody reads this")
    monkeypatch.setattr(sys, "stderr", None)
    log.info("nor this")


def test_warnings_and_uncaught_errors_are_records_too(
    stderr: StandardError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr("threading.excepthook", None)
    use("json")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logs.take_over_process()
        warnings.warn("take care", stacklevel=1)
        logging.captureWarnings(capture=False)
    sys.excepthook(ValueError, ValueError("amqp://u:SECRETPW@h"), None)

    caution, uncaught = records(stderr)
    assert (caution["level"], caution["logger"]) == ("warning", "py.warnings")
    assert "take care" in caution["event"]
    assert (uncaught["level"], uncaught["event"]) == ("critical", "uncaught error")
    assert uncaught["exception"] == "ValueError: amqp://********@h"


_FAIL = """
import sys
from catalogsite.start import read_settings, set_up_logging
read_settings(serves_pages=False)
set_up_logging()
import threading, warnings
warnings.warn("take care")
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
import logging
logging.getLogger("x").info("password=%s", "SECRETPW")
raise RuntimeError("with amqp://u:SECRETPW@h\\nin two lines")
"""


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_process_writes_one_record_a_line_to_standard_error_alone(form: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FAIL],
        cwd=PROJECT,
        env=clean_environment()
        | {"SECRET_KEY": "k" * 50, "LOG_FORMAT": form, "LOG_LEVEL": "debug"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 4, done.stderr
    assert "SECRETPW" not in done.stderr
    if form == "json":
        assert [json.loads(line)["level"] for line in lines] == [
            "warning",
            "critical",
            "info",
            "critical",
        ]
