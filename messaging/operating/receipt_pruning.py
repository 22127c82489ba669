"""Which receipts may go: those that no copy of their event can meet any more.

A receipt is what makes a repetition harmless. One that is deleted while a copy is still about
(in a letter, in a queue, in the outbox) would let it be applied again.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from messaging.broker.inspection import QueueDepth
from messaging.broker.topology import Topology
from messaging.models import InboxReceipt, OutboxMessage
from messaging.operating.pruning import Pruning, older, retries_ended
from messaging.registry import Consumer

Depths = Mapping[str, QueueDepth | None]
Look = Callable[[], Depths | None]


def prune_receipts(
    pruning: Pruning,
    consumer: Consumer,
    *,
    topology: Topology,
    look: Look,
    now: datetime,
) -> None:
    """Delete a consumer's receipts older than anything that could still bring a copy back.

    `look` tells what the broker says of the queues, None where it does not answer: then, and
    while one of the consumer's queues is missing or holds anything, none is deleted. Asked right
    before each step. What a consumer holds unacked no broker tells; see docs/operating.md.
    """
    before, why = _oldest_copy(pruning, consumer, now=now)
    if why:
        pruning.pruned.kept.append(f"receipts of {consumer.name} since {before:%Y-%m-%d}: {why}")
    receipts = InboxReceipt.objects.using(consumer.database).filter(consumer=consumer.name)
    letters = pruning.letters_of(consumer).may_come_back()
    for ids in older(receipts, "handled_at", before):
        if why := _copies_may_wait(consumer, topology, look()):
            pruning.pruned.refused.append(f"receipts of {consumer.name}: {why}")
            return
        # After the look: what was in a queue may have become a letter meanwhile.
        still_before = min(before, _oldest_copy(pruning, consumer, now=now)[0])
        piece = receipts.filter(pk__in=ids, handled_at__lt=still_before)
        events, materials = set(), set()
        for event_id, material_id in piece.values_list("event_id", "material_id"):
            events.add(event_id)
            materials.add(material_id)
        same_event = letters.event_ids_among(events)
        same_material = letters.filter(material_id__in=materials).values_list(
            "material_id", flat=True
        )
        rest = piece.exclude(event_id__in=same_event)
        pruning.step("receipts", rest.exclude(material_id__in=list(same_material)))


def _copies_may_wait(consumer: Consumer, topology: Topology, depths: Depths | None) -> str:
    if depths is None:
        return "the broker does not say whether copies wait in its queues"
    waiting = {
        topology.dead(consumer.name): "{ready} letters wait in the dead queue; collect them first",
        topology.main(consumer.name): "{ready} messages wait in its queue; let them be consumed",
        topology.retry(consumer.name): "{ready} copies wait in the retry queue; wait for them",
    }
    for name, said in waiting.items():
        depth = depths.get(name)
        if depth is None:
            return f"queue {name} is missing, and may come back with copies: declare_topology first"
        if depth.ready:
            return said.format(ready=depth.ready)
    return ""


def _oldest_copy(pruning: Pruning, consumer: Consumer, *, now: datetime) -> tuple[datetime, str]:
    """Nothing younger may go; and what it is that still needs it, if it is not the age asked."""
    bounds = [(pruning.before, ""), (retries_ended(now), "a retry may wait")]
    letters = pruning.letters_of(consumer).may_come_back().order_by("first_died_at")
    if letter := letters.values_list("first_died_at", "pk").first():
        bounds.append((letter[0], f"letter {letter[1]} is not resolved"))
    unsent = OutboxMessage.objects.using(pruning.using).exclude(state=OutboxMessage.State.SENT)
    if row := unsent.order_by("pk").values_list("created_at", "pk").first():
        bounds.append((row[0], f"outbox row {row[1]} is not sent"))
    return min(bounds)
