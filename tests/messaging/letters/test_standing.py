"""Where a letter stands, and what sending it would change: told and tried, without a change."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from messaging import registry
from messaging.envelope import Event
from messaging.errors import TransientError
from messaging.handling import inbox
from messaging.letters.dry_run import DryRun, dry_run
from messaging.letters.standing import standing, with_standing
from messaging.models import DeadLetter, InboxReceipt
from tests.messaging.dead import died
from tests.messaging.facts import published, withdrawn

pytestmark = pytest.mark.django_db


def handle(name: str, *events: Event) -> None:
    inbox.handle(registry.consumer(name), events)


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Puts another handler in the catalog's place."""

    def put(apply: Any) -> None:
        consumer = replace(registry.consumer("catalog"), apply=apply)
        monkeypatch.setitem(registry._consumers, "catalog", consumer)

    return put


@pytest.mark.parametrize("consumer", ["catalog", "audit"])
def test_a_fact_that_is_not_known_would_apply(consumer: str) -> None:
    assert str(standing(died(published(), consumer=consumer))) == "would apply"


def test_a_fact_that_was_handled_is_applied_already() -> None:
    event = published()
    handle("catalog", event)

    assert str(standing(died(event))) == "already applied"


def test_an_older_revision_is_superseded_where_the_newest_wins_and_nowhere_else() -> None:
    old = published(revision=2)
    for consumer in ("catalog", "audit"):
        handle(consumer, published(revision=5))

    assert str(standing(died(old))) == "superseded by revision 5"
    assert str(standing(died(old, consumer="audit"))) == "would apply"


def test_conflicts_are_told() -> None:
    first = published(title="First")
    handle("catalog", first)

    same_id = died(published(title="Other", eventId=first.event_id))
    same_revision = died(published(title="Other"))

    assert str(standing(same_id)) == str(standing(same_revision)) == "conflicts"


def test_what_cannot_be_read_and_whose_consumer_is_gone_is_told() -> None:
    unreadable = died(b"\xff")
    orphan = died(published())
    DeadLetter.objects.filter(pk=orphan.pk).update(consumer="museum")
    orphan.refresh_from_db()

    assert str(standing(unreadable)) == "cannot be read"
    assert str(standing(orphan)) == "no consumer"


def test_a_list_tells_standings_in_one_query(django_assert_num_queries: Any) -> None:
    applied, old = published("article-1"), published("article-2", 1)
    handle("catalog", applied, published("article-2", 2))
    handle("audit", published("article-2", 2))
    letters = {
        died(applied).pk: (True, False),
        died(old).pk: (False, True),
        died(old, consumer="audit").pk: (False, False),
        died(published("article-3")).pk: (False, False),
        died(b"\xff").pk: (False, False),
    }

    with django_assert_num_queries(1):
        found = {
            letter.pk: (letter.is_applied, letter.is_superseded)  # type: ignore[attr-defined]
            for letter in with_standing(DeadLetter.objects.all())
        }

    assert found == letters


@pytest.mark.parametrize("reason", ["FactConflict", "MalformedEvent", "UnsupportedEvent"])
def test_a_list_does_not_take_a_doubtful_letter_for_applied_or_overtaken(reason: str) -> None:
    event = published()
    handle("catalog", event, published(revision=5))
    died(event, reason=reason, attempt=0)

    (letter,) = with_standing(DeadLetter.objects.all())

    assert (letter.is_applied, letter.is_superseded) == (False, False)


def test_a_dry_run_tells_what_readers_would_see_and_changes_nothing() -> None:
    handle("catalog", published(revision=1, title="Old"))
    letter = died(published(revision=2, title="New"))

    tried = dry_run(letter)

    assert tried.outcome == "applied"
    assert tried.changes == {"revision": (1, 2), "title": ("Old", "New")}
    assert CatalogEntry.objects.get().title == "Old"
    assert InboxReceipt.objects.count() == 1
    letter.refresh_from_db()
    assert letter.state == "open"


def test_a_dry_run_of_the_first_fact_and_of_a_withdrawal() -> None:
    first = dry_run(died(published()))
    gone = dry_run(died(withdrawn(revision=2, reason="Out of date"), consumer="catalog"))
    recorded = dry_run(died(published(), consumer="audit"))

    assert first.changes["title"] == (None, "A title")
    assert gone.changes["visible"] == (None, False)
    assert recorded.changes["records"] == (0, 1)
    assert not CatalogEntry.objects.exists()
    assert not AuditRecord.objects.exists()


@pytest.mark.parametrize(
    ("letter_is", "outcome"),
    [("known", "duplicate"), ("older", "stale")],
)
def test_a_dry_run_tells_what_would_change_nothing(letter_is: str, outcome: str) -> None:
    known = published(revision=2)
    handle("catalog", known)
    letter = died(known if letter_is == "known" else published(revision=1))

    assert dry_run(letter) == DryRun(outcome)
    assert InboxReceipt.objects.get().duplicates == 0


def test_a_dry_run_tells_the_error_that_would_be_raised(handler: Any) -> None:
    def apply(events: Sequence[Event], using: str) -> set[str]:
        CatalogEntry.objects.all().delete()
        raise TransientError("the other side is busy")

    handle("catalog", published(revision=1))
    handler(apply)

    tried = dry_run(died(published(revision=2)))

    assert (tried.outcome, tried.error_class) == (None, "TransientError")
    assert (tried.error, tried.error_kind) == ("the other side is busy", "TransientError")
    assert "in apply" in tried.traceback
    assert CatalogEntry.objects.count() == 1


def test_a_dry_run_survives_a_database_error_of_the_handler(handler: Any) -> None:
    def apply(events: Sequence[Event], using: str) -> set[str]:
        CatalogEntry.objects.create(material_id="x", revision=0, visible=False, event_id=None)
        return set()

    handler(apply)

    tried = dry_run(died(published()))

    assert (tried.outcome, tried.error_class) == (None, "IntegrityError")
    assert not InboxReceipt.objects.exists()


def test_a_dry_run_tells_a_handler_s_own_mistake_from_a_database_that_is_set_up_wrongly(
    handler: Any,
) -> None:
    def apply(events: Sequence[Event], using: str) -> set[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM no_such_table")
        return set()

    handler(apply)
    assert dry_run(died(published())).error_kind == "TransientError"

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_record RENAME TO elsewhere")
    assert dry_run(died(published())).error_kind == "ConfigurationError"


def test_a_dry_run_of_another_body_and_of_none() -> None:
    letter = died(b"\xff", reason="MalformedEvent")

    assert dry_run(letter).error_class == "MalformedEvent"
    assert dry_run(letter, body=published().body).outcome == "applied"


def test_a_dry_run_of_a_conflict_tells_it() -> None:
    handle("catalog", published(title="First"))

    assert dry_run(died(published(title="Other"))).error_class == "FactConflict"
