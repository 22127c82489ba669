"""An index by which the admin finds a material's receipts under a second id."""

from django.db import migrations, models

from messaging.storing.beside_writers import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("messaging", "0008_sent_again")]

    operations = [
        AddIndexBesideWriters(
            model_name="inboxreceipt",
            index=models.Index(
                condition=models.Q(("names_revision", False)),
                fields=["material_id"],
                name="inbox_second_facts",
            ),
        ),
    ]
