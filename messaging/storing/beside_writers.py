"""An operation for migrations: an index of a table too large to hold its writers up.

It is a migration's only one, so that a run which is stopped can be repeated: on PostgreSQL once the
index that it left, an invalid one, has been dropped.
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddIndex


class AddIndexBesideWriters(AddIndexConcurrently):
    """On SQLite, which has no such way, an ordinary one. The migration is not `atomic`."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            AddIndex.database_forwards(self, app_label, schema_editor, *states)
            return
        # As long as it takes: it waits for every transaction that is older, and holds nobody up.
        schema_editor.execute("SET statement_timeout = 0")
        schema_editor.execute("SET lock_timeout = 0")
        try:
            super().database_forwards(app_label, schema_editor, *states)
        finally:
            schema_editor.execute("RESET statement_timeout")
            schema_editor.execute("RESET lock_timeout")

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any
    ) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, *states)
        else:
            AddIndex.database_backwards(self, app_label, schema_editor, *states)
