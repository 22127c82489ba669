"""From what an editor wants to say to the event that says it, or to the fields at fault."""

from collections.abc import Callable

from django.utils.translation import gettext as _

from materials import events
from materials.content import Content, actor_faults, reason_faults
from materials.models import is_material_id, validate_material_id
from materials.refusals import InvalidMaterial
from messaging.envelope import Event
from messaging.errors import MalformedEvent


def published(material_id: str, content: Content, *, revision: int, actor: str) -> Event:
    """The event of this content. Raises InvalidMaterial where the contract has no room for it."""
    faults = content.faults()
    if found := actor_faults(actor):
        faults["actor"] = found
    if not is_material_id(material_id):
        faults["material_id"] = [str(validate_material_id.message)]
    if faults:
        raise InvalidMaterial(faults)
    return _built(
        lambda: events.published(
            material_id=material_id,
            revision=revision,
            title=content.title,
            summary=content.summary,
            body=content.body,
            language=content.language or None,
            tags=content.tags,
            actor=actor,
        ),
        field="body",
    )


def withdrawn(material_id: str, *, reason: str, revision: int, actor: str) -> Event:
    """The event of a withdrawal. Raises InvalidMaterial."""
    faults = {"reason": reason_faults(reason), "actor": actor_faults(actor)}
    if any(faults.values()):
        raise InvalidMaterial({field: found for field, found in faults.items() if found})
    return _built(
        lambda: events.withdrawn(
            material_id=material_id, revision=revision, reason=reason, actor=actor
        ),
        field="reason",
    )


def _built(build: Callable[[], Event], *, field: str) -> Event:
    # Where every field is within its limits, what is left is the size of the whole.
    try:
        return build()
    except MalformedEvent as error:
        raise InvalidMaterial(
            {field: [_("This cannot be sent to readers: %s.") % str(error).rstrip(".")]}
        ) from error
