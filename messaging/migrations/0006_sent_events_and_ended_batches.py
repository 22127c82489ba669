"""A letter knows the event that was sent for it; a batch knows who may go on, and why it ended."""

import json
import uuid

from django.db import migrations, models

BATCH = 500


def name_sent_events(apps, schema_editor):
    """Letters whose own body names no event: what their correction, which was checked, names."""
    using = schema_editor.connection.alias
    letters = apps.get_model("messaging", "DeadLetter").objects.using(using)
    corrected = letters.filter(event_id__isnull=True, correction__isnull=False)
    bodies = corrected.values_list("pk", "correction__body").order_by("pk")
    for letter_id, body in bodies.iterator(chunk_size=BATCH):
        event_id = uuid.UUID(json.loads(bytes(body))["eventId"])
        letters.filter(pk=letter_id).update(sent_event_id=event_id)


def mark_accounts(apps, schema_editor):
    batches = apps.get_model("messaging", "OperatorBatch").objects
    batches.using(schema_editor.connection.alias).filter(user__isnull=False).update(by_account=True)


class Migration(migrations.Migration):
    dependencies = [("messaging", "0005_outbox_lanes")]

    operations = [
        migrations.AddField(
            model_name="deadletter",
            name="sent_event_id",
            field=models.UUIDField(
                blank=True,
                help_text="Of the same event; a correction may name it alone.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="operatorbatch",
            name="by_account",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Begun by somebody signed in, who needs the right until it is done.",
            ),
        ),
        migrations.AddField(
            model_name="operatorbatch",
            name="ended_because",
            field=models.CharField(
                blank=True,
                help_text="Why it was given up; empty where it was not.",
                max_length=500,
            ),
        ),
        migrations.AlterField(
            model_name="operatordecision",
            name="action",
            field=models.CharField(
                choices=[
                    ("requeue", "Requeue"),
                    ("correct", "Correct"),
                    ("discard", "Discard"),
                    ("restore", "Restore"),
                    ("view_payload", "View Payload"),
                    ("retry_outbox", "Retry Outbox"),
                    ("pause", "Pause"),
                    ("resume", "Resume"),
                    ("begin_batch", "Begin Large Action"),
                    ("cancel_batch", "Cancel Large Action"),
                    ("resolved", "Resolved"),
                    ("died_again", "Died Again"),
                ],
                max_length=32,
            ),
        ),
        migrations.AddIndex(
            model_name="deadletter",
            index=models.Index(
                condition=models.Q(("sent_event_id__isnull", False)),
                fields=["sent_event_id"],
                name="dead_letter_sent_event",
            ),
        ),
        migrations.RunPython(name_sent_events, migrations.RunPython.noop),
        migrations.RunPython(mark_accounts, migrations.RunPython.noop),
    ]
