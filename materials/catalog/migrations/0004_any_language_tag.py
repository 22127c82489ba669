"""A language tag of any length: the wire format sets no limit."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_words")]

    operations = [
        migrations.AlterField(
            model_name="catalogentry",
            name="language",
            field=models.TextField(blank=True, help_text="BCP 47; empty: not said."),
        ),
    ]
