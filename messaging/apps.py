"""Finds every app's `consumers` module when Django starts."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class MessagingConfig(AppConfig):
    name = "messaging"
    verbose_name = _("Delivery")

    def ready(self) -> None:
        autodiscover_modules("consumers")
