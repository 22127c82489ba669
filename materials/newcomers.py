"""Many new materials at once: what `actions.create` and `actions.publish` do, by the hundred."""

from collections.abc import Sequence

from materials import facts
from materials.content import Content
from materials.locking import one_transaction
from materials.models import Material, Revision
from materials.record_making import publication, put
from materials.refusals import InvalidMaterial
from messaging import outbox


def create_all(
    drafts: Sequence[tuple[str, Content]], *, actor: str, publish: bool
) -> dict[str, InvalidMaterial]:
    """Make new drafts, published where asked, in one transaction: few statements for all.

    Gives, by material id, what is refused; the others are stored. Raises IntegrityError where
    one of the ids is taken already, and TryAgain; then nothing is stored.
    """
    refused: dict[str, InvalidMaterial] = {}
    materials: list[Material] = []
    revisions: list[Revision] = []
    events = []
    for material_id, content in drafts:
        content = content.tidied()
        try:
            event = facts.published(material_id, content, revision=1, actor=actor)
        except InvalidMaterial as refusal:
            refused[material_id] = refusal
            continue
        material = Material(material_id=material_id, created_by=actor)
        put(content, into=material, actor=actor)
        materials.append(material)
        if publish:
            material.state = Material.State.PUBLISHED
            material.revision = event.revision
            material.differs = False
            revisions.append(publication(content, event, actor=actor, user=None))
            events.append(event)
    if materials:
        with one_transaction():
            Material.objects.bulk_create(materials)
            Revision.objects.bulk_create(revisions)
            if events:
                outbox.record_many(events)
    return refused
