"""What the editors' list needs at a million materials: changed ones by themselves, words on SQLite.

The table `material_words` follows the search keys by triggers, belongs to the database and is
unknown to the model. Keys hold words and blanks alone, and every letter beyond ASCII belongs to a
word: the tokenizer `ascii`.
"""

from django.db import migrations, models

_ON_SQLITE = [
    """CREATE VIRTUAL TABLE material_words USING fts5 (
           search_key, content='materials_material', content_rowid='id', detail=none, columnsize=0,
           tokenize='ascii'
       )""",
    "INSERT INTO material_words (material_words) VALUES ('rebuild')",
    """CREATE TRIGGER material_words_came AFTER INSERT ON materials_material BEGIN
           INSERT INTO material_words (rowid, search_key) VALUES (new.id, new.search_key);
       END""",
    """CREATE TRIGGER material_words_changed AFTER UPDATE OF search_key ON materials_material
       WHEN old.search_key <> new.search_key BEGIN
           INSERT INTO material_words (material_words, rowid, search_key)
               VALUES ('delete', old.id, old.search_key);
           INSERT INTO material_words (rowid, search_key) VALUES (new.id, new.search_key);
       END""",
    """CREATE TRIGGER material_words_went AFTER DELETE ON materials_material BEGIN
           INSERT INTO material_words (material_words, rowid, search_key)
               VALUES ('delete', old.id, old.search_key);
       END""",
]
_BACKWARDS = [
    "DROP TRIGGER material_words_came",
    "DROP TRIGGER material_words_changed",
    "DROP TRIGGER material_words_went",
    "DROP TABLE material_words",
]


def make_words(apps, schema_editor):
    _run(schema_editor, _ON_SQLITE)


def drop_words(apps, schema_editor):
    _run(schema_editor, _BACKWARDS)


def _run(schema_editor, statements):
    if schema_editor.connection.vendor == "sqlite":
        for statement in statements:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("materials", "0006_authors")]

    operations = [
        migrations.AddIndex(
            model_name="material",
            index=models.Index(
                condition=models.Q(("differs", True), ("state", "published")),
                fields=["-updated_at", "-id"],
                name="material_changed",
            ),
        ),
        migrations.RunPython(make_words, drop_words),
    ]
