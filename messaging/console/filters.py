"""What the list is narrowed by, and the same as a Selection for decisions over all that match."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.db import connections
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from messaging import registry
from messaging.letters.search import ALL, Selection, as_moment
from messaging.models import DeadLetter
from messaging.running.inert_text import inert

MOST_NAMES = 30
_EARLIEST, _LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
FIELDS = ("state", "consumer", "reason", "place", "type", "since", "until", "q")


def selection_of(params: Mapping[str, Any], *, search_payload: bool) -> Selection:
    """The letters that a list with these parameters shows."""
    values = {name: str(params.get(name) or "") for name in FIELDS}
    return Selection(
        state=values["state"] or DeadLetter.State.OPEN,
        consumer=values["consumer"],
        reason=values["reason"],
        place=values["place"],
        type=values["type"],
        since=_moment(values["since"], unreadable=_LATEST),
        until=_moment(values["until"], unreadable=_EARLIEST),
        text=values["q"].strip(),
        search_payload=search_payload,
    )


class _Filter(admin.SimpleListFilter):
    """Always shown and always obeyed, whatever there is to choose from."""

    parameter_name: str

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        params = {"state": ALL, self.parameter_name: self.value()}
        return selection_of(params, search_payload=False).letters(queryset)  # type: ignore[arg-type]


class StateFilter(_Filter):
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [*DeadLetter.State.choices[1:], (ALL, _("All"))]

    def choices(self, changelist: Any) -> Any:
        first, *others = super().choices(changelist)
        first["display"] = DeadLetter.State.OPEN.label
        return [first, *others]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        params = {"state": self.value()}
        return selection_of(params, search_payload=False).letters(queryset)  # type: ignore[arg-type]


class ConsumerFilter(_Filter):
    title = _("consumer")
    parameter_name = "consumer"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(each.name, each.name) for each in registry.consumers()]


class FailureFilter(_Filter):
    title = _("failure")
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = _failures_there_are(model_admin.get_queryset(request).db)
        return [(name, inert(name)) for name in names]


class TypeFilter(_Filter):
    title = _("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted({name for name, _v in registry.event_types()})]


class PlaceFilter(_Filter):
    """Chosen on the page of failures alone: there may be many places."""

    title = _("place")
    parameter_name = "place"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(value, inert(value))] if (value := self._chosen()) else []

    def has_output(self) -> bool:
        return bool(self._chosen())

    def _chosen(self) -> str:
        return str(self.used_parameters.get(self.parameter_name) or "")


_SPAN = ("since", "until")


class DiedFilter(admin.ListFilter):
    """A span of days, in a small form of its own."""

    title = _("date of death")
    template = "admin/messaging/deadletter/died_filter.html"

    def __init__(self, request: Any, params: Any, model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in _SPAN:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [*_SPAN]

    def choices(self, changelist: Any) -> Any:
        others = [
            (name, value)
            for name, values in changelist.filter_params.items()
            for value in values
            if name not in _SPAN
        ]
        if changelist.query:
            others.append(("q", changelist.query))
        yield {"selected": bool(self.used_parameters), "others": others, **self.used_parameters}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        params = {"state": ALL, **self.used_parameters}
        return selection_of(params, search_payload=False).letters(queryset)  # type: ignore[arg-type]


def described(selection: Selection) -> str:
    """The filters in words, for the page that asks before a decision over all that match."""
    said = {
        gettext("state"): _state_said(selection.state),
        gettext("consumer"): selection.consumer,
        gettext("failure"): selection.reason,
        gettext("place"): selection.place,
        gettext("type"): selection.type,
        gettext("since"): str(selection.since or ""),
        gettext("until"): str(selection.until or ""),
        gettext("event"): selection.event,
        gettext("material"): selection.material,
        gettext("holding"): selection.text,
    }
    return ", ".join(f"{name}: {value}" for name, value in said.items() if value)


def _state_said(state: str) -> str:
    return str(DeadLetter.State(state).label) if state in DeadLetter.State else ""


def _moment(text: str, *, unreadable: datetime) -> datetime | None:
    """What cannot be read matches no letter: to ignore it would widen a decision over all."""
    return as_moment(text.strip()) or unreadable if text.strip() else None


def _failures_there_are(using: str) -> list[str]:
    """Read by hopping through the index: DISTINCT would walk every row of it."""
    table = DeadLetter._meta.db_table
    sql = f"""
        WITH RECURSIVE found(reason) AS (
            SELECT MIN(reason) FROM {table}
            UNION ALL
            SELECT (SELECT MIN(reason) FROM {table} WHERE reason > found.reason)
            FROM found WHERE found.reason IS NOT NULL
        )
        SELECT reason FROM found WHERE reason IS NOT NULL LIMIT %s
    """  # the table's name is the model's
    with connections[using].cursor() as cursor:
        cursor.execute(sql, [MOST_NAMES])
        return [name for (name,) in cursor.fetchall()]
