"""What a database lacks of the models' tables and columns, on both databases."""

import pytest
from django.db import connection, transaction

from messaging.storing import schema

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("change", "lacking"),
    [
        ("ALTER TABLE audit_record RENAME TO elsewhere", "the table audit_record"),
        (
            "ALTER TABLE audit_record RENAME COLUMN envelope TO elsewhere",
            "the column audit_record.envelope",
        ),
        ("CREATE TABLE more (id integer)", None),
        ("ALTER TABLE audit_record ADD COLUMN more integer", None),
    ],
)
def test_what_is_missing_is_named_and_what_is_there_besides_is_no_matter(
    change: str, lacking: str | None
) -> None:
    assert schema.lacks("default") is None
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(change)
            if connection.vendor == "sqlite":  # which lets a view stand without its table
                cursor.execute("CREATE VIEW a_view AS SELECT id FROM no_table")

        assert schema.lacks("default") == lacking

        transaction.set_rollback(True)
    assert schema.lacks("default") is None
