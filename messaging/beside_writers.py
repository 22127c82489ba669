"""An operation for migrations: an index of a table too large to hold its writers up.

A run that is stopped leaves an index that PostgreSQL calls invalid: drop it and run again.
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
        self._way_on(schema_editor).database_forwards(self, app_label, schema_editor, *states)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, *states: Any
    ) -> None:
        self._way_on(schema_editor).database_backwards(self, app_label, schema_editor, *states)

    def _way_on(self, schema_editor: BaseDatabaseSchemaEditor) -> type[AddIndex]:
        on_postgresql = schema_editor.connection.vendor == "postgresql"
        return AddIndexConcurrently if on_postgresql else AddIndex
