"""In which lane of the outbox letters go back: by the whole decision, however it is cut up."""

from collections.abc import Callable, Sequence

import pytest
from django.core.management import call_command

from messaging import outbox
from messaging.letters import batches, pieces
from messaging.letters.search import Selection
from messaging.models import OutboxMessage
from messaging.operating.decision_log import Operator
from tests.messaging import facts
from tests.messaging.console_pages import ALL_RIGHTS, SignIn, decision_url
from tests.messaging.dead import died

pytestmark = pytest.mark.django_db

FEW = 3

Requeue = Callable[[Sequence[int]], object]


@pytest.fixture(params=["shell", "shell, all", "background", "page", "page, all"])
def requeue(request: pytest.FixtureRequest, sign_in: SignIn) -> Requeue:
    """Every way in which a person sends letters again: these, or all."""
    match request.param:
        case "shell":
            return lambda ids: call_command("dead_letters", "requeue", *map(str, ids))
        case "shell, all":
            return lambda _: call_command("dead_letters", "requeue", "--all-matching", "--yes")
        case "background":

            def in_background(_: Sequence[int]) -> None:
                batch = batches.begin("requeue", Selection(), operator=Operator("olga"))
                while batches.carry_on(batch.pk):
                    pass

            return in_background
        case "page":
            return lambda ids: sign_in(*ALL_RIGHTS).post(decision_url("requeue", *ids))
    return lambda _: sign_in(*ALL_RIGHTS).post(decision_url("requeue", all="1"))


@pytest.mark.parametrize("count", [FEW, FEW + 1])
def test_letters_of_a_large_decision_go_after_what_somebody_waits_for(
    requeue: Requeue, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MOST_AT_ONCE", FEW)
    monkeypatch.setattr(pieces, "PIECE_LETTERS", FEW - 1)
    monkeypatch.setattr(pieces, "STRETCH", FEW - 1)
    letters = [died(facts.published("article-107", each)) for each in range(1, count + 1)]

    requeue([letter.pk for letter in letters])

    lanes = OutboxMessage.objects.values_list("bulk", flat=True)
    assert list(lanes) == [count > FEW] * count
