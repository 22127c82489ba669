"""The console's plain lists: its navigation above, the cells kept so narrow that all are seen."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from messaging.console.rights import page
from messaging.read_only_admin import ReadOnlyAdmin
from messaging.running.inert_text import inert

if TYPE_CHECKING:
    Base = ReadOnlyAdmin
else:  # Mixed into admins that are read only already.
    Base = object

LONGEST_ERROR = 160


class ConsoleList(Base):
    """Mixed into an admin: `here` is its entry in the navigation, `heading` names its page."""

    here: str
    heading: Any = ""
    change_list_template = "admin/messaging/console_list.html"

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        heading = self.heading or capfirst(self.opts.verbose_name_plural)
        context = page(request, str(heading), here=self.here)
        return super().changelist_view(request, {**context, **(extra_context or {})})


def fact(kind: str, material_id: str, revision: int | None) -> str:
    """The fact that a row is about, as on the page of its letters."""
    return inert(f"{kind} {material_id}" + ("" if revision is None else f" r{revision}"))


def short_id(event_id: UUID | None) -> SafeString | str:
    """The end of an event's id, which differs where the beginning is a time; whole in the title.

    Leads to the rows of the same list that have it.
    """
    if event_id is None:
        return "—"
    end = str(event_id)[-12:]
    return format_html('<a class="id" href="?q={0}" title="{0}">…{1}</a>', event_id, end)


def short_error(text: str) -> str:
    return text if len(text) <= LONGEST_ERROR else f"{text[: LONGEST_ERROR - 1]}…"
