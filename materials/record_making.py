"""The source's records as its verbs write them, made and not stored."""

from uuid import UUID

from django.contrib.auth.models import User
from django.utils import timezone

from materials.content import Content
from materials.models import Material, Revision
from materials.search_keys import key_of
from messaging.envelope import Event


def put(content: Content, *, into: Material, actor: str) -> None:
    """Make this the draft of the material."""
    into.title = content.title
    into.summary = content.summary
    into.body = content.body
    into.language = content.language
    into.tags = list(content.tags)
    into.search_key = key_of(
        (into.material_id, content.title, *content.tags, content.summary, content.body)
    )
    into.updated_by = actor
    into.updated_at = timezone.now()


def publication(content: Content, event: Event, *, actor: str, user: User | None) -> Revision:
    """The revision that published this content."""
    return Revision(
        kind=Revision.Kind.PUBLISHED,
        title=content.title,
        summary=content.summary,
        body=content.body,
        language=content.language,
        tags=list(content.tags),
        **_fact(event, actor=actor, user=user),
    )


def withdrawal(reason: str, event: Event, *, actor: str, user: User | None) -> Revision:
    """The revision that took the material from readers."""
    return Revision(
        kind=Revision.Kind.WITHDRAWN, reason=reason, **_fact(event, actor=actor, user=user)
    )


def _fact(event: Event, *, actor: str, user: User | None) -> dict[str, object]:
    return {
        "material_id": event.material_id,
        "number": event.revision,
        "actor": actor,
        "user": user,
        "happened_at": event.occurred_at,
        "event_id": UUID(event.event_id),
    }
