"""Editors at work as a person would be, before the real processes and a real broker."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from materials import actions
from materials.models import Revision, Schedule
from messaging.models import DeadLetter
from tests.browser.conftest import OpenWindow
from tests.browser.editing import (
    ARRIVAL_MS,
    journey,
    publish,
    sign_in,
    station,
    watch_arrive,
    write,
)
from tests.browser.keyboard import focused, tab_to
from tests.browser.whole_house import STUBBORN, WholeHouse
from tests.eventually import eventually
from tests.materials import makers


def test_a_material_from_the_first_word_to_the_last(desk: OpenWindow) -> None:
    page = desk()
    sign_in(page, "ada")
    write(page, "walk", title="A walk", text="Down to the *river*.", tags="rivers")

    expect(page.locator("#preview em")).to_have_text("river")
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_role("status").first).to_have_text("The draft of “A walk” is saved.")
    page.get_by_role("button", name="Save “A walk”, then publish…").click()
    expect(page.get_by_role("main")).to_contain_text("becomes revision 1")
    expect(page.get_by_role("article").locator("em")).to_have_text("river")
    page.get_by_role("button", name="Publish “A walk” as revision 1").click()
    watch_arrive(page, 1)

    page.get_by_role("link", name="Catalog", exact=True).click()
    page.get_by_role("searchbox").fill("river")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="A walk").click()
    expect(page.locator("article em")).to_have_text("river")

    page.goto("/editor/walk/edit/")
    page.get_by_label("Text", exact=True).fill("Down to the *sea*.")
    page.get_by_role("button", name="Save “A walk”, then publish…").click()
    expect(page.locator("del mark")).to_have_text("river")
    expect(page.locator("ins mark")).to_have_text("sea")
    page.get_by_role("button", name="Publish “A walk” as revision 2").click()
    watch_arrive(page, 2)
    expect(journey(page, 1)).to_contain_text("Superseded by revision 2.")
    page.get_by_role("link", name="What revision 2 changed").click()
    expect(page.locator("del mark")).to_have_text("river")
    expect(page.locator("ins mark")).to_have_text("sea")

    page.get_by_role("link", name="To the history").click()
    page.get_by_role("link", name="Withdraw…").click()
    page.get_by_label("Reason").fill("The river has moved.")
    page.get_by_role("button", name="Withdraw “A walk”").click()
    watch_arrive(page, 3)
    expect(page.locator("#revision-3")).to_contain_text("The river has moved.")
    assert (gone := page.goto("/materials/walk/")) is not None
    assert gone.status == 410
    expect(page.get_by_role("main")).not_to_contain_text("The river has moved.")

    page.goto("/editor/walk/history/")
    page.get_by_role("link", name="Restore revision 1 as the draft, after a look").click()
    page.get_by_role("button", name="Make revision 1 the draft again").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("Down to the *river*.")
    expect(page.get_by_role("status").first).to_contain_text("Revision 1 is the draft again.")


@pytest.mark.any_database
def test_of_two_editors_the_second_to_save_sees_what_changed_and_chooses(desk: OpenWindow) -> None:
    makers.draft("shared", title="Shared", body="One.\n\nTwo.")
    ada, grace = desk(), desk()
    sign_in(ada, "ada", "/editor/shared/edit/")
    sign_in(grace, "grace", "/editor/shared/edit/")
    ada.get_by_label("Text", exact=True).fill("One.\n\nTwo and a half.")
    ada.get_by_role("button", name="Save the draft of “Shared”").click()
    grace.get_by_label("Text", exact=True).fill("One.\n\nThree.")

    grace.get_by_role("button", name="Save the draft of “Shared”").click()

    expect(grace.get_by_role("alert")).to_contain_text("ada saved another draft of “Shared”")
    expect(grace.locator("del")).to_have_text("Two and a half.")
    expect(grace.locator("ins")).to_have_text("Three.")
    expect(grace.get_by_label("Text", exact=True)).to_have_value("One.\n\nThree.")
    ada.reload()
    expect(ada.get_by_label("Text", exact=True)).to_have_value("One.\n\nTwo and a half.")
    grace.get_by_label("Text", exact=True).fill("One.\n\nTwo and a half. Three.")
    grace.get_by_role("button", name="Save the draft of “Shared”").click()
    expect(grace.get_by_role("status").first).to_have_text("The draft of “Shared” is saved.")
    ada.reload()
    expect(ada.get_by_label("Text", exact=True)).to_have_value("One.\n\nTwo and a half. Three.")


@pytest.mark.any_database
def test_leaving_with_unsaved_changes_warns_and_a_double_click_is_one_event(
    desk: OpenWindow,
) -> None:
    makers.draft("careful", title="Careful")
    page = desk()
    sign_in(page, "ada", "/editor/careful/edit/")
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_label("Text", exact=True).press_sequentially("More. ")

    page.get_by_role("link", name="Back to the list").click(no_wait_after=True)
    expect(page.get_by_label("Text", exact=True)).to_have_value(re.compile("More. "))
    page.get_by_role("button", name="Save “Careful”, then publish…").click()
    page.get_by_role("button", name="Publish “Careful” as revision 1").dblclick()
    watch_arrive(page, 1)

    assert asked == ["beforeunload"]
    assert Revision.objects.filter(material="careful").count() == 1


@pytest.mark.any_database
def test_two_hundred_are_published_with_progress_and_a_result_for_each(desk: OpenWindow) -> None:
    for number in range(200):
        makers.draft(f"bulk-{number:03}", title=f"Bulk {number}")
    page = desk()
    sign_in(page, "ada", "/editor/?q=bulk&state=draft")
    page.get_by_label("all 200 that are found").check()
    page.get_by_role("button", name="Publish the ticked…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Publish 200 materials")
    actions.publish("bulk-107", actor="grace")
    page.evaluate(
        """() => {
          window.seen = [];
          new MutationObserver(() => {
            const progress = document.querySelector("progress");
            if (progress) seen.push(progress.value);
          }).observe(document.body, { childList: true, subtree: true });
        }"""
    )

    page.route("**/editor/bulk/", cut_off_at("before=175"))
    page.get_by_role("button", name="Publish 200 materials").dblclick()

    failed = page.get_by_role("alert").filter(has_text="The server did not answer.")
    expect(failed).to_be_visible(timeout=ARRIVAL_MS)
    assert set(page.evaluate("seen")) == set(range(25, 200, 25))
    # What asked has given way, and who does not see begins at the heading.
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("button", name="Publish 200 materials")).to_have_count(0)
    results = page.locator(".results li")
    expect(results).to_have_count(175)
    expect(results.filter(has_text="published as revision 1")).to_have_count(174)
    expect(results.filter(has_text="bulk-107")).to_contain_text("is published as it stands")
    page.unroute_all()
    failed.get_by_role("button", name="Go on with the rest").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Published: 199 of 200")
    expect(results).to_have_count(25)
    results.last.get_by_role("link").click()
    watch_arrive(page, 1)
    assert Revision.objects.filter(material__material_id__startswith="bulk-").count() == 200


def cut_off_at(place: str) -> Callable[[Route], None]:
    """The network fails for the request that says so."""

    def pass_on(route: Route) -> None:
        if place in (route.request.post_data or ""):
            route.abort()
        else:
            route.continue_()

    return pass_on


@pytest.mark.any_database
def test_what_is_planned_happens_at_its_second_and_what_is_cancelled_does_not(
    desk: OpenWindow,
) -> None:
    makers.draft("planned", title="Planned")
    makers.draft("dropped", title="Dropped")
    page = desk(zone="Asia/Tokyo")
    sign_in(page, "ada")
    plan(page, "Dropped", timedelta(hours=1))
    page.goto("/editor/?state=scheduled")
    page.get_by_role("button", name="Cancel the time for “Dropped”").click()
    expect(page.get_by_role("status").first).to_contain_text("is cancelled")
    Schedule.objects.filter(material="dropped").update(due_at=timezone.now())

    plan(page, "Planned", timedelta(hours=1))
    page.goto("/editor/?state=scheduled")
    page.get_by_role("link", name="Change the time for “Planned”").click()
    soon = plan(page, "Planned", timedelta(seconds=4), button="Change the time for “Planned”")
    expect(page.get_by_role("status").first).to_contain_text(f"{soon:%H:%M:%S} Asia/Tokyo")
    published = eventually(
        lambda: Revision.objects.filter(material="planned").first(), ARRIVAL_MS / 1000
    )

    assert published.happened_at >= soon
    page.reload()
    watch_arrive(page, 1)
    assert not Revision.objects.filter(material="dropped").exists()


def plan(page: Page, title: str, lead: timedelta, *, button: str = "") -> datetime:
    """Set the time of publishing, so far from now; further where the page came too late."""
    page.goto(f"/editor/{title.lower()}/schedule/?act=publish")
    while True:
        moment = (timezone.now() + lead).astimezone(ZoneInfo("Asia/Tokyo"))
        expect(page.get_by_label("Time zone")).to_have_value("Asia/Tokyo")
        page.get_by_label("When").fill(f"{moment:%Y-%m-%dT%H:%M:%S}")
        page.get_by_role("button", name=button or f"Publish “{title}” at that time").click()
        page.wait_for_load_state()
        if not page.get_by_text("That moment has passed").is_visible():
            return moment.replace(microsecond=0)
        lead *= 2


@pytest.mark.any_database
def test_an_open_timeline_says_what_waits_for_what_and_settles_by_itself(
    desk: OpenWindow, house: WholeHouse
) -> None:
    page = desk()
    sign_in(page, "ada")

    with house.without("catalog"):
        publish(page, "patient", title="Patient")
        catalog, sent = station(page, 1, "Catalog"), station(page, 1, "Sent")
        expect(catalog).to_contain_text(
            "Waits in the queue: its consumer is not connected.", timeout=ARRIVAL_MS
        )
        expect(station(page, 1, "Audit")).to_contain_class("settled")
    watch_arrive(page, 1)

    with house.without_broker():
        publish(page, "cut-off", title="Cut off")
        expect(sent).to_contain_text(
            "The broker does not answer. It will be sent as soon as it does.", timeout=ARRIVAL_MS
        )
        expect(catalog).to_contain_text("not yet")
    watch_arrive(page, 1)

    with house.paused("catalog", reason="Inventory"):
        publish(page, "held", title="Held")
        line = page.get_by_text("Delivery to “catalog” is paused")
        expect(line).to_be_visible()
        expect(catalog).to_contain_text("Paused by an operator: Inventory", timeout=ARRIVAL_MS)
    watch_arrive(page, 1)
    expect(line).to_have_count(0)


@pytest.mark.any_database
def test_what_fails_for_a_time_tells_each_attempt_and_in_the_end_the_way_to_the_letter(
    desk: OpenWindow,
) -> None:
    page, operator = desk(), desk()
    sign_in(page, "ada")
    publish(page, STUBBORN, title="Stubborn")
    catalog = station(page, 1, "Catalog")

    expect(catalog).to_contain_text(
        re.compile(r"Attempt [234] of 4 about \d\d:\d\d:\d\d"), timeout=ARRIVAL_MS
    )
    expect(catalog).to_contain_text("It could not be handled. It waits", timeout=ARRIVAL_MS)
    expect(station(page, 1, "Audit")).to_contain_class("settled")
    expect(catalog.get_by_role("link")).to_have_count(0)
    eventually(lambda: DeadLetter.objects.filter(material_id=STUBBORN).exists())
    sign_in(operator, "olga", f"/editor/{STUBBORN}/history/")
    station(operator, 1, "Catalog").get_by_role("link", name="Dead letter").click()
    expect(operator.get_by_role("main")).to_contain_text("SimulatedTransientError")


@pytest.mark.any_database
def test_the_keyboard_alone_writes_publishes_and_watches(desk: OpenWindow) -> None:
    page = desk()
    sign_in(page, "ada")
    keys = page.keyboard

    keys.press("n")
    page.wait_for_url("**/editor/new/")
    for name, text in {"material_id": "keys", "title": "Keys", "body": "Tab, *tab*."}.items():
        tab_to(page, name)
        keys.type(text)
    tab_to(page, "Save, then publish…")
    keys.press("Enter")
    page.wait_for_url("**/editor/keys/publish/")
    tab_to(page, "Publish “Keys” as revision 1")
    keys.press("Enter")
    page.wait_for_url("**/editor/keys/history/")
    watch_arrive(page, 1)
    keys.press("?")
    assert focused(page) == "Keyboard"
    keys.press("g")
    keys.press("l")
    page.wait_for_url("**/editor/")
    keys.press("/")
    assert focused(page) == "q"
    keys.type("keys")
    keys.press("Enter")
    expect(page.get_by_role("row").filter(has_text="Keys")).to_contain_text("in the catalog")


@pytest.mark.any_database
def test_without_javascript_in_russian_on_a_phone_in_the_dark(desk: OpenWindow) -> None:
    page = desk(javascript=False, language="ru-RU", width=360, dark=True)
    page.on("load", lambda _: assert_fits(page))
    sign_in(page, "ada")
    page.get_by_role("link", name="Написать новый материал").click()
    page.get_by_label("Идентификатор").fill("plain")
    page.get_by_label("Заголовок").fill("Просто")
    page.get_by_label("Текст").fill("Без *скриптов*.")

    page.get_by_role("button", name="Предпросмотр").click()
    expect(page.locator("#preview em")).to_have_text("скриптов")
    page.get_by_role("button", name="Сохранить и опубликовать…").click()
    page.get_by_role("button", name="Опубликовать «Просто» как редакцию 1").click()
    expect(page.get_by_role("status")).to_contain_text("Просто")
    look_again_until(page, revision=1)
    page.get_by_role("link", name="как видят читатели").click()
    expect(page.locator("article em")).to_have_text("скриптов")

    page.goto("/editor/plain/edit/")
    page.get_by_label("Текст").fill("Без *форм*.")
    page.get_by_role("button", name="Сохранить «Просто» и опубликовать…").click()
    expect(page.locator("ins mark")).to_have_text("форм")
    page.get_by_role("button", name="Опубликовать «Просто» как редакцию 2").click()
    page.get_by_role("link", name="Отозвать…").click()
    page.get_by_label("Причина").fill("Проба окончена.")
    page.get_by_role("button", name="Отозвать «Просто»").click()
    look_again_until(page, revision=3)
    assert (gone := page.goto("/materials/plain/")) is not None
    assert gone.status == 410
    page.goto("/editor/plain/compare/?old=draft&new=1")
    page.get_by_role("button", name="Сделать редакцию 1 снова черновиком").click()
    expect(page.get_by_label("Текст")).to_have_value("Без *скриптов*.")


def look_again_until(page: Page, *, revision: int) -> None:
    """Follow the link that stands for the script, until the revision has arrived everywhere."""

    def settled() -> bool:
        page.get_by_role("link", name="посмотреть ещё раз").click()
        page.wait_for_load_state()
        return journey(page, revision).locator(".station.settled").count() == 4

    eventually(settled, ARRIVAL_MS / 1000, what=f"revision {revision} everywhere")


def assert_fits(page: Page) -> None:
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, page.url
