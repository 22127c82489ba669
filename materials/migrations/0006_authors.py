"""The group Authors writes drafts and does not publish; Operators see what is planned."""

from django.db import migrations

from materials.rights import grant

AUTHORS = [
    "materials.add_material",
    "materials.change_material",
    "materials.view_material",
    "materials.view_revision",
]
SCHEDULES = ["materials.view_schedule"]


def grant_rights(apps, schema_editor):
    using = schema_editor.connection.alias
    grant(apps, group="Authors", rights=AUTHORS, using=using)
    grant(apps, group="Operators", rights=SCHEDULES, using=using)


class Migration(migrations.Migration):
    dependencies = [("materials", "0005_search_keys")]

    operations = [migrations.RunPython(grant_rights, migrations.RunPython.noop)]
