"""The events that all contestants are given: the same bytes for each."""

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MATERIALS = 2000
WORDS_A_TEXT = 45
_SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ra", "su", "te", "vi", "zo")


@dataclass(frozen=True, slots=True)
class Fact:
    """One event, with what the outbox and the properties of a message repeat of it."""

    event_id: str
    type: str
    material_id: str
    revision: int
    body: bytes


def make_facts(count: int, *, materials: int = MATERIALS, first: int = 0) -> list[Fact]:
    """Publications of so many materials in turn, each a new revision; about 640 bytes each."""
    from materials.events import published

    chance = random.Random(first)
    words = [a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
    facts = []
    for number in range(first, first + count):
        event = published(
            material_id=f"article-{number % materials}",
            revision=number // materials + 1,
            title="A title of usual length",
            summary="A sentence that tells readers what they will find.",
            body=" ".join(chance.choices(words, k=WORDS_A_TEXT)),
            actor="editor",
        )
        facts.append(
            Fact(event.event_id, event.type, event.material_id, event.revision, event.body)
        )
    return facts


def write_facts(facts: Iterable[Fact], path: Path) -> Path:
    """The bodies, one a line, for contestants in other processes."""
    path.write_bytes(b"".join(fact.body + b"\n" for fact in facts))
    return path


def read_facts(path: Path) -> Iterator[Fact]:
    """What `write_facts` wrote."""
    for line in path.read_bytes().splitlines():
        document = json.loads(line)
        yield Fact(
            document["eventId"],
            document["type"],
            document["materialId"],
            document["revision"],
            line,
        )


def newest_revisions(facts: Sequence[Fact]) -> dict[str, int]:
    """What a catalog has to show in the end."""
    newest: dict[str, int] = {}
    for fact in facts:
        newest[fact.material_id] = max(fact.revision, newest.get(fact.material_id, 0))
    return newest
