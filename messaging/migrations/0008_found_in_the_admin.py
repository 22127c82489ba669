"""Indexes by which the admin finds rows of tables too large to be read."""

from django.db import migrations, models

from messaging.beside_writers import AddIndexBesideWriters


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("messaging", "0007_groups_and_names")]

    operations = [
        AddIndexBesideWriters(
            model_name="outboxmessage",
            index=models.Index(
                condition=models.Q(("consumer", ""), _negated=True),
                fields=["event_id"],
                name="outbox_sent_again",
            ),
        ),
        AddIndexBesideWriters(
            model_name="inboxreceipt",
            index=models.Index(
                condition=models.Q(("names_revision", False)),
                fields=["material_id"],
                name="inbox_second_facts",
            ),
        ),
        AddIndexBesideWriters(
            model_name="failedattempt",
            index=models.Index(fields=["material_id"], name="failed_attempt_material"),
        ),
    ]
