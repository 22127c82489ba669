"""The form of a planned act: a moment to the second, in a time zone that a person chooses."""

from datetime import datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from materials.forms import WithdrawForm, whole_number_in
from materials.models import Schedule

ZONE_COOKIE = "zone"
LATEST_YEAR = 9000


class ScheduleForm(WithdrawForm):
    """When, in which zone, and for a withdrawal why."""

    when = forms.CharField(
        label=_("When"),
        required=False,
        help_text=_("Day, hour and minute."),
        widget=forms.TextInput(attrs={"type": "datetime-local"}),
    )
    # By itself: a browser's field for both takes no moment before every part of it is given.
    seconds = forms.CharField(
        label=_("Second"),
        required=False,
        help_text=_("0 to 59; empty means 0."),
        widget=forms.NumberInput(attrs={"min": 0, "max": 59}),
    )
    zone = forms.CharField(label=_("Time zone"), required=False, widget=forms.Select)
    version = forms.CharField(required=False, widget=forms.HiddenInput)
    field_order = ("when", "seconds", "zone", "reason")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["zone"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = [(name, name.replace("_", " ")) for name in _zones()]

    @classmethod
    def of(
        cls, planned: Schedule | None, request: HttpRequest, *, draft_version: int
    ) -> "ScheduleForm":
        """The form of what is planned, or of nothing yet, in the zone that was used last.

        `?version=` says which version of the draft was looked at before; else it is the one
        that was planned, or this one.
        """
        kept = request.COOKIES.get(ZONE_COOKIE, "")
        seen = whole_number_in(request.GET.get("version", ""))
        if planned is None:
            zone = kept if kept in _zones() else settings.TIME_ZONE
            form = cls(initial={"zone": zone, "version": seen or draft_version})
            if kept not in _zones():
                form.fields["zone"].widget.attrs["data-zone"] = "guess"
            return form
        local = planned.due_at.astimezone(ZoneInfo(planned.zone))
        initial = {
            "when": local.strftime("%Y-%m-%dT%H:%M"),
            "seconds": local.second,
            "zone": planned.zone,
            "reason": planned.reason,
            "version": seen or planned.version,
        }
        return cls(initial=initial)

    def clean_zone(self) -> str:
        zone = str(self.cleaned_data["zone"]) or settings.TIME_ZONE
        if zone not in _zones():
            raise ValidationError(_("Choose a time zone from the list."))
        return zone

    def clean_seconds(self) -> int:
        text = self.cleaned_data["seconds"] or "0"
        if not (text.isdecimal() and len(text) <= 2 and int(text) < 60):
            raise ValidationError(_("Give 0 to 59."))
        return int(text)

    def clean_version(self) -> int | None:
        """None where the form does not say."""
        text = self.cleaned_data["version"]
        return whole_number_in(text) if text else None

    def clean(self) -> dict[str, Any]:
        """Turn the moment of that zone into the instant; a clock change may leave no such one."""
        data = super().clean()
        zone = data.get("zone")
        if zone and "when" in data and "seconds" in data:
            try:
                data["when"] = _instant(str(data["when"]), data["seconds"], ZoneInfo(zone))
            except ValidationError as fault:
                self.add_error("when", fault)
        return data


def _instant(text: str, seconds: int, zone: ZoneInfo) -> datetime:
    try:
        naive = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValidationError(_("Give day and time like this: 2026-12-01 12:00.")) from error
    if naive.tzinfo is not None or naive.year > LATEST_YEAR:
        raise ValidationError(_("Give day and time like this: 2026-12-01 12:00."))
    # A program may send the moment whole.
    naive = naive.replace(second=naive.second or seconds)
    first, second = (naive.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        raise ValidationError(
            _("The clocks change then, and this moment comes twice or never. Choose another.")
        )
    try:
        return first.astimezone(timezone.get_default_timezone())
    except OverflowError as error:
        raise ValidationError(_("Give a later moment.")) from error


@lru_cache
def _zones() -> tuple[str, ...]:
    known = {name for name in available_timezones() if "/" in name and name[0].isupper()}
    known -= {name for name in known if name.startswith(("Etc/", "SystemV/", "US/"))}
    return tuple(sorted(known | {"UTC", settings.TIME_ZONE}))
