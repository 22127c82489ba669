"""Names of columns for the admin, to be translated; changes nothing in the database."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0006_withdrawn'),
    ]

    operations = [
        migrations.AlterField(
            model_name='catalogentry',
            name='applied_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text="By the database's clock.", verbose_name='applied'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='event_id',
            field=models.UUIDField(help_text='The fact that this state comes from.', verbose_name='event'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='language',
            field=models.TextField(blank=True, help_text='BCP 47; empty: not said.', verbose_name='language'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='material_id',
            field=models.CharField(max_length=64, primary_key=True, serialize=False, verbose_name='material'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='published_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='published'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='replaced_revision',
            field=models.BigIntegerField(default=0, help_text='The revision that stood here before; 0 when there was none.', verbose_name='replaced revision'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='revision',
            field=models.BigIntegerField(verbose_name='revision'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='summary',
            field=models.CharField(blank=True, max_length=500, verbose_name='summary'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='tags',
            field=models.JSONField(blank=True, default=list, verbose_name='tags'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='title',
            field=models.CharField(blank=True, max_length=200, verbose_name='title'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='visible',
            field=models.BooleanField(verbose_name='visible'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='withdrawn_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='withdrawn'),
        ),
        migrations.AlterField(
            model_name='catalogentry',
            name='withdrawn_reason',
            field=models.CharField(blank=True, max_length=500, verbose_name='reason'),
        ),
    ]
