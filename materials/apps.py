"""The source of facts: what editors own and publish."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class MaterialsConfig(AppConfig):
    name = "materials"
    verbose_name = _("Materials")
    default_auto_field = "django.db.models.BigAutoField"
