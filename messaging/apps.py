"""Finds every app's `consumers` module when Django starts."""

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class MessagingConfig(AppConfig):
    name = "messaging"
    verbose_name = "Delivery"

    def ready(self) -> None:
        autodiscover_modules("consumers")
