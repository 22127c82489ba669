"""Editors who act in the same moment: the database settles it, and nobody gets an error."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections, transaction

from materials import actions
from materials.events import PUBLISHED
from materials.models import Material, Revision
from materials.patience import patiently
from materials.refusals import (
    ActionRefused,
    DraftChanged,
    InvalidMaterial,
    NothingChanged,
    NotPublished,
    TryAgain,
)
from messaging.models import OutboxMessage
from tests.materials.at_once import at_once
from tests.materials.makers import draft, facts, published

pytestmark = pytest.mark.django_db(transaction=True)


def act(verb: Callable[..., Any], *arguments: Any, **fields: Any) -> Callable[[], Any]:
    """An act to be done later, by somebody who waits while the database is busy."""
    return partial(patiently, partial(verb, *arguments, actor="ada", **fields))


def test_two_clicks_on_publish_give_one_revision_and_one_event() -> None:
    draft()

    results = at_once([act(actions.publish, "article-107")] * 8)

    refusals = [result for result in results if isinstance(result, ActionRefused)]
    assert [type(refusal) for refusal in refusals] == [NothingChanged] * 7
    assert facts() == [("article-107", PUBLISHED, 1)]


def test_fifty_who_publish_and_withdraw_end_in_the_state_of_the_highest_revision() -> None:
    published()

    results = at_once(
        [
            act(actions.publish if number % 2 else actions.withdraw, "article-107")
            for number in range(50)
        ]
    )

    done = [result for result in results if isinstance(result, Revision)]
    refused = {type(result) for result in results if not isinstance(result, Revision)}
    assert refused <= {NothingChanged, NotPublished}
    numbers = sorted(Revision.objects.values_list("number", flat=True))
    assert numbers == list(range(1, len(done) + 2))
    # The outbox holds one event a revision, in the order of the revisions.
    events = [(type_, revision) for _, type_, revision in facts()]
    assert [revision for _, revision in events] == numbers
    material = Material.objects.get()
    assert material.revision == numbers[-1]
    assert events[-1][0] == f"material.{material.state}"
    assert set(Revision.objects.values_list("event_id", flat=True)) == set(
        OutboxMessage.objects.values_list("event_id", flat=True)
    )


def test_of_many_who_create_one_id_one_succeeds_and_the_others_learn_it_at_the_field() -> None:
    results = at_once(
        [act(actions.create, "article-1", title=f"Title {number}") for number in range(8)]
    )

    made = [result for result in results if isinstance(result, Material)]
    refused = [result for result in results if isinstance(result, InvalidMaterial)]
    assert (len(made), len(refused)) == (1, 7)
    assert all(set(refusal.errors) == {"material_id"} for refusal in refused)
    assert Material.objects.get().title == made[0].title


def test_of_many_who_save_the_same_version_one_succeeds() -> None:
    seen = draft(title="As all saw it")

    results = at_once(
        [
            act(actions.edit, "article-107", title=f"Title {number}", version=seen.version)
            for number in range(8)
        ]
    )

    saved = [result for result in results if isinstance(result, Material)]
    assert len(saved) == 1
    assert sum(isinstance(result, DraftChanged) for result in results) == 7
    assert Material.objects.get().title == saved[0].title


def test_acts_on_different_materials_do_not_refuse_each_other() -> None:
    for number in range(12):
        draft(f"article-{number}")

    results = at_once([act(actions.publish, f"article-{number}") for number in range(12)])

    assert all(isinstance(result, Revision) for result in results)


@pytest.fixture
def _impatient_database() -> Iterator[None]:
    """Locks are waited for 200 ms instead of seconds."""
    on_sqlite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 200" if on_sqlite else "SET lock_timeout = '200ms'")
    yield
    connection.close()


@pytest.mark.usefixtures("_impatient_database")
@pytest.mark.parametrize("verb", [actions.publish, actions.withdraw])
def test_a_row_that_somebody_else_holds_for_too_long_is_told_as_busy(
    verb: Callable[..., Revision],
) -> None:
    published()
    actions.edit("article-107", title="Another title", actor="ada")
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Material.objects.locked().get(material_id="article-107")
            held.set()
            release.wait(30)
        connections.close_all()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(30)
    try:
        with pytest.raises(TryAgain, match="try again"):
            verb("article-107", actor="ada")
    finally:
        release.set()
        holder.join()

    assert len(facts()) == 1
    assert isinstance(verb("article-107", actor="ada"), Revision)
