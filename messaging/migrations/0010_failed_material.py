"""An index by which the admin finds a material's failed attempts."""

from django.db import migrations, models

from messaging.storing.beside_writers import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("messaging", "0009_second_facts")]

    operations = [
        AddIndexBesideWriters(
            model_name="failedattempt",
            index=models.Index(fields=["material_id"], name="failed_attempt_material"),
        ),
    ]
