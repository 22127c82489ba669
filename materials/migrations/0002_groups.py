"""The groups Editors and Operators, with the rights that there are so far."""

from django.db import migrations

from materials.rights import grant

EDITORS = [
    "materials.add_material",
    "materials.change_material",
    "materials.view_material",
    "materials.publish_material",
    "materials.withdraw_material",
    "materials.view_revision",
]
OPERATORS = [
    "materials.view_material",
    "materials.view_revision",
    "messaging.view_outboxmessage",
    "messaging.retry_outboxmessage",
    "messaging.view_relaylease",
    "messaging.view_inboxreceipt",
    "messaging.view_failedattempt",
    "catalog.view_catalogentry",
    "audit.view_auditrecord",
]


def make_groups(apps, schema_editor):
    using = schema_editor.connection.alias
    grant(apps, group="Editors", rights=EDITORS, using=using)
    grant(apps, group="Operators", rights=OPERATORS, using=using)


class Migration(migrations.Migration):
    dependencies = [
        ("materials", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
