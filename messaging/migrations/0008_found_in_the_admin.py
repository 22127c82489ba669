"""Indexes by which the admin finds rows of tables too large to be read: made beside the writers.

A run that is stopped leaves an index that PostgreSQL calls invalid: drop it and run again.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddIndexBesideWriters(AddIndexConcurrently):
    """On SQLite, which has no such way, an ordinary one."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_forwards(
                self, app_label, schema_editor, from_state, to_state
            )

    def database_backwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_backwards(
                self, app_label, schema_editor, from_state, to_state
            )


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
