"""What probes are told, and how soon, while the database or the broker is away or frozen."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from messaging.operating import health
from messaging.running.time_limits import Overdue, SharedQuestion, answer_within
from tests.catalogsite.server import Server, serving
from tests.eventually import eventually, never
from tests.postgres_cluster import OwnPostgres
from tests.processes.database import migrate

LIMIT_SECONDS = 2.0


@pytest.fixture(autouse=True)
def no_old_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions that no other test has asked."""
    for name in ("_database_question", "_broker_question"):
        old = getattr(health, name)
        fresh = SharedQuestion(old._question, limit_seconds=old._limit_seconds)
        monkeypatch.setattr(health, name, fresh)


def test_alive_touches_no_database_no_session_and_no_broker(client: Client) -> None:
    response = client.get("/healthz", headers={"cookie": f"sessionid={'a' * 32}"})

    assert response.status_code == 200
    assert response.json() == {"status": "ok"}
    assert not response.cookies


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_needs_no_allowed_host_and_no_token(path: str) -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": "10.0.0.7:8000"})

    assert strict.get("/healthz").status_code == 200
    assert strict.head("/healthz").status_code == 200
    assert strict.post(path).status_code == 405


@pytest.mark.django_db(transaction=True)
def test_ready_while_only_the_broker_is_away(client: Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ready", "missing": [], "broker": "unreachable"}
    assert response["Cache-Control"] == "no-store"


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("namespace")
def test_the_broker_that_answers_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # A shared machine may need longer than a probe has.
    monkeypatch.setattr(health._broker_question, "_limit_seconds", 10.0)

    assert client.get("/readyz").json()["broker"] == "reachable"


@pytest.mark.django_db(transaction=True)
def test_not_ready_while_a_migration_is_missing(client: Client) -> None:
    newest = max(name for app, name in health._newest_migrations() if app == "messaging")
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("messaging", newest)
    try:
        response = client.get("/readyz")
    finally:
        recorder.record_applied("messaging", newest)

    assert response.status_code == 503
    assert response.json()["status"] == "not ready"
    assert response.json()["missing"] == ["migrations"]


def test_not_ready_and_no_word_of_why_when_the_database_cannot_be_asked(client: Client) -> None:
    # Without a django_db mark every connection is refused, with a text of its own.
    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json() == {
        "status": "not ready",
        "missing": ["database"],
        "broker": "unreachable",
    }


def ask(server: Server) -> tuple[int, dict[str, Any], float]:
    before = time.monotonic()
    status, _, body = server.request("GET", "/readyz")
    return status, json.loads(body), time.monotonic() - before


@pytest.fixture
def pages(own_postgres: OwnPostgres, tmp_path: Path) -> Iterator[Server]:
    """The pages on a PostgreSQL of their own."""
    url = own_postgres.create_database()
    migrate(url)
    with serving(tmp_path, DATABASE_URL=url) as server:
        yield server


def test_readiness_follows_the_database_down_and_up(
    pages: Server, own_postgres: OwnPostgres
) -> None:
    assert ask(pages)[0] == 200

    own_postgres.stop()
    down, document, seconds = ask(pages)
    own_postgres.start()
    up, _, _ = ask(pages)

    assert (down, document["missing"]) == (503, ["database"])
    assert seconds < LIMIT_SECONDS
    assert up == 200
    assert "postgres" not in json.dumps(document)


def test_a_frozen_database_is_told_in_time_however_often_it_is_asked(
    pages: Server, own_postgres: OwnPostgres
) -> None:
    assert ask(pages)[0] == 200

    own_postgres.pause()
    try:
        frozen = [ask(pages) for _ in range(3)]
        alive, _, _ = pages.request("GET", "/healthz")
    finally:
        own_postgres.resume()

    assert [status for status, _, _ in frozen] == [503] * 3
    assert max(seconds for _, _, seconds in frozen) < LIMIT_SECONDS + 0.5
    assert alive == 200


def test_a_question_without_an_answer_is_overdue() -> None:
    release = threading.Event()

    with pytest.raises(Overdue):
        answer_within(0.05, lambda: release.wait(10))
    release.set()

    assert answer_within(5, lambda: "answer") == "answer"


def test_what_the_question_raises_reaches_the_asker() -> None:
    def fail() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        answer_within(5, fail)


def test_many_who_ask_at_once_share_one_thread() -> None:
    asked: list[int] = []
    release = threading.Event()

    def question() -> int:
        asked.append(1)
        release.wait(10)
        return len(asked)

    shared = SharedQuestion(question, limit_seconds=10)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(shared.answer())) for _ in range(5)]
    for thread in threads:
        thread.start()
    # Whoever comes after the answer asks anew: let all of them come before it.
    eventually(lambda: bool(asked))
    never(lambda: bool(answers), seconds=1)
    release.set()
    for thread in threads:
        thread.join()

    assert set(answers) <= {1, 2}
    assert len(asked) <= 2
    assert len(answers) == 5


def test_an_answer_serves_as_long_as_it_is_fresh() -> None:
    asked: list[int] = []

    def question() -> int:
        asked.append(1)
        return len(asked)

    lasting = SharedQuestion(question, limit_seconds=5, fresh_seconds=60)
    assert (lasting.answer(), lasting.answer()) == (1, 1)

    passing = SharedQuestion(question, limit_seconds=5)
    assert (passing.answer(), passing.answer()) == (2, 3)


def test_questions_that_hang_are_not_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    asked: list[int] = []

    def question() -> None:
        asked.append(1)
        release.wait(30)

    monkeypatch.setattr("messaging.running.time_limits._LEAVE_BEHIND_SECONDS", 0.0)
    shared = SharedQuestion(question, limit_seconds=0.01)
    for _ in range(20):
        with pytest.raises(Overdue):
            shared.answer()

    assert len(asked) == 4
    release.set()


def test_the_limits_of_readiness_leave_room_below_two_seconds() -> None:
    assert health.DATABASE_LIMIT_SECONDS + health.BROKER_LIMIT_SECONDS < LIMIT_SECONDS
