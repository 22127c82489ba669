"""A plan that failed is shown until somebody has noted it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("materials", "0009_changed_by_state")]

    operations = [
        migrations.AddField(
            model_name="schedule",
            name="noted_by",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Who has seen that it failed, by name.",
                max_length=150,
            ),
        ),
    ]
