"""The words of every material, and on PostgreSQL an index over them and over the tags.

The column `search_vector` follows from the key, belongs to the database and is unknown to the
model. It is made of the very words: no parser and no locale of the server's has a say.
"""

from django.db import migrations

from materials.search_keys import key_of

_FORWARDS = [
    """ALTER TABLE materials_material ADD COLUMN search_vector tsvector GENERATED ALWAYS AS (
           array_to_tsvector(string_to_array(btrim(search_key), ' '))
       ) STORED""",
    "CREATE INDEX material_words ON materials_material USING gin (search_vector)",
    "CREATE INDEX material_tags ON materials_material USING gin (tags jsonb_path_ops)",
]
_BACKWARDS = [
    "DROP INDEX material_tags",
    "ALTER TABLE materials_material DROP COLUMN search_vector",
]


def write_keys(apps, schema_editor):
    materials = apps.get_model("materials", "Material").objects.using(schema_editor.connection.alias)
    for material in materials.order_by("pk").iterator(chunk_size=500):
        texts = (
            material.material_id,
            material.title,
            *material.tags,
            material.summary,
            material.body,
        )
        materials.filter(pk=material.pk).update(search_key=key_of(texts))


def make_indexes(apps, schema_editor):
    _run(schema_editor, _FORWARDS)


def drop_indexes(apps, schema_editor):
    _run(schema_editor, _BACKWARDS)


def _run(schema_editor, statements):
    if schema_editor.connection.vendor == "postgresql":
        for statement in statements:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    dependencies = [("materials", "0004_search_and_schedules")]

    operations = [
        migrations.RunPython(write_keys, migrations.RunPython.noop),
        migrations.RunPython(make_indexes, drop_indexes),
    ]
