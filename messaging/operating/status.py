"""The state of delivery at one moment: what `delivery_status` and the operators' pages show."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import Error

from messaging import registry
from messaging.broker.inspection import QueueDepth, inspect_queues
from messaging.broker.sessions import topology
from messaging.errors import DeliveryError
from messaging.models import DeadLetter, Pause
from messaging.operating import pauses
from messaging.operating.problems import Kind, Problem
from messaging.operating.tallies import ConsumerCounts, OutboxState, count_receipts, read_outbox
from messaging.running.error_texts import sanitised
from messaging.running.time_limits import Overdue, answer_within

DATABASE_LIMIT_SECONDS = 10.0
COUNTING_LIMIT_SECONDS = 20.0
BROKER_LIMIT_SECONDS = 2.0
OVERDUE_AFTER_SECONDS = 60


@dataclass(frozen=True)
class DeliveryStatus:
    """A look at database and broker; what could not be seen is empty and named in `problems`."""

    outbox: OutboxState
    broker_reachable: bool
    queues: Mapping[str, QueueDepth]
    consumers: Mapping[str, ConsumerCounts]
    dead_letters_open: int
    problems: list[str] = field(default_factory=list)
    paused: Sequence[Pause] = ()

    @property
    def healthy(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, object]:
        """The document that the contract names."""
        return {
            "healthy": self.healthy,
            "problems": self.problems,
            "outbox": {
                "pending": self.outbox.pending,
                "failed": self.outbox.failed,
                "oldestPendingSeconds": self.outbox.oldest_pending_seconds,
            },
            "broker": {"reachable": self.broker_reachable},
            "queues": [
                {"name": name, "ready": depth.ready, "consumers": depth.consumers}
                for name, depth in self.queues.items()
            ],
            "consumers": {
                name: {
                    "applied": counts.applied,
                    "duplicate": counts.duplicate,
                    "stale": counts.stale,
                }
                for name, counts in self.consumers.items()
            },
            "deadLetters": {"open": self.dead_letters_open},
        }


def read_status() -> DeliveryStatus:
    """Look at everything, each part within its limit: DATABASE, COUNTING and BROKER seconds.

    Never raises for what is away: that is a problem of the status, not of the asker. Opens
    connections of its own, so it sees what is committed. Open dead letters are those recorded
    and undecided, and the messages in the dead queues that nobody has collected yet. Receipts
    are counted as they stand, which is why nothing on the way of a fact asks for it, and why a
    count that takes too long hides nothing else.
    """
    problems: list[str] = []
    outbox, letters, paused = _outbox_and_letters(problems)
    consumers = _consumers(problems)
    reachable, depths = _queues(problems, paused)
    uncollected = sum(depths[name].ready for name in _dead_queues() if name in depths)
    return DeliveryStatus(
        outbox=outbox,
        broker_reachable=reachable,
        queues=depths,
        consumers=consumers,
        dead_letters_open=letters + uncollected,
        problems=problems,
        paused=paused,
    )


def problems_of(
    outbox: OutboxState,
    *,
    letters: int,
    paused: Sequence[Pause],
    depths: Mapping[str, QueueDepth | None],
) -> list[Problem]:
    """What is unhealthy about these figures."""
    found = [*_outbox_problems(outbox), *_letter_problems(letters)]
    found += [_pause_problem(each) for each in paused]
    return [*found, *_queue_problems(depths, {each.target for each in paused})]


def _outbox_and_letters(problems: list[str]) -> tuple[OutboxState, int, list[Pause]]:
    try:
        outbox, letters, paused = answer_within(
            DATABASE_LIMIT_SECONDS,
            lambda: (read_outbox(), DeadLetter.objects.open().count(), pauses.active()),
        )
    except Overdue:
        problems.append(f"database: no answer within {DATABASE_LIMIT_SECONDS:.0f} s")
        return OutboxState(), 0, []
    except Error as error:
        problems.append(f"database: {sanitised(error)}")
        return OutboxState(), 0, []
    problems += problems_of(outbox, letters=letters, paused=paused, depths={})
    return outbox, letters, paused


def _consumers(problems: list[str]) -> dict[str, ConsumerCounts]:
    # A database that has just not answered will not be waited for again.
    if not any(problem.startswith("database: ") for problem in problems):
        try:
            return answer_within(
                COUNTING_LIMIT_SECONDS,
                lambda: count_receipts(limit_seconds=COUNTING_LIMIT_SECONDS),
            )
        except Overdue:
            problems.append(f"receipts: not counted within {COUNTING_LIMIT_SECONDS:.0f} s")
        except Error as error:
            problems.append(f"receipts: {sanitised(error)}")
    return {each.name: ConsumerCounts() for each in registry.consumers()}


def _queues(problems: list[str], paused: Sequence[Pause]) -> tuple[bool, dict[str, QueueDepth]]:
    try:
        depths = inspect_queues(
            settings.AMQP, topology().queue_names(), timeout_seconds=BROKER_LIMIT_SECONDS
        )
    except DeliveryError as error:
        problems.append(Problem(Kind.BROKER, said=error))
        return False, {}
    problems += _queue_problems(depths, {each.target for each in paused})
    return True, {name: depth for name, depth in depths.items() if depth is not None}


def _dead_queues() -> list[str]:
    return [topology().dead(each.name) for each in registry.consumers()]


def _outbox_problems(outbox: OutboxState) -> Iterator[Problem]:
    if outbox.failed:
        yield Problem(Kind.OUTBOX_FAILED, count=outbox.failed)
    waits = outbox.oldest_pending_seconds or 0.0
    if waits > OVERDUE_AFTER_SECONDS:
        yield Problem(Kind.OUTBOX_LATE, count=outbox.pending, seconds=waits)


def _letter_problems(letters: int) -> Iterator[Problem]:
    if letters:
        yield Problem(Kind.LETTERS_OPEN, count=letters)


def _pause_problem(pause: Pause) -> Problem:
    moments = {"since": f"{pause.since:%Y-%m-%d %H:%M:%S} UTC"}
    if pause.until:
        moments["until"] = f"{pause.until:%Y-%m-%d %H:%M:%S} UTC"
    return Problem(
        Kind.PAUSED_UNTIL if pause.until else Kind.PAUSED,
        target=pause.target,
        operator=pause.operator,
        reason=pause.reason,
        **moments,
    )


def _queue_problems(
    depths: Mapping[str, QueueDepth | None], paused: Collection[str]
) -> Iterator[Problem]:
    # A paused one has none, and that is said once.
    mains = {topology().main(each.name) for each in registry.consumers() if each.name not in paused}
    dead = set(_dead_queues())
    for name, depth in depths.items():
        if depth is None:
            yield Problem(Kind.QUEUE_MISSING, name=name)
        elif name in mains and not depth.consumers:
            yield Problem(Kind.NO_CONSUMER, name=name)
        elif name in dead and depth.ready:
            yield Problem(Kind.UNCOLLECTED, name=name, count=depth.ready)
