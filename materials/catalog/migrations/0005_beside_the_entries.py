"""What stands beside the entries on SQLite: words go with their entry; few share a tag or a language.

Here and not with the words, because the migration before this one makes the table anew, and such a
table has neither the triggers nor the indexes that the model does not know.
"""

from django.db import migrations

_ON_SQLITE = [
    """CREATE TRIGGER IF NOT EXISTS catalog_entry_went AFTER DELETE ON catalog_entry BEGIN
           DELETE FROM catalog_text WHERE material_id = old.material_id;
       END""",
    # A tag or a language that few share is looked for without reading the entries.
    """CREATE INDEX IF NOT EXISTS catalog_shelves ON catalog_entry
       (published_at DESC, material_id, language, tags) WHERE visible""",
]
_AWAY_AGAIN = [
    "DROP INDEX catalog_shelves",
    "DROP TRIGGER catalog_entry_went",
]


def _forwards(apps, schema_editor):
    _run(schema_editor, _ON_SQLITE)


def _backwards(apps, schema_editor):
    _run(schema_editor, _AWAY_AGAIN)


def _run(schema_editor, statements):
    if schema_editor.connection.vendor == "sqlite":
        for statement in statements:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0004_any_language_tag"),
    ]

    operations = [
        migrations.RunPython(_forwards, _backwards),
    ]
