"""Consumers and event types to filter large tables by, without asking the tables for them."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from messaging import registry
from messaging.models import FailedAttempt, InboxReceipt


class _KnownNames(admin.SimpleListFilter):
    """Filters by the names that the code knows."""

    parameter_name: str

    def names(self) -> Iterable[str]:
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted(set(self.names()))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if (value := self.value()) is None:
            return queryset
        if value not in self.names():
            return queryset.none()
        return queryset.filter(**{self.parameter_name: value})


class TypeFilter(_KnownNames):
    title = _("type")
    parameter_name = "type"

    def names(self) -> Iterable[str]:
        return (name for name, _version in registry.event_types())


class ConsumerFilter(_KnownNames):
    title = _("consumer")
    parameter_name = "consumer"

    def names(self) -> Iterable[str]:
        return (each.name for each in registry.consumers())


def consumers_in(model: type[InboxReceipt] | type[FailedAttempt]) -> list[str]:
    """Of all its rows, those of consumers that are no more too: one step along an index each."""
    found: list[str] = []
    rows = model._default_manager.order_by("consumer").values_list("consumer", flat=True)
    while following := rows.filter(consumer__gt=found[-1] if found else "").first():
        found.append(following)
    return found
