"""Rows of the admin whose own page may quote a payload."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from messaging.console.sightings import may_see_payload
from messaging.read_only_admin import FactAdmin

WITHHELD = _("Not shown: your account has no right to see payloads, or the log cannot be written.")


class PayloadAdmin(FactAdmin):
    """The payload is shown to those with the right, and each look is logged: `row.is_seen`."""

    where: str

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row: Any = super().get_object(request, object_id, from_field)
        if row is not None:
            row.is_seen = may_see_payload(request, where=self.where, of={"row": row.pk})
        return row
