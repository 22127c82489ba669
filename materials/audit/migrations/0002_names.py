"""Names of columns for the admin, to be translated; changes nothing in the database."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0001_initial'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='auditrecord',
            options={'ordering': ['id'], 'verbose_name': 'audit record', 'verbose_name_plural': 'audit records'},
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='actor',
            field=models.CharField(blank=True, help_text='Empty: not said.', max_length=150, verbose_name='actor'),
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='event_id',
            field=models.UUIDField(unique=True, verbose_name='event'),
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='material_id',
            field=models.CharField(max_length=64, verbose_name='material'),
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='occurred_at',
            field=models.DateTimeField(verbose_name='occurred'),
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='received_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text="By the database's clock.", verbose_name='received'),
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='revision',
            field=models.BigIntegerField(verbose_name='revision'),
        ),
        migrations.AlterField(
            model_name='auditrecord',
            name='type',
            field=models.CharField(max_length=100, verbose_name='type'),
        ),
    ]
