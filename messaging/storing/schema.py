"""Whether a database lacks a table or a column of the installed models.

Looked at only after a statement named something that is not there: then it tells an unmigrated
database, where nothing works, from a mistake of that statement's own.
"""

from collections.abc import Iterator

from django.apps import apps
from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper


def lacks(using: str) -> str | None:
    """Names what is missing, the first of it; None where everything is there.

    One statement, which needs no right to any table. Raises the database's errors.
    """
    connection = connections[using]
    there = _columns(connection)
    for table, columns in _wanted(connection):
        if table not in there:
            return f"the table {table}"
        for column in columns:
            if column not in there[table]:
                return f"the column {table}.{column}"
    return None


def _wanted(connection: BaseDatabaseWrapper) -> Iterator[tuple[str, list[str]]]:
    for model in apps.get_models(include_auto_created=True):
        options = model._meta
        if options.can_migrate(connection) and router.allow_migrate_model(connection.alias, model):
            names = [field.column for field in options.local_concrete_fields if field.column]
            yield options.db_table, names


# Not Django's introspection: that reads a row of each table. On SQLite not of views: one whose
# table is missing would end the question with an error.
_COLUMNS = {
    "postgresql": """
        SELECT c.relname, a.attname
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
        AND pg_catalog.pg_table_is_visible(c.oid)
        AND c.relnamespace <> 'pg_catalog'::pg_catalog.regnamespace
    """,
    "sqlite": """
        SELECT t.name, c.name
        FROM sqlite_master t, pragma_table_xinfo(t.name) c
        WHERE t.type = 'table'
    """,
}


def _columns(connection: BaseDatabaseWrapper) -> dict[str, set[str]]:
    """By table, as the connection sees them."""
    found: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS[connection.vendor])
        for table, column in cursor.fetchall():
            found.setdefault(table, set()).add(column)
    return found
