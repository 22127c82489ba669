"""An index of the letters that died again, by their first death."""

from django.db import migrations, models

from messaging.storing.beside_writers import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("messaging", "0012_letter_counts")]

    operations = [
        AddIndexBesideWriters(
            model_name="deadletter",
            index=models.Index(
                fields=["state", "consumer", "reason", "place", "first_died_at"],
                condition=models.Q(first_died_at__lt=models.F("died_at")),
                name="dead_letter_first",
            ),
        ),
    ]
