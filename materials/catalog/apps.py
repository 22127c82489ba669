"""The catalog as an app of its own, so that it can live without the source."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CatalogConfig(AppConfig):
    name = "materials.catalog"
    label = "catalog"
    verbose_name = _("Catalog")
    default_auto_field = "django.db.models.BigAutoField"
