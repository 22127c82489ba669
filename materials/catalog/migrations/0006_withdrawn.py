"""What was withdrawn, so that the admin lists it without a look at all the rest."""

from django.db import migrations, models

from messaging.storing.beside_writers import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("catalog", "0005_beside_the_entries")]

    operations = [
        AddIndexBesideWriters(
            model_name="catalogentry",
            index=models.Index(
                condition=models.Q(("visible", False)),
                fields=["material_id"],
                name="catalog_withdrawn",
            ),
        ),
    ]
