"""Counting for the status disturbs nobody, and nobody disturbs it."""

import sqlite3

import pytest
from django.db import connection

from messaging import registry
from messaging.handling import inbox
from messaging.operating.tallies import count_receipts
from tests.messaging.facts import published


@pytest.mark.django_db(transaction=True)
def test_receipts_are_counted_while_somebody_else_writes() -> None:
    inbox.handle(registry.consumer("catalog"), [published()])
    if connection.vendor == "sqlite":
        writer = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
    try:
        counts = count_receipts(limit_seconds=5)
    finally:
        if connection.vendor == "sqlite":
            writer.close()

    assert (counts["catalog"].applied, counts["audit"].applied) == (1, 0)
