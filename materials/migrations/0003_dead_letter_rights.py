"""Operators look into dead letters, requeue and discard them, and pause delivery.

Correcting one writes a fact's body anew: an administrator gives that right to whom it suits.
"""

from django.db import migrations

from materials.rights import grant

OPERATORS = [
    "messaging.view_deadletter",
    "messaging.view_payload",
    "messaging.view_operatordecision",
    "messaging.view_operatorbatch",
    "messaging.requeue_deadletter",
    "messaging.discard_deadletter",
    "messaging.pause_delivery",
]


def grant_rights(apps, schema_editor):
    grant(apps, group="Operators", rights=OPERATORS, using=schema_editor.connection.alias)


class Migration(migrations.Migration):
    dependencies = [("materials", "0002_groups")]

    operations = [migrations.RunPython(grant_rights, migrations.RunPython.noop)]
