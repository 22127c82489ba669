"""What editors do: create, edit, publish, withdraw. One verb, one transaction, one event.

Publishing and withdrawing store the revision, the new state and the outbox row together: all
or none of them. State is read again under the row's lock (on SQLite the IMMEDIATE transaction
is the lock), so whoever comes second is judged by what the first one left. Every function
raises a subclass of `ActionRefused` when the act is not possible, and then nothing has changed.

Inside a transaction of the caller's the act becomes part of it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from materials import events
from materials.content import Content, actor_faults, reason_faults, tidied_reason
from materials.models import Material, Revision, validate_material_id
from materials.refusals import (
    ActionRefused,
    DraftChanged,
    InvalidMaterial,
    NothingChanged,
    NotPublished,
    TryAgain,
    UnknownMaterial,
)
from messaging import outbox
from messaging.envelope import Event
from messaging.errors import MalformedEvent

__all__ = [
    "ActionRefused",
    "DraftChanged",
    "InvalidMaterial",
    "NotPublished",
    "NothingChanged",
    "TryAgain",
    "UnknownMaterial",
    "create",
    "edit",
    "publish",
    "withdraw",
]


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
    _refuse_invalid(material_id, content, revision=1, actor=actor)
    material = Material(
        material_id=material_id,
        created_by=actor,
        search_key=_search_key(material_id, content),
    )
    _put(content, into=material, actor=actor)
    with _one_transaction():
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
    with _one_transaction():
        material = _lock(material_id)
        if material.content == content:
            return material
        _refuse_other_version(material, version)
        _refuse_invalid(material_id, content, revision=material.revision + 1, actor=actor)
        _put(content, into=material, actor=actor)
        material.version += 1
        material.differs = content != _published_content(material)
        material.search_key = _search_key(material_id, content)
        material.save()
    return material


def publish(
    material_id: str, *, actor: str, user: User | None = None, version: int | None = None
) -> Revision:
    """Publish the draft as the next revision, with its event in the outbox.

    Raises NothingChanged where exactly this content is published already (so the second of two
    clicks is refused), DraftChanged where `version` is given and not the draft's,
    InvalidMaterial, UnknownMaterial. After a withdrawal the same content may be published again.
    """
    with _one_transaction():
        material = _lock(material_id)
        _refuse_other_version(material, version)
        content = material.content
        if content == _published_content(material):
            raise NothingChanged(
                _("“%(title)s” is published as it stands (revision %(revision)d).")
                % {"title": material.title, "revision": material.revision}
            )
        number = material.revision + 1
        _refuse_invalid(material_id, content, revision=number, actor=actor)
        event = _published(material_id, content, revision=number, actor=actor)
        revision = Revision(
            kind=Revision.Kind.PUBLISHED,
            title=content.title,
            summary=content.summary,
            body=content.body,
            language=content.language,
            tags=list(content.tags),
        )
        material.state = Material.State.PUBLISHED
        material.differs = False
        _store_fact(material, revision, event, actor=actor, user=user)
    return revision


def withdraw(
    material_id: str, *, reason: str = "", actor: str, user: User | None = None
) -> Revision:
    """Take a published material away from readers as the next revision, with its event.

    Raises NotPublished for a draft and for what is withdrawn already, InvalidMaterial for the
    reason, UnknownMaterial.
    """
    reason = tidied_reason(reason)
    faults = {"reason": reason_faults(reason), "actor": actor_faults(actor)}
    if any(faults.values()):
        raise InvalidMaterial({field: found for field, found in faults.items() if found})
    with _one_transaction():
        material = _lock(material_id)
        if material.state == Material.State.WITHDRAWN:
            raise NotPublished(_("“%s” is withdrawn already.") % material.title)
        if material.state == Material.State.DRAFT:
            raise NotPublished(_("“%s” was never published: it is a draft.") % material.title)
        event = _checked(
            lambda: events.withdrawn(
                material_id=material_id, revision=material.revision + 1, reason=reason, actor=actor
            )
        )
        material.state = Material.State.WITHDRAWN
        material.differs = True
        revision = Revision(kind=Revision.Kind.WITHDRAWN, reason=reason)
        _store_fact(material, revision, event, actor=actor, user=user)
    return revision


@contextmanager
def _one_transaction() -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except OperationalError as error:
        if not _is_busy(error):
            raise
        raise TryAgain(
            _("The database is busy with other work. Nothing was changed: try again.")
        ) from error


def _is_busy(error: OperationalError) -> bool:
    """True for what passes by itself: locks, deadlocks, timeouts. By code, never by text."""
    cause = error.__cause__
    sqlite_code = getattr(cause, "sqlite_errorcode", None)
    if sqlite_code is not None:
        return sqlite_code & 0xFF in {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED and their kinds
    # lock not available, query canceled, serialization failure, deadlock
    return getattr(cause, "sqlstate", None) in {"55P03", "57014", "40001", "40P01"}


def _lock(material_id: str) -> Material:
    # An id that could not be stored is unknown on both databases, before either is asked.
    material = None
    if validate_material_id.regex.search(material_id):
        material = Material.objects.locked().filter(material_id=material_id).first()
    if material is None:
        raise UnknownMaterial(_("There is no material “%s”.") % ascii(material_id)[1:-1])
    return material


def _refuse_other_version(material: Material, version: int | None) -> None:
    if version is not None and version != material.version:
        raise DraftChanged(
            _("%(name)s saved another draft of “%(title)s” while this page was open.")
            % {"name": material.updated_by, "title": material.title}
        )


def _refuse_invalid(material_id: str, content: Content, *, revision: int, actor: str) -> None:
    faults = content.faults()
    if found := actor_faults(actor):
        faults["actor"] = found
    if not validate_material_id.regex.search(material_id):
        faults["material_id"] = [str(validate_material_id.message)]
    if faults:
        raise InvalidMaterial(faults)
    # What passed every field may still be too large as a whole, or be refused by a rule that
    # only the wire format knows: better told now than when it is published.
    _published(material_id, content, revision=revision, actor=actor)


def _published(material_id: str, content: Content, *, revision: int, actor: str) -> Event:
    return _checked(
        lambda: events.published(
            material_id=material_id,
            revision=revision,
            title=content.title,
            summary=content.summary,
            body=content.body,
            language=content.language or None,
            tags=content.tags,
            actor=actor,
        )
    )


def _checked(build: Callable[[], Event]) -> Event:
    try:
        return build()
    except MalformedEvent as error:
        raise InvalidMaterial(
            {"body": [_("This cannot be sent to readers: %s.") % str(error).rstrip(".")]}
        ) from error


def _published_content(material: Material) -> Content | None:
    """What readers are meant to see now; None while that is nothing."""
    if material.state != Material.State.PUBLISHED:
        return None
    return material.revisions.get(number=material.revision).content


def _put(content: Content, *, into: Material, actor: str) -> None:
    into.title = content.title
    into.summary = content.summary
    into.body = content.body
    into.language = content.language
    into.tags = list(content.tags)
    into.updated_by = actor
    into.updated_at = timezone.now()


def _search_key(material_id: str, content: Content) -> str:
    return "\n".join((material_id, content.title, *content.tags)).casefold()


def _store_fact(
    material: Material, revision: Revision, event: Event, *, actor: str, user: User | None
) -> None:
    material.revision = event.revision
    material.updated_by = actor
    material.updated_at = event.occurred_at
    material.save()
    revision.material = material
    revision.number = event.revision
    revision.actor = actor
    revision.user = user
    revision.happened_at = event.occurred_at
    revision.event_id = UUID(event.event_id)
    revision.save(force_insert=True)
    outbox.record(event)
