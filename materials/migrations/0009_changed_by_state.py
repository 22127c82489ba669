from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("materials", "0008_planned_versions"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="material",
            name="material_changed",
        ),
        migrations.AddIndex(
            model_name="material",
            index=models.Index(
                condition=models.Q(("differs", True)),
                fields=["state", "-updated_at", "-id"],
                name="material_changed",
            ),
        ),
    ]
