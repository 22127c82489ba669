"""The decision log, to be read; nobody can change it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from messaging.console.lists import ConsoleList
from messaging.models import OperatorDecision
from messaging.read_only_admin import ReadOnlyAdmin
from messaging.running.inert_text import inert


class DecisionAdmin(ConsoleList, ReadOnlyAdmin):
    """Who decided or saw what, when, from where, and why; the newest first."""

    ordering = ("-id",)
    list_display = ("at", "action", "operator_name", "of_letter", "note_text", "source_ip")
    list_filter = ("action",)
    list_select_related = False
    exclude = ("detail",)
    here = "log"
    heading = _("Decision log")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        # A difference may be 64 kB, and quotes a payload: it is shown on the letter's page.
        return super().get_queryset(request).defer("detail")

    @admin.display(description=_("operator"))
    def operator_name(self, line: OperatorDecision) -> str:
        return inert(line.operator)

    @admin.display(description=_("letter"))
    def of_letter(self, line: OperatorDecision) -> str:
        if line.letter_id is None:
            return "—"
        url = reverse("admin:messaging_deadletter_change", args=[line.letter_id])
        return format_html('<a href="{}">{}</a>', url, line.letter_id)

    @admin.display(description=_("why"))
    def note_text(self, line: OperatorDecision) -> str:
        return inert(line.note[:200])
