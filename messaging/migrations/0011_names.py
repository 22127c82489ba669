"""Names of columns for the admin, to be translated; changes nothing in the database."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('messaging', '0010_failed_material'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='deadletter',
            name='consumer',
            field=models.CharField(max_length=64, verbose_name='consumer'),
        ),
        migrations.AlterField(
            model_name='deadletter',
            name='place',
            field=models.CharField(blank=True, help_text='The innermost frame of our own in the traceback, or what could not be read.', max_length=200),
        ),
        migrations.AlterField(
            model_name='failedattempt',
            name='counted',
            field=models.BooleanField(default=True, help_text='False once a redrive has started a new budget.', verbose_name='counted'),
        ),
        migrations.AlterField(
            model_name='inboxreceipt',
            name='names_revision',
            field=models.BooleanField(default=True, help_text='False on a second eventId for one material and revision.', verbose_name='first for its revision'),
        ),
        migrations.AlterField(
            model_name='operatordecision',
            name='action',
            field=models.CharField(choices=[('requeue', 'Requeue'), ('correct', 'Correct'), ('discard', 'Discard'), ('restore', 'Restore'), ('view_payload', 'View payload'), ('retry_outbox', 'Retry outbox'), ('pause', 'Pause'), ('resume', 'Resume'), ('begin_batch', 'Begin large action'), ('cancel_batch', 'Cancel large action'), ('resolved', 'Resolved'), ('died_again', 'Died again')], max_length=32, verbose_name='action'),
        ),
        migrations.AlterField(
            model_name='operatordecision',
            name='batch',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='decisions', to='messaging.operatorbatch', verbose_name='large action'),
        ),
        migrations.AlterField(
            model_name='operatordecision',
            name='letter',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='messaging.deadletter', verbose_name='letter'),
        ),
        migrations.AlterField(
            model_name='operatordecision',
            name='note',
            field=models.TextField(blank=True, verbose_name='why'),
        ),
        migrations.AlterField(
            model_name='operatordecision',
            name='operator',
            field=models.CharField(help_text='The name at that time; “delivery” for what nobody decided.', max_length=150, verbose_name='operator'),
        ),
        migrations.AlterField(
            model_name='operatordecision',
            name='user',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL, verbose_name='account'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='bulk',
            field=models.BooleanField(db_default=False, default=False, help_text='Part of a large action: goes after what somebody waits for.', verbose_name='one of many'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='consumer',
            field=models.CharField(blank=True, help_text='Redrive to this consumer alone; empty means all.', max_length=64, verbose_name='consumer'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='due_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='due at'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='event_id',
            field=models.UUIDField(blank=True, null=True, verbose_name='event'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='letter',
            field=models.ForeignKey(blank=True, help_text='The dead letter that is sent again.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='redrives', to='messaging.deadletter', verbose_name='letter'),
        ),
        migrations.AlterField(
            model_name='outboxmessage',
            name='message_id',
            field=models.CharField(blank=True, help_text='Sent where there is no event id.', max_length=255, verbose_name='message'),
        ),
    ]
