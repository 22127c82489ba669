"""What reading needs: the moment of the latest change, and on PostgreSQL words, tags, languages.

The column `words` follows from the row, belongs to the database and is unknown to the model.
ASCII signs are taken out first: PostgreSQL would read `a-b`, `a.b/c` and `<a>` as compounds, an
address and a mark-up tag, and find no `b` in them. Without compounds no text that an event can
hold makes a vector beyond PostgreSQL's limit of 1 MiB. Letters are made small by ICU, where
PostgreSQL was built with it, because a database with the locale C knows no case beyond ASCII.
"""

from django.db import migrations, models

_SIGNS = r"""!"#$%&()*+,-./:;<=>?@[\]^_`{|}~"""

_SMALL = """
    CREATE FUNCTION catalog_small(text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN lower($1 COLLATE {collation})
"""

_WORDS = f"""
    ALTER TABLE catalog_entry ADD COLUMN words tsvector GENERATED ALWAYS AS (
        to_tsvector(
            'simple'::regconfig,
            translate(
                catalog_small(title || ' ' || summary || ' ' || body),
                '{_SIGNS}', '{" " * len(_SIGNS)}'
            )
        )
    ) STORED
"""

_ON_POSTGRESQL = [
    _WORDS,
    "CREATE INDEX catalog_words ON catalog_entry USING gin (words)",
    "CREATE INDEX catalog_tags ON catalog_entry USING gin (tags jsonb_path_ops)",
    """CREATE INDEX catalog_language ON catalog_entry
       (UPPER(language) varchar_pattern_ops, published_at DESC, material_id) WHERE visible""",
]

_AWAY_AGAIN = [
    "DROP INDEX catalog_language",
    "DROP INDEX catalog_tags",
    "ALTER TABLE catalog_entry DROP COLUMN words",
    "DROP FUNCTION catalog_small(text)",
]


def _forwards(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_collation WHERE collname = 'und-x-icu'")
        collation = '"und-x-icu"' if cursor.rowcount else '"default"'
    _run(schema_editor, [_SMALL.format(collation=collation), *_ON_POSTGRESQL])


def _backwards(apps, schema_editor):
    _run(schema_editor, _AWAY_AGAIN)


def _run(schema_editor, statements):
    if schema_editor.connection.vendor == "postgresql":
        for statement in statements:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):

    dependencies = [
        ("catalog", "0001_initial"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="catalogentry",
            index=models.Index(
                models.OrderBy(models.F("applied_at"), descending=True), name="catalog_latest"
            ),
        ),
        migrations.RunPython(_forwards, _backwards),
    ]
