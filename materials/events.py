"""What the source tells the world: the data of each event type, and building an event.

Consumers import the types from here; the source builds its events by `materials.facts` alone.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from messaging import registry
from messaging.envelope import Event, new_event

PUBLISHED = "material.published"
WITHDRAWN = "material.withdrawn"


def _any_case(text: str) -> str:
    return "".join(f"[{c.upper()}{c}]" if c.isalpha() else c for c in text)


# Well-formed by RFC 5646, section 2.1; the regular grandfathered tags fit the first form.
# Spelt in both cases, because JSON Schema patterns know no flags.
_IRREGULAR = (
    *("i-ami", "i-bnn", "i-default", "i-enochian", "i-hak", "i-klingon", "i-lux", "i-mingo"),
    *("i-navajo", "i-pwn", "i-tao", "i-tay", "i-tsu"),
    *("en-gb-oed", "sgn-be-fr", "sgn-be-nl", "sgn-ch-de"),
)
_LANGUAGE_TAG = (
    "^(?:(?:[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}|[A-Za-z]{4,8})"  # language
    "(?:-[A-Za-z]{4})?"  # script
    "(?:-(?:[A-Za-z]{2}|[0-9]{3}))?"  # region
    "(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*"  # variants
    "(?:-[0-9A-WY-Za-wy-z](?:-[A-Za-z0-9]{2,8})+)*"  # extensions
    "(?:-[Xx](?:-[A-Za-z0-9]{1,8})+)?"  # private use
    "|[Xx](?:-[A-Za-z0-9]{1,8})+|" + "|".join(map(_any_case, _IRREGULAR)) + r")$(?!\n)"
)

Title = Annotated[
    str, Meta(min_length=1, max_length=200, pattern=r"\S", description="Not white space alone.")
]
Summary = Annotated[str, Meta(max_length=500)]
Body = Annotated[str, Meta(max_length=200_000, description="Markdown.")]
Language = Annotated[str, Meta(pattern=_LANGUAGE_TAG, description="BCP 47.")]
Tag = Annotated[str, Meta(min_length=1, max_length=50)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=20)]
Reason = Annotated[str, Meta(max_length=500)]


class MaterialPublished(Struct, frozen=True, omit_defaults=True):
    """The whole public state of a material as of this revision."""

    title: Title
    summary: Summary
    body: Body
    language: Language | None = None  # absent on the wire, never null
    tags: Tags = ()


class MaterialWithdrawn(Struct, frozen=True, omit_defaults=True):
    """The material is public no longer, as of this revision."""

    reason: Reason


registry.register_event_type(PUBLISHED, version=1, data=MaterialPublished)
registry.register_event_type(WITHDRAWN, version=1, data=MaterialWithdrawn)


def published(
    *,
    material_id: str,
    revision: int,
    title: str,
    summary: str,
    body: str,
    language: str | None = None,
    tags: Sequence[str] = (),
    actor: str | None = None,
    occurred_at: datetime | None = None,
) -> Event:
    """A new `material.published`. Raises MalformedEvent for what consumers would refuse."""
    return new_event(
        type=PUBLISHED,
        material_id=material_id,
        revision=revision,
        data=MaterialPublished(title, summary, body, language, tuple(tags)),
        types=registry.event_types(),
        actor=actor,
        occurred_at=occurred_at,
    )


def withdrawn(
    *,
    material_id: str,
    revision: int,
    reason: str,
    actor: str | None = None,
    occurred_at: datetime | None = None,
) -> Event:
    """A new `material.withdrawn`. Raises MalformedEvent for what consumers would refuse."""
    return new_event(
        type=WITHDRAWN,
        material_id=material_id,
        revision=revision,
        data=MaterialWithdrawn(reason),
        types=registry.event_types(),
        actor=actor,
        occurred_at=occurred_at,
    )
