"""What has to stand in a database when a consumer has handled each of these facts once."""

from collections.abc import Sequence

from bench.database import Database
from bench.facts import Fact, newest_revisions
from bench.report import Report


def settle_consumer(
    report: Report, database: Database, consumer: str, facts: Sequence[Fact]
) -> None:
    """One receipt an event and no other, and the projection that follows from them."""
    rows = database.rows(
        "SELECT event_id FROM messaging_inboxreceipt WHERE consumer = %s", consumer
    )
    _expect_each_once(report, f"receipts of {consumer}", [row[0] for row in rows], facts)
    if consumer == "catalog":
        shown = dict(database.rows("SELECT material_id, revision FROM catalog_entry"))
        report.account(
            "catalogs that show the newest revision of every material",
            found="each" if shown == newest_revisions(facts) else "not this one",
            expected="each",
        )
    else:
        rows = database.rows("SELECT event_id FROM audit_record")
        _expect_each_once(report, "audit records", [row[0] for row in rows], facts)


def _expect_each_once(
    report: Report, what: str, found: Sequence[object], facts: Sequence[Fact]
) -> None:
    report.account(f"{what} of each run", found=len(found), expected=len(facts))
    ids = {str(event_id).replace("-", "") for event_id in found}
    if ids != {fact.event_id.replace("-", "") for fact in facts}:
        report.account(what, found="other events", expected="those that were sent")
