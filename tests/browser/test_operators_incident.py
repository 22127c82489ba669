"""An incident as an operator lives through it, from the first alarm to the last settled letter."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from messaging.console.deciding import MOST_IN_A_REQUEST
from messaging.models import DeadLetter, InboxReceipt
from tests.browser.axe import faults_everywhere
from tests.browser.incident import House, make_operator, operator_window, site_at_work
from tests.eventually import eventually
from tests.messaging.console_pages import LIST, QUEUES
from tests.messaging.event_bodies import as_bytes
from tests.messaging.event_bodies import published as document
from tests.messaging.facts import published
from tests.processes.harness import Run
from tests.processes.queues import Queues
from tests.processes.relaying import record

pytestmark = pytest.mark.any_database

MANY = MOST_IN_A_REQUEST + 5


@pytest.fixture(scope="module", autouse=True)
def orm_beside_the_browser() -> Iterator[None]:
    """Playwright keeps an event loop in this thread, near which Django refuses its ORM."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


def test_an_incident_from_the_first_alarm_to_the_last_settled_letter(
    run: Run, queues: Queues, chromium: Browser, tmp_path: Path
) -> None:
    make_operator()
    found: list[str] = []
    with site_at_work(run, tmp_path, failing="article-107,article-108") as site:
        break_the_catalog(queues)

        with operator_window(chromium, site.address) as page:
            see_the_alarm(page, found)
            understand_a_letter(page, found)
            settle_one(page, site)
            requeue_the_many(page, found)
            discard_the_rest(page, found)
            all_is_well(page, found)
        with operator_window(chromium, site.address, language="ru") as page:
            read_it_in_russian(page, found)

    assert found == []
    receipts = InboxReceipt.objects.filter(consumer="catalog")
    assert receipts.filter(material_id="article-107").count() == MANY
    assert receipts.filter(material_id="article-108").count() == 1


def break_the_catalog(queues: Queues) -> None:
    """Two facts on the whole way with its retries, many whose budget is spent, two unreadable."""
    record(*(published("article-108", revision) for revision in (1, 2)))
    many = [published("article-107", revision) for revision in range(1, MANY + 1)]
    for event in many:
        queues.give("catalog", event.body, headers={"attempt": 3}, message_id=event.event_id)
    queues.give("catalog", b'{"eventId": <script>alert(1)</script>', headers={"attempt": 0})
    unknown = as_bytes(document(materialId="article-109", schemaVersion=7))
    queues.give("catalog", unknown, headers={"attempt": 0})
    eventually(lambda: DeadLetter.objects.count() == MANY + 4, 60, what="all letters collected")


def see_the_alarm(page: Page, found: list[str]) -> None:
    page.goto("/admin/")
    page.get_by_role("link", name="Queues").first.click()
    alarm = page.get_by_role("region", name="What needs somebody")
    expect(alarm).to_contain_text(f"{MANY + 4} dead letters are open and wait for a decision")
    found += faults_everywhere(page)
    page.get_by_text("Pause catalog…").click()
    found += faults_everywhere(page)

    alarm.get_by_role("link", name="Decide over them").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Dead letters by failure")
    row = page.get_by_role("row").filter(has_text="SimulatedTransientError")
    expect(row).to_contain_text(str(MANY + 2))
    for other in ("MalformedEvent", "UnsupportedEvent"):
        expect(page.get_by_role("link", name=other)).to_be_visible()
    found += faults_everywhere(page)
    row.get_by_role("link", name="SimulatedTransientError").click()


def understand_a_letter(page: Page, found: list[str]) -> None:
    expect(page.get_by_text(f"{MANY + 2} letters match.")).to_be_visible()
    found += faults_everywhere(page)
    page.locator("#searchbar").fill("article-108")
    page.locator("#searchbar").press("Enter")
    expect(page.get_by_text("2 letters match.")).to_be_visible()

    page.get_by_role("link", name="material.published article-108 r2").click()

    expect(page.locator(".story")).to_contain_text("catalog tried material.published article-108")
    expect(page.locator(".story")).to_contain_text("4 times and gave up")
    expect(page.get_by_text("Would apply: nothing newer is known")).to_be_visible()
    expect(page.locator(".attempts > li")).to_have_count(4)
    found += faults_everywhere(page)
    page.get_by_role("button", name="Dry run of letter").click()
    expect(page.get_by_text("It would be applied.")).to_be_visible()
    found += faults_everywhere(page)
    page.get_by_role("link", name="Back to the letter").click()


