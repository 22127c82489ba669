"""Django's debug page and error mails, without what must not be seen.

Three nets, because each has holes: names that promise a secret are starred, every variable is
screened before Django shortens it, and the finished text is screened once more.
"""

import re
from collections.abc import ItemsView
from pprint import pformat
from types import FrameType
from typing import Any

from django.http import HttpRequest, QueryDict
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

from messaging.running.screening import screen


class ErrorReportFilter(SafeExceptionReporterFilter):
    """Hides, also under DEBUG, all that Django hides in production, and connection URLs."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}"
        "|COOKIE|CREDENTIAL|CONNINFO|DSN|(AMQP|BROKER|DATABASE|DB|CACHE|EMAIL|REDIS)_?URL",
        flags=re.IGNORECASE,
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def cleanse_setting(self, key: str | int, value: Any) -> Any:
        cleansed = super().cleanse_setting(key, value)
        # str(): a lazy text is no str to a regular expression.
        return screen(str(cleansed)) if isinstance(cleansed, str) else cleansed

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        posted = super().get_post_parameters(request)
        # Not under a decorator's care: what somebody typed into a password field.
        return {name: self.cleanse_setting(name, _all(posted, name)) for name in posted}

    def get_traceback_frame_variables(
        self, request: HttpRequest | None, tb_frame: FrameType
    ) -> ItemsView[str, Any]:
        shown = super().get_traceback_frame_variables(request, tb_frame)
        return {name: _Screened(self.cleanse_setting(name, value)) for name, value in shown}.items()


class ErrorReport(ExceptionReporter):
    """Screens the finished page or mail, whatever way a secret came into it."""

    def get_traceback_html(self) -> SafeString:
        return _screen_safe(super().get_traceback_html())

    def get_traceback_text(self) -> SafeString:
        return _screen_safe(super().get_traceback_text())


def _screen_safe(rendered: str) -> SafeString:
    return SafeString(screen(rendered))


class _Screened:
    """A value that prints as itself, screened while it is still whole."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __repr__(self) -> str:
        try:
            return screen(pformat(self._value))
        except Exception as error:  # noqa: BLE001 - any object's repr may fail in any way
            return f"[no repr: {type(error).__name__}]"


def _all(posted: QueryDict | dict[str, Any], name: str) -> Any:
    values = posted.getlist(name) if isinstance(posted, QueryDict) else [posted[name]]
    return values[0] if len(values) == 1 else values
