"""What editors do: create, edit, publish, withdraw. One verb, one transaction, one event.

Publishing and withdrawing store the revision, the new state and the outbox row together: all
or none of them. State is read again under the row's lock (on SQLite the IMMEDIATE transaction
is the lock), so whoever comes second is judged by what the first one left. Every function
raises an ActionRefused (materials.refusals) when the act is not possible: nothing has changed.

Inside a transaction of the caller's the act becomes part of it.
"""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from materials import facts
from materials.content import Content, tidied_reason
from materials.locking import lock, one_transaction
from materials.models import Material, Revision
from materials.record_making import publication, put, withdrawal
from materials.refusals import (
    DraftChanged,
    InvalidMaterial,
    NothingChanged,
    NotPublished,
    UnknownRevision,
)
from messaging import outbox
from messaging.envelope import Event


def create(
    material_id: str,
    *,
    title: str,
    actor: str,
    summary: str = "",
    body: str = "",
    language: str = "",
    tags: Iterable[str] = (),
) -> Material:
    """Make a new draft. Raises InvalidMaterial, also where the id is taken."""
    content = Content(
        title=title, summary=summary, body=body, language=language, tags=tuple(tags)
    ).tidied()
    # Built to be judged: what is too large as a whole is better told now than when published.
    facts.published(material_id, content, revision=1, actor=actor)
    material = Material(material_id=material_id, created_by=actor)
    put(content, into=material, actor=actor)
    with one_transaction():
        try:
            with transaction.atomic():
                material.save(force_insert=True)
        except IntegrityError:
            if not Material.objects.filter(material_id=material_id).exists():
                raise
            raise InvalidMaterial(
                {"material_id": [_("There is a material “%s” already.") % material_id]}
            ) from None
    return material


def edit(
    material_id: str,
    *,
    title: str,
    actor: str,
    summary: str = "",
    body: str = "",
    language: str = "",
    tags: Iterable[str] = (),
    version: int | None = None,
) -> Material:
    """Replace the draft; what is published stays as it is. The same content changes nothing.

    `version` is the draft's version that the editor saw. Raises DraftChanged where another
    draft has been saved since (unless it is equal), InvalidMaterial, UnknownMaterial.
    """
    content = Content(
        title=title, summary=summary, body=body, language=language, tags=tuple(tags)
    ).tidied()
    with one_transaction():
        material = lock(material_id)
        if material.content == content:
            return material
        _refuse_other_version(material, version)
        facts.published(material_id, content, revision=material.revision + 1, actor=actor)
        put(content, into=material, actor=actor)
        material.version += 1
        material.differs = content != material.published_content()
        material.save()
    return material


def restore(material_id: str, *, number: int, actor: str, version: int | None = None) -> Material:
    """Make what revision `number` published the draft again; readers see no change.

    Raises UnknownRevision where that revision published nothing, DraftChanged as `edit` does,
    UnknownMaterial.
    """
    with one_transaction():
        material = lock(material_id)
        old = material.revisions.filter(number=number, kind=Revision.Kind.PUBLISHED).first()
        if old is None:
            raise UnknownRevision(_("Revision %d published nothing.") % number)
        content = old.content
        return edit(
            material_id,
            title=content.title,
            summary=content.summary,
            body=content.body,
            language=content.language,
            tags=content.tags,
            actor=actor,
            version=version,
        )


def publish(
    material_id: str,
    *,
    actor: str,
    user: User | None = None,
    version: int | None = None,
    bulk: bool = False,
    comes_back: bool = True,
) -> Revision:
    """Publish the draft as the next revision, with its event in the outbox.

    `bulk`: as one of many, behind what somebody waits for (messaging.sending.due_rows).
    `comes_back`: also where it is withdrawn; else that raises NotPublished.
    Raises NothingChanged where exactly this content is published already (so the second of two
    clicks is refused), DraftChanged where `version` is given and not the draft's,
    InvalidMaterial, UnknownMaterial. After a withdrawal the same content may be published again.
    """
    with one_transaction():
        material = lock(material_id)
        _refuse_other_version(material, version)
        if material.state == Material.State.WITHDRAWN and not comes_back:
            raise NotPublished(
                _("“%s” is withdrawn: it comes back only if asked for.") % material.title
            )
        content = material.content
        if content == material.published_content():
            raise NothingChanged(
                _("“%(title)s” is published as it stands (revision %(revision)d).")
                % {"title": material.title, "revision": material.revision}
            )
        event = facts.published(material_id, content, revision=material.revision + 1, actor=actor)
        revision = publication(content, event, actor=actor, user=user)
        material.state = Material.State.PUBLISHED
        material.differs = False
        _store_fact(material, revision, event, bulk=bulk)
    return revision


def withdraw(
    material_id: str,
    *,
    reason: str = "",
    actor: str,
    user: User | None = None,
    bulk: bool = False,
) -> Revision:
    """Take a published material away from readers as the next revision, with its event.

    `bulk` as in `publish`.
    Raises NotPublished for a draft and for what is withdrawn already, InvalidMaterial for the
    reason, UnknownMaterial.
    """
    reason = tidied_reason(reason)
    with one_transaction():
        material = lock(material_id)
        if material.state == Material.State.WITHDRAWN:
            raise NotPublished(_("“%s” is withdrawn already.") % material.title)
        if material.state == Material.State.DRAFT:
            raise NotPublished(_("“%s” was never published: it is a draft.") % material.title)
        event = facts.withdrawn(
            material_id, reason=reason, revision=material.revision + 1, actor=actor
        )
        revision = withdrawal(reason, event, actor=actor, user=user)
        material.state = Material.State.WITHDRAWN
        material.differs = True
        _store_fact(material, revision, event, bulk=bulk)
    return revision


def _refuse_other_version(material: Material, version: int | None) -> None:
    if version is not None and version != material.version:
        raise DraftChanged(
            _("%(name)s saved another draft of “%(title)s” while this page was open.")
            % {"name": material.updated_by, "title": material.title}
        )


def _store_fact(material: Material, revision: Revision, event: Event, *, bulk: bool) -> None:
    material.revision = event.revision
    material.save(update_fields=["state", "revision", "differs"])
    revision.material = material
    revision.save(force_insert=True)
    outbox.record(event, bulk=bulk)