def settle_one(page: Page, site: House) -> None:
    """The newer of two; the older is then superseded."""
    site.mend_catalog()

    page.get_by_label("Why (may be empty)").fill("the disk is back")
    page.get_by_role("button", name="Requeue letter").click()

    expect(page.get_by_text("Requeued.")).to_be_visible()
    letter = DeadLetter.objects.get(material_id="article-108", revision=2, consumer="catalog")
    eventually(lambda: letter.refresh_from_db() or letter.state == "resolved", what="the receipt")
    page.reload()
    expect(page.get_by_role("heading", name="Resolved", exact=True)).to_be_visible()
    expect(page.locator(".history")).to_contain_text("the disk is back")


def requeue_the_many(page: Page, found: list[str]) -> None:
    page.goto(f"{LIST}?reason=SimulatedTransientError&q=article-107")
    page.get_by_label("Decide over").select_option(label=f"all {MANY} that match")
    page.get_by_role("button", name="Requeue…").click()
    found += faults_everywhere(page)

    page.get_by_role("button", name=f"Requeue {MANY} letters").click()

    page.wait_for_url("**/operatorbatch/*/change/**")
    found += faults_everywhere(page)
    if page.get_by_role("link", name="Keep looking").is_visible():
        page.get_by_role("link", name="Keep looking").click()
    expect(page.locator(".sign").first).to_have_text("finished", timeout=30_000)
    expect(page.get_by_text(f"{MANY} of {MANY}")).to_be_visible()
    found += faults_everywhere(page)
    open_of_them = DeadLetter.objects.filter(material_id="article-107").exclude(state="resolved")
    eventually(lambda: not open_of_them.exists(), 30, what="all resolved")


def discard_the_rest(page: Page, found: list[str]) -> None:
    page.goto(LIST)
    row = page.get_by_role("row").filter(has_text="article-108")
    expect(row).to_contain_text("superseded")
    page.get_by_role("link", name="Discard the superseded…").click()
    page.get_by_label("Why (kept with the decision)").fill("overtaken by revision 2")
    found += faults_everywhere(page)
    page.get_by_role("button", name="Discard 1 letter").click()

    expect(page.get_by_role("row").filter(has_text="article-108")).to_have_count(0)
    for name in ("MalformedEvent", "UnsupportedEvent"):
        page.get_by_role("row").filter(has_text=name).get_by_role("checkbox").check()
    page.get_by_role("button", name="Discard…").click()
    page.get_by_role("button", name="Discard 2 letters").click()
    expect(page.get_by_role("button", name="Discard 2 letters")).to_be_visible()  # a reason first
    page.get_by_label("Why (kept with the decision)").fill("a test of the sender's")
    page.get_by_role("button", name="Discard 2 letters").click()

    expect(page.get_by_text("2 letters discarded.")).to_be_visible()


def all_is_well(page: Page, found: list[str]) -> None:
    expect(page.get_by_text("No letter is open: nothing waits for a decision.")).to_be_visible()
    found += faults_everywhere(page)
    page.get_by_role("link", name="Queues", exact=True).click()
    expect(page.get_by_text("Everything is well.")).to_be_visible()
    page.get_by_role("link", name="Decision log", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="a test of the sender's")).to_have_count(2)
    found += faults_everywhere(page)
    page.get_by_role("link", name="Large actions", exact=True).click()
    found += faults_everywhere(page)


def read_it_in_russian(page: Page, found: list[str]) -> None:
    latin = re.compile(r"\b(letters?|waiting|queues?|decided|nothing)\b", re.IGNORECASE)
    for path in (LIST, f"{LIST}?state=all", f"{LIST}failures/?state=all", QUEUES):
        page.goto(path)
        found += faults_everywhere(page)
        said = page.locator("#content").inner_text()
        found += [f"{path}: {word}" for word in latin.findall(said)]
