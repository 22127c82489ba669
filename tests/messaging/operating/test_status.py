"""What `delivery_status` says, in both its forms, of every state that it can find."""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import jsonschema
import pytest
from django.db import connection
from django.utils import timezone

from dev.rabbitmq import RabbitNode
from messaging.broker.inspection import QueueDepth
from messaging.errors import BrokerUnavailable, ConfigurationError
from messaging.models import DeadLetter, InboxReceipt, OutboxMessage
from messaging.operating import status
from tests.eventually import eventually
from tests.postgres_cluster import OwnPostgres
from tests.processes.harness import Run
from tests.wire import Wire

CONTRACT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["healthy", "problems", "outbox", "broker", "queues", "consumers", "deadLetters"],
    "properties": {
        "healthy": {"type": "boolean"},
        "problems": {"type": "array", "items": {"type": "string"}},
        "outbox": {
            "type": "object",
            "additionalProperties": False,
            "required": ["pending", "failed", "oldestPendingSeconds"],
            "properties": {
                "pending": {"type": "integer"},
                "failed": {"type": "integer"},
                "oldestPendingSeconds": {"type": ["number", "null"]},
            },
        },
        "broker": {
            "type": "object",
            "additionalProperties": False,
            "required": ["reachable"],
            "properties": {"reachable": {"type": "boolean"}},
        },
        "queues": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "ready", "consumers"],
                "properties": {
                    "name": {"type": "string"},
                    "ready": {"type": "integer"},
                    "consumers": {"type": "integer"},
                },
            },
        },
        "consumers": {
            "type": "object",
            "required": ["audit", "catalog"],
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["applied", "duplicate", "stale"],
                "properties": {
                    "applied": {"type": "integer"},
                    "duplicate": {"type": "integer"},
                    "stale": {"type": "integer"},
                },
            },
        },
        "deadLetters": {
            "type": "object",
            "additionalProperties": False,
            "required": ["open"],
            "properties": {"open": {"type": "integer"}},
        },
    },
}


def store(*, state: str = "pending", seconds_ago: float = 0.0, number: int = 1) -> None:
    """Outbox rows of an age by the database's clock."""
    for _ in range(number):
        row = OutboxMessage.objects.create(
            event_id=uuid4(), type="material.published", material_id="m", revision=1, body=b"{}"
        )
        OutboxMessage.objects.filter(pk=row.pk).update(state=state)
        if seconds_ago:
            _age(row.pk, seconds_ago)


def _age(pk: int, seconds: float) -> None:
    earlier = (
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '-' || %s || ' seconds')"
        if connection.vendor == "sqlite"
        else "now() - %s * interval '1 second'"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE messaging_outboxmessage SET created_at = {earlier} WHERE id = %s",
            [seconds, pk],
        )


def receipt(consumer: str, *, outcome: str = "applied", duplicates: int = 0) -> None:
    InboxReceipt.objects.create(
        consumer=consumer,
        event_id=uuid4(),
        type="material.published",
        material_id=f"m-{uuid4().hex[:12]}",
        revision=1,
        outcome=outcome,
        fingerprint=bytes(32),
        content_fingerprint=bytes(32),
        duplicates=duplicates,
    )


def depths(
    *, consumers: int = 1, dead: int = 0, missing: str = ""
) -> Mapping[str, QueueDepth | None]:
    """What a broker with all queues of both consumers would say."""
    names = status.topology().queue_names()
    return {
        name: None
        if missing and name.endswith(missing)
        else QueueDepth(
            ready=dead if name.endswith(".dead") else 0,
            consumers=0 if name.endswith((".dead", ".retry")) else consumers,
        )
        for name in names
    }


