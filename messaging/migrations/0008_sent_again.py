"""An index by which the admin finds what was sent again, by its event."""

from django.db import migrations, models

from messaging.storing.beside_writers import AddIndexBesideWriters


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
    ]
