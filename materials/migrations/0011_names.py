"""Names of columns for the admin, to be translated; changes nothing in the database."""

import django.core.validators
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('materials', '0010_noted_failures'),
    ]

    operations = [
        migrations.AlterField(
            model_name='material',
            name='body',
            field=models.TextField(blank=True, verbose_name='body'),
        ),
        migrations.AlterField(
            model_name='material',
            name='created_at',
            field=models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at'),
        ),
        migrations.AlterField(
            model_name='material',
            name='created_by',
            field=models.CharField(max_length=150, verbose_name='created by'),
        ),
        migrations.AlterField(
            model_name='material',
            name='differs',
            field=models.BooleanField(default=True, help_text='The draft is not what was last published.', verbose_name='differs'),
        ),
        migrations.AlterField(
            model_name='material',
            name='language',
            field=models.CharField(blank=True, max_length=35, verbose_name='language'),
        ),
        migrations.AlterField(
            model_name='material',
            name='material_id',
            field=models.CharField(max_length=64, unique=True, validators=[django.core.validators.RegexValidator('\\A[a-z0-9][a-z0-9._-]{0,63}\\Z', 'Use 1 to 64 characters: small Latin letters, digits, “.”, “_” and “-”, the first one a letter or a digit.')], verbose_name='material'),
        ),
        migrations.AlterField(
            model_name='material',
            name='revision',
            field=models.BigIntegerField(default=0, help_text='Number of the last fact; 0 for none.', verbose_name='revision'),
        ),
        migrations.AlterField(
            model_name='material',
            name='state',
            field=models.CharField(choices=[('draft', 'draft'), ('published', 'published'), ('withdrawn', 'withdrawn')], default='draft', max_length=9, verbose_name='state'),
        ),
        migrations.AlterField(
            model_name='material',
            name='summary',
            field=models.CharField(blank=True, max_length=500, verbose_name='summary'),
        ),
        migrations.AlterField(
            model_name='material',
            name='tags',
            field=models.JSONField(blank=True, default=list, verbose_name='tags'),
        ),
        migrations.AlterField(
            model_name='material',
            name='title',
            field=models.CharField(max_length=200, verbose_name='title'),
        ),
        migrations.AlterField(
            model_name='material',
            name='updated_at',
            field=models.DateTimeField(default=django.utils.timezone.now, verbose_name='changed at'),
        ),
        migrations.AlterField(
            model_name='material',
            name='updated_by',
            field=models.CharField(max_length=150, verbose_name='changed by'),
        ),
        migrations.AlterField(
            model_name='material',
            name='version',
            field=models.PositiveBigIntegerField(default=1, help_text='Grows with every change of the draft.', verbose_name='version'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='actor',
            field=models.CharField(help_text='Who did it, by name, for ever.', max_length=150, verbose_name='actor'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='body',
            field=models.TextField(blank=True, verbose_name='body'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='event_id',
            field=models.UUIDField(unique=True, verbose_name='event'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='happened_at',
            field=models.DateTimeField(verbose_name='happened at'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='kind',
            field=models.CharField(choices=[('published', 'published'), ('withdrawn', 'withdrawn')], max_length=9, verbose_name='kind'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='language',
            field=models.CharField(blank=True, max_length=35, verbose_name='language'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='number',
            field=models.BigIntegerField(verbose_name='number'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='reason',
            field=models.CharField(blank=True, max_length=500, verbose_name='reason'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='summary',
            field=models.CharField(blank=True, max_length=500, verbose_name='summary'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='tags',
            field=models.JSONField(blank=True, default=list, verbose_name='tags'),
        ),
        migrations.AlterField(
            model_name='revision',
            name='title',
            field=models.CharField(blank=True, max_length=200, verbose_name='title'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='act',
            field=models.CharField(choices=[('publish', 'publish'), ('withdraw', 'withdraw')], max_length=8, verbose_name='act'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='actor',
            field=models.CharField(help_text='Who planned it, by name, for ever.', max_length=150, verbose_name='actor'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='created_at',
            field=models.DateTimeField(default=django.utils.timezone.now, verbose_name='created at'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='due_at',
            field=models.DateTimeField(verbose_name='due at'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='noted_by',
            field=models.CharField(blank=True, db_default='', default='', help_text='Who has seen that it failed, by name.', max_length=150, verbose_name='noted by'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='reason',
            field=models.CharField(blank=True, max_length=500, verbose_name='reason'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='said',
            field=models.CharField(blank=True, help_text='Why it failed, or who cancelled it.', max_length=500, verbose_name='said of it'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='settled_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='settled at'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='state',
            field=models.CharField(choices=[('pending', 'pending'), ('done', 'done'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='pending', max_length=9, verbose_name='state'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='version',
            field=models.PositiveBigIntegerField(default=0, help_text="The draft's version that the planner saw; 0 where it was not kept.", verbose_name='version'),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='zone',
            field=models.CharField(help_text='The time zone in which it was set.', max_length=64, verbose_name='time zone'),
        ),
    ]