@pytest.fixture
def broker_says(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the look at the broker give this, or raise it."""

    def say(answer: Mapping[str, QueueDepth | None] | Exception) -> None:
        def inspect(*_args: object, **_options: object) -> Mapping[str, QueueDepth | None]:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(status, "inspect_queues", inspect)

    say(depths())
    return say


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_all_is_well_when_nothing_waits_and_everybody_is_there() -> None:
    found = status.read_status()

    assert found.healthy
    assert found.problems == []
    document = found.as_json()
    jsonschema.validate(document, CONTRACT)
    assert document["outbox"] == {"pending": 0, "failed": 0, "oldestPendingSeconds": None}
    assert document["broker"] == {"reachable": True}
    assert document["deadLetters"] == {"open": 0}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_the_outbox_is_counted_and_aged_by_the_databases_clock() -> None:
    store(seconds_ago=40)
    store(seconds_ago=5, number=2)
    store(state="sent", seconds_ago=500)

    outbox = status.read_status().outbox

    assert (outbox.pending, outbox.failed) == (3, 0)
    assert outbox.oldest_pending_seconds == pytest.approx(40, abs=15)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_a_row_that_waits_for_less_than_a_minute_is_no_problem() -> None:
    store(seconds_ago=30)

    assert status.read_status().problems == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_a_row_that_waits_for_more_than_a_minute_is_a_problem() -> None:
    store(seconds_ago=90)

    [problem] = status.read_status().problems

    assert problem.startswith("outbox: the oldest of 1 pending waits for 9")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_a_failed_row_is_a_problem() -> None:
    store(state="failed", number=2)

    found = status.read_status()

    assert found.outbox.failed == 2
    assert found.problems == ["outbox: 2 failed, to be tried again by an operator"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_receipts_are_counted_for_each_consumer_by_outcome() -> None:
    receipt("catalog")
    receipt("catalog", duplicates=2)
    receipt("catalog", outcome="stale", duplicates=1)
    receipt("audit")
    receipt("retired")

    found = status.read_status().as_json()["consumers"]

    assert found == {
        "audit": {"applied": 1, "duplicate": 0, "stale": 0},
        "catalog": {"applied": 2, "duplicate": 3, "stale": 1},
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("broker_says")
def test_a_count_that_takes_too_long_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(status, "count_receipts", lambda **_limit: release.wait(30))
    monkeypatch.setattr(status, "COUNTING_LIMIT_SECONDS", 0.1)
    store()

    found = status.read_status()
    release.set()

    assert found.outbox.pending == 1
    assert found.consumers == {name: status.ConsumerCounts() for name in ("audit", "catalog")}
    assert found.problems == ["receipts: not counted within 0 s"]


@pytest.mark.django_db(transaction=True)
def test_a_main_queue_without_a_consumer_is_a_problem(broker_says: Any) -> None:
    broker_says(depths(consumers=0))

    found = status.read_status()

    namespace = status.topology().namespace
    assert found.problems == [
        f"queue {namespace}.audit: no consumer",
        f"queue {namespace}.catalog: no consumer",
    ]


@pytest.mark.django_db(transaction=True)
def test_dead_letters_are_counted_and_are_a_problem(broker_says: Any) -> None:
    broker_says(depths(dead=3))

    found = status.read_status()

    assert found.dead_letters_open == 6
    assert [problem.split(": ")[1] for problem in found.problems] == ["3 dead, to be collected"] * 2


def letter(number: int, *, state: str = "open") -> None:
    DeadLetter.objects.create(
        consumer="catalog",
        reason="MalformedEvent",
        state=state,
        body=b"{",
        body_sha256=bytes([number]) * 32,
        body_size=1,
        header_table=b"",
        died_at=timezone.now(),
        first_died_at=timezone.now(),
    )


@pytest.mark.django_db(transaction=True)
def test_recorded_letters_count_while_they_are_undecided(broker_says: Any) -> None:
    for number, state in enumerate(("open", "open", "requeued", "resolved", "discarded")):
        letter(number, state=state)
    broker_says(depths(dead=1))

    found = status.read_status()

    assert found.dead_letters_open == 4
    assert found.problems[0] == "dead letters: 2 open, waiting for a decision"


@pytest.mark.django_db(transaction=True)
def test_a_missing_queue_is_a_problem_and_not_in_the_list(broker_says: Any) -> None:
    broker_says(depths(missing="catalog.retry"))

    found = status.read_status()

    assert len(found.as_json()["queues"]) == 5  # type: ignore[arg-type]
    [problem] = found.problems
    assert problem.endswith(".catalog.retry: missing; run declare_topology")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "error",
    [BrokerUnavailable("no connection to amqp://h:5672/v"), ConfigurationError("vhost v: 403")],
)
def test_a_broker_that_is_away_or_refuses_is_a_problem(broker_says: Any, error: Exception) -> None:
    broker_says(error)

    found = status.read_status()

    document = found.as_json()
    jsonschema.validate(document, CONTRACT)
    assert document["broker"] == {"reachable": False}
    assert document["queues"] == []
    assert found.problems == [f"broker: {error}"]


def run_json(run: Run, **settings: str) -> tuple[int, dict[str, Any]]:
    done = run.manage("delivery_status", "--json", **settings)
    document = json.loads(done.stdout)
    jsonschema.validate(document, CONTRACT)
    return done.returncode, document


def test_the_command_sees_a_real_delivery_through(run: Run, wire: Wire) -> None:
    assert run.manage("declare_topology").returncode == 0
    code, idle = run_json(run)
    assert code == 1
    assert len(idle["queues"]) == 6
    assert [problem.split(": ")[1] for problem in idle["problems"]] == ["no consumer"] * 2

    for consumer in ("catalog", "audit"):
        run("consume", consumer)

    eventually(lambda: run_json(run)[0] == 0, what="both consumers at their queues")
    code, document = run_json(run)
    assert (code, document["healthy"], document["problems"]) == (0, True, [])
    namespace = run.environment["DELIVERY_NAMESPACE"]
    assert {"name": f"{namespace}.catalog", "ready": 0, "consumers": 1} in document["queues"]
    table = run.manage("delivery_status")
    assert table.returncode == 0
    assert "Healthy." in table.stdout
    assert f"{namespace}.catalog.retry" in table.stdout
    assert table.stderr == ""


@pytest.mark.any_database
def test_before_anything_is_declared_every_queue_is_missing(run: Run) -> None:
    code, document = run_json(run)

    assert code == 1
    assert len(document["problems"]) == 6
    assert document["broker"] == {"reachable": True}


@pytest.mark.any_database
def test_with_the_broker_away_the_document_is_whole(run: Run) -> None:
    code, document = run_json(run, AMQP_URL="amqp://u:SECRETPW@127.0.0.1:9/v")

    assert code == 1
    assert document["broker"] == {"reachable": False}
    [problem] = document["problems"]
    assert problem.startswith("broker: no connection to amqp://127.0.0.1:9/v")
    assert "SECRETPW" not in problem


@pytest.mark.any_database
@pytest.mark.parametrize("url", ["postgres://u:SECRETPW@127.0.0.1:9/db", "sqlite:////dev/full"])
def test_with_the_database_away_the_document_is_whole(run: Run, url: str) -> None:
    done = run.manage("delivery_status", "--json", DATABASE_URL=url)

    document = json.loads(done.stdout)
    jsonschema.validate(document, CONTRACT)
    assert done.returncode == 1
    assert document["outbox"] == {"pending": 0, "failed": 0, "oldestPendingSeconds": None}
    assert document["consumers"]["catalog"] == {"applied": 0, "duplicate": 0, "stale": 0}
    assert document["problems"][0].startswith("database: ")
    assert "SECRETPW" not in done.stdout + done.stderr


@pytest.mark.any_database
def test_the_table_names_the_problem_and_the_exit_code_too(run: Run) -> None:
    done = run.manage("delivery_status", AMQP_URL="amqp://u:SECRETPW@127.0.0.1:9/v")

    assert done.returncode == 1
    assert "Broker: unreachable" in done.stdout
    assert "[!] broker: no connection to amqp://127.0.0.1:9/v" in done.stdout
    assert "SECRETPW" not in done.stdout + done.stderr


@pytest.mark.any_database
def test_a_frozen_broker_holds_the_command_no_longer_than_its_limit(
    run: Run, own_broker: RabbitNode
) -> None:
    own_broker.pause()
    try:
        code, document = run_json(run)
    finally:
        own_broker.resume()

    assert code == 1
    assert document["broker"] == {"reachable": False}
    assert document["problems"][0].startswith("broker: ")


@pytest.mark.any_database
def test_a_frozen_database_holds_the_command_no_longer_than_its_limit(
    run: Run, own_postgres: OwnPostgres
) -> None:
    url = own_postgres.create_database()
    own_postgres.pause()
    try:
        before = time.monotonic()
        code, document = run_json(run, DATABASE_URL=url)
    finally:
        own_postgres.resume()

    assert code == 1
    assert document["problems"][0].startswith("database: ")
    assert time.monotonic() - before < 20
