"""Materials and accounts for tests, made by the same verbs that editors use."""

from typing import Any

from django.contrib.auth.models import Permission, User

from materials import actions
from materials.models import Material
from messaging.models import OutboxMessage


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
