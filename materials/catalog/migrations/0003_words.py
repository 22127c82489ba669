"""Words that the consumer finds itself, the same on either database, and an index of them on SQLite.

PostgreSQL's parser took several times as long as all the rest of writing an entry, and twice where
a row was replaced. Now the column holds the very words, and the index leaves out what nobody may
see, so that counting matches needs no look at the rows. On SQLite the words stand in
`catalog_text`, and triggers keep the full-text index `catalog_words` the same. None of it is known
to the model.
"""

from importlib import import_module

from django.db import migrations

from materials.search_keys import key_of

_BEFORE = import_module("materials.catalog.migrations.0002_reading")

_ON_POSTGRESQL = [
    "ALTER TABLE catalog_entry DROP COLUMN words",
    "ALTER TABLE catalog_entry ADD COLUMN words tsvector NOT NULL DEFAULT ''",
]
_INDEX_ON_POSTGRESQL = [
    "CREATE INDEX catalog_words ON catalog_entry USING gin (words) WHERE visible",
]
_BACK_ON_POSTGRESQL = [
    "ALTER TABLE catalog_entry DROP COLUMN words",
    _BEFORE._WORDS,
    "CREATE INDEX catalog_words ON catalog_entry USING gin (words)",
]

# Blanks part the words, and every letter beyond ASCII belongs to one: the tokenizer `ascii`.
_ON_SQLITE = [
    """CREATE TABLE catalog_text (
           id integer PRIMARY KEY, material_id varchar(64) NOT NULL UNIQUE, words text NOT NULL
       )""",
    """CREATE VIRTUAL TABLE catalog_words USING fts5 (
           words, content='catalog_text', content_rowid='id', detail=none, columnsize=0,
           tokenize='ascii'
       )""",
    """CREATE TRIGGER catalog_text_came AFTER INSERT ON catalog_text BEGIN
           INSERT INTO catalog_words (rowid, words) VALUES (new.id, new.words);
       END""",
    """CREATE TRIGGER catalog_text_changed AFTER UPDATE OF words ON catalog_text BEGIN
           INSERT INTO catalog_words (catalog_words, rowid, words)
               VALUES ('delete', old.id, old.words);
           INSERT INTO catalog_words (rowid, words) VALUES (new.id, new.words);
       END""",
    """CREATE TRIGGER catalog_text_went AFTER DELETE ON catalog_text BEGIN
           INSERT INTO catalog_words (catalog_words, rowid, words)
               VALUES ('delete', old.id, old.words);
       END""",
]
_BACK_ON_SQLITE = [
    "DROP TABLE catalog_words",
    "DROP TABLE catalog_text",
]

_FILL = {
    "postgresql": "UPDATE catalog_entry SET words = array_to_tsvector(string_to_array(btrim(%s), ' '))"
    " WHERE material_id = %s",
    "sqlite": "INSERT INTO catalog_text (words, material_id) VALUES (%s, %s)",
}


def _forwards(apps, schema_editor):
    connection = schema_editor.connection
    on_postgresql = connection.vendor == "postgresql"
    _run(schema_editor, _ON_POSTGRESQL if on_postgresql else _ON_SQLITE)
    entries = apps.get_model("catalog", "CatalogEntry").objects.using(connection.alias)
    texts = entries.order_by("pk").values_list("pk", "title", "summary", "body")
    with connection.cursor() as cursor:
        last = ""
        while found := list(texts.filter(pk__gt=last)[:500]):
            rows = [(key_of(parts), material_id) for material_id, *parts in found]
            cursor.executemany(_FILL[connection.vendor], rows)
            last = found[-1][0]
    if on_postgresql:
        _run(schema_editor, _INDEX_ON_POSTGRESQL)


def _backwards(apps, schema_editor):
    on_postgresql = schema_editor.connection.vendor == "postgresql"
    _run(schema_editor, _BACK_ON_POSTGRESQL if on_postgresql else _BACK_ON_SQLITE)


def _run(schema_editor, statements):
    for statement in statements:
        schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0002_reading"),
    ]

    operations = [
        migrations.RunPython(_forwards, _backwards),
    ]
