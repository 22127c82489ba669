"""A plan keeps the version of the draft that its planner saw."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("materials", "0007_list_indexes")]

    operations = [
        migrations.AddField(
            model_name="schedule",
            name="version",
            field=models.PositiveBigIntegerField(
                default=0,
                help_text="The draft's version that the planner saw; 0 where it was not kept.",
            ),
        ),
    ]
