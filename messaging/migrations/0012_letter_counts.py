"""An index in which the letters of a failure are counted."""

from django.db import migrations, models

from messaging.storing.beside_writers import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("messaging", "0011_names")]

    operations = [
        AddIndexBesideWriters(
            model_name="deadletter",
            index=models.Index(
                fields=["state", "consumer", "reason", "place"], name="dead_letter_counts"
            ),
        ),
    ]
