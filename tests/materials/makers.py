"""Materials and accounts for tests, made by the same verbs that editors use."""

from datetime import datetime
from secrets import token_bytes
from typing import Any

from django.contrib.auth.models import Permission, User
from django.utils import timezone

from materials import actions
from materials.models import Material, Revision
from messaging.models import DeadLetter, FailedAttempt, InboxReceipt, OutboxMessage


def draft(material_id: str = "article-107", **fields: Any) -> Material:
    fields = {"title": "Queues that forgive", "body": "Text.", "actor": "ada", **fields}
    return actions.create(material_id, **fields)


def published(material_id: str = "article-107", **fields: Any) -> Material:
    draft(material_id, **fields)
    actions.publish(material_id, actor="ada")
    return Material.objects.get(material_id=material_id)


def person(*rights: str, username: str = "ada") -> User:
    """An account with exactly these rights on materials: `person("view", "publish")`."""
    user = User.objects.create_user(username)
    user.user_permissions.set(
        Permission.objects.get(content_type__app_label="materials", codename=f"{right}_material")
        for right in rights
    )
    return user


def facts() -> list[tuple[str, str, int]]:
    """What stands in the outbox, in order: (material, type, revision)."""
    return list(OutboxMessage.objects.order_by("id").values_list("material_id", "type", "revision"))


def sent(material_id: str, number: int, at: datetime | None = None) -> None:
    """As if the relay had the broker's confirmation for that revision."""
    OutboxMessage.objects.filter(material_id=material_id, revision=number).update(
        state="sent", sent_at=at or timezone.now()
    )


def receipt(material_id: str, number: int, consumer: str = "catalog", **fields: Any) -> None:
    """As if the consumer had handled that revision."""
    event = Revision.objects.get(material=material_id, number=number).event_id
    InboxReceipt.objects.create(
        consumer=consumer,
        event_id=event,
        type="material.published",
        material_id=material_id,
        revision=number,
        fingerprint=b"f" * 32,
        content_fingerprint=b"c" * 32,
        **fields,
    )


def failure(material_id: str, number: int, consumer: str = "catalog", **fields: Any) -> None:
    """As if the consumer had failed at that revision once."""
    FailedAttempt.objects.create(
        consumer=consumer,
        event_id=Revision.objects.get(material=material_id, number=number).event_id,
        material_id=material_id,
        revision=number,
        type="material.published",
        **{"attempt": 0, "transient": True, "error_class": "DatabaseBusy", **fields},
    )


def letter(material_id: str, number: int, consumer: str = "catalog", **fields: Any) -> DeadLetter:
    """As if that revision lay with the dead letters."""
    return DeadLetter.objects.create(
        consumer=consumer,
        event_id=Revision.objects.get(material=material_id, number=number).event_id,
        material_id=material_id,
        revision=number,
        body=b"{}",
        body_sha256=token_bytes(32),
        body_size=2,
        header_table=b"",
        **{
            "reason": "FactConflict",
            "died_at": timezone.now(),
            "first_died_at": timezone.now(),
            **fields,
        },
    )
