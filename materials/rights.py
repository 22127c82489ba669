"""Granting rights to the groups Editors and Operators, from migrations.

A right is granted once, by the migration that brings it; what an administrator takes away
later stays away. Rights of any app may be named: groups belong to the site.
"""

from collections.abc import Iterable
from typing import Any

from django.apps import apps as installed


def grant(apps: Any, *, group: str, rights: Iterable[str], using: str) -> None:
    """Give the group these rights (`app.codename_model`), making what is not there yet.

    Safe before Django's own creation of permissions after `migrate`, which then finds them.
    A right of a model that is installed no longer is passed over.
    """
    group_row, _ = apps.get_model("auth", "Group").objects.using(using).get_or_create(name=group)
    for right in rights:
        permission = _permission(apps, right, using=using)
        if permission is not None:
            group_row.permissions.add(permission)


def _permission(apps: Any, right: str, *, using: str) -> Any:
    app_label, _, codename = right.partition(".")
    model = _model_with(app_label, codename)
    if model is None:
        return None
    verb = codename.rpartition("_")[0]
    content_type, _ = (
        apps.get_model("contenttypes", "ContentType")
        .objects.using(using)
        .get_or_create(app_label=app_label, model=model._meta.model_name)
    )
    name = dict(model._meta.permissions).get(codename, f"Can {verb} {model._meta.verbose_name_raw}")
    permission, _ = (
        apps.get_model("auth", "Permission")
        .objects.using(using)
        .get_or_create(content_type=content_type, codename=codename, defaults={"name": name})
    )
    return permission


def _model_with(app_label: str, codename: str) -> Any:
    """The model that declares the right, or that the right is named after."""
    try:
        models = list(installed.get_app_config(app_label).get_models())
    except LookupError:
        return None
    declaring = [model for model in models if codename in dict(model._meta.permissions)]
    named = [model for model in models if codename.endswith(f"_{model._meta.model_name}")]
    return next(iter(declaring + named), None)
