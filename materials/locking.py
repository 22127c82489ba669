"""The transaction of one act: the material's row held, a busy database told as such."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, transaction
from django.utils.translation import gettext as _

from materials.models import Material, is_material_id
from materials.refusals import TryAgain, UnknownMaterial
from messaging.storing.database_errors import is_busy


@contextmanager
def one_transaction() -> Iterator[None]:
    """All or nothing. Raises TryAgain where the database was too busy to take it."""
    try:
        with transaction.atomic():
            yield
    except OperationalError as error:
        if not is_busy(error):
            raise
        raise TryAgain(
            _("The database is busy with other work. Nothing was changed: try again.")
        ) from error


def lock(material_id: str) -> Material:
    """The material as it is now, held until the transaction ends. Raises UnknownMaterial."""
    # An id that could not be stored is unknown on both databases, before either is asked.
    material = None
    if is_material_id(material_id):
        material = Material.objects.locked().filter(material_id=material_id).first()
    if material is None:
        raise UnknownMaterial(_("There is no material “%s”.") % ascii(material_id)[1:-1])
    return material
