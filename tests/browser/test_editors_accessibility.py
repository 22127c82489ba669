"""The editors' pages for everybody: axe-core, wide and narrow, by day and by night."""

from collections.abc import Callable

import pytest
from django.template.loader import get_template
from playwright.sync_api import Page, expect

from dev import newsroom
from tests.browser import axe
from tests.browser.conftest import OpenWindow

pytestmark = pytest.mark.any_database

# Pages that have an address of their own, for an editor.
PAGES = {
    "/editor/": 200,
    "/editor/?q=nothing-of-that-name": 200,
    "/editor/new/": 200,
    f"/editor/{newsroom.EDITED}/edit/": 200,
    f"/editor/{newsroom.EDITED}/history/": 200,
    f"/editor/{newsroom.WAITING}/history/": 200,
    f"/editor/{newsroom.RETRYING}/history/": 200,
    f"/editor/{newsroom.DEAD}/history/": 200,
    f"/editor/{newsroom.WITHDRAWN}/history/": 200,
    f"/editor/{newsroom.PLANNED}/history/": 200,
    f"/editor/{newsroom.EDITED}/compare/?old=1&new=3": 200,
    f"/editor/{newsroom.EDITED}/compare/?old=draft&new=1": 200,
    f"/editor/{newsroom.CHANGED}/publish/": 200,
    f"/editor/{newsroom.EDITED}/publish/": 200,
    f"/editor/{newsroom.EDITED}/withdraw/": 200,
    f"/editor/{newsroom.DRAFT}/withdraw/": 200,
    f"/editor/{newsroom.PLANNED}/schedule/": 200,
    f"/editor/{newsroom.EDITED}/schedule/?act=withdraw": 200,
    "/editor/article-999/history/": 404,
    f"/materials/{newsroom.WITHDRAWN}/": 410,
}


def sign_in(page: Page, name: str) -> None:
    page.goto("/accounts/login/")
    page.locator("#id_username").fill(name)
    page.locator("#id_password").fill(newsroom.PASSWORD)
    page.locator("main").get_by_role("button").click()
    page.wait_for_url("**/editor/")


def test_axe_finds_nothing_on_any_editors_page(seat: OpenWindow) -> None:
    page = seat()
    sign_in(page, "ada")

    found = []
    for path, status in PAGES.items():
        response = page.goto(path)
        assert response is not None
        assert response.status == status, path
        found += axe.faults_everywhere(page)

    assert found == []


def test_axe_finds_nothing_on_what_a_form_leads_to(seat: OpenWindow) -> None:
    page = seat()
    sign_in(page, "ada")

    found = []
    for go in (
        refused_draft,
        two_drafts,
        refused_time,
        refused_reason,
        many_to_publish,
        results_of_many,
        nothing_ticked,
        lost_token,
        ended_session,
        signed_in_again,
        signed_in_elsewhere,
        refused_password,
    ):
        go(page)
        found += axe.faults_everywhere(page)

    assert found == []


def test_the_longest_words_break_on_a_narrow_screen(seat: OpenWindow) -> None:
    page = seat(width=360)
    sign_in(page, "ada")
    page.goto("/editor/new/")
    for name, text in {
        "material_id": "x" * 64,
        "title": "Donau" + "dampfschifffahrts" * 11,
        "summary": "kapitän" * 70,
        "body": f"`{'w' * 300}`\n\n| a | b |\n|---|---|\n| long | {'w' * 200} |",
        "tags": "w" * 50,
    }.items():
        page.locator(f"[name={name}]").fill(text)
    expect(page.locator("#preview table")).to_be_visible()
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_role("status").first).to_be_visible()

    for path in (
        *(
            "edit/",
            "publish/",
            "schedule/",
            "schedule/?act=withdraw",
            "history/",
            "compare/",
            "../",
        ),
    ):
        page.goto(f"/editor/{'x' * 64}/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.url

    for width in (740, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto("/editor/")
        table, line = page.locator("table").bounding_box(), page.locator(".heading").bounding_box()
        assert table is not None
        assert line is not None
        assert table["width"] <= line["width"], width
    page.goto(f"/editor/{'x' * 64}/edit/")
    acts = page.locator(".fields > .acts").locator("button, a").filter(visible=True).all()
    # One line: the title is cut short for the eye alone.
    boxes = [box for act in acts if (box := act.bounding_box())]
    assert len({round((box["y"] + box["height"] / 2) / 10) for box in boxes}) == 1
    expect(acts[1]).to_have_accessible_name(
        f"Save “Donau{'dampfschifffahrts' * 11}”, then publish…"
    )


def test_what_is_written_from_the_right_stands_there_and_its_code_at_the_left(
    seat: OpenWindow,
) -> None:
    page = seat()
    sign_in(page, "ada")
    page.goto("/editor/new/")
    page.get_by_label("Title", exact=True).fill("תורים שסולחים")
    page.get_by_label("Text", exact=True).fill("זהו טקסט\n\n```\ncode here\n```")

    code = page.locator("#preview pre")
    expect(code).to_have_css("direction", "ltr")
    expect(code).to_have_css("text-align", "left")
    expect(page.locator("#preview .as-read-title")).to_have_css("direction", "rtl")
    expect(page.get_by_label("Title", exact=True)).to_have_css("direction", "rtl")


def test_axe_finds_nothing_on_pages_that_tell_of_an_error(seat: OpenWindow) -> None:
    page = seat()
    sign_in(page, "edgar")
    page.goto(f"/editor/{newsroom.CHANGED}/publish/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not yours to open")

    found = axe.faults_everywhere(page)
    for status in (400, 500, 503):
        # Nothing on a healthy site leads there.
        body = get_template(f"{status}.html").render()
        page.route("**/broken/", answer(status, body))
        page.goto("/broken/")
        found += axe.faults_everywhere(page)

    assert found == []


def answer(status: int, body: str) -> Callable[..., None]:
    return lambda route: route.fulfill(status=status, content_type="text/html", body=body)


def refused_draft(page: Page) -> None:
    page.goto(f"/editor/{newsroom.DRAFT}/edit/")
    page.get_by_label("Title", exact=True).fill("")
    page.get_by_label("Language").fill("no language")
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved.")


def two_drafts(page: Page) -> None:
    page.goto(f"/editor/{newsroom.DRAFT}/edit/")
    page.locator("[name=version]").evaluate("field => { field.value = '0' }")
    page.get_by_label("Text", exact=True).fill("Mine.")
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was overwritten")
    page.get_by_text("Both whole, side by side").click()


def refused_time(page: Page) -> None:
    page.goto(f"/editor/{newsroom.CHANGED}/schedule/?act=publish")
    page.get_by_label("When").fill("2020-01-01T12:00:00")
    page.get_by_role("button", name="Publish “").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved.")


def refused_reason(page: Page) -> None:
    page.goto(f"/editor/{newsroom.EDITED}/withdraw/")
    page.get_by_label("Reason").fill("x" * 501)
    page.get_by_role("button", name="Withdraw “").click()
    expect(page.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")


def many_to_publish(page: Page) -> None:
    page.goto("/editor/")
    page.get_by_label("tick all on this page").check()
    page.get_by_role("button", name="Publish the ticked…").click()
    expect(page.get_by_text("Each draft becomes the next revision")).to_be_visible()


def results_of_many(page: Page) -> None:
    page.get_by_role("main").get_by_role("button").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Published: ")


def nothing_ticked(page: Page) -> None:
    page.goto("/editor/")
    page.get_by_role("button", name="Withdraw the ticked…").click()
    expect(page.get_by_text("Nothing was ticked.")).to_be_visible()


def lost_token(page: Page) -> None:
    page.goto(f"/editor/{newsroom.WITHDRAWN}/publish/")
    page.context.clear_cookies(name="csrftoken")
    page.get_by_role("button", name="Publish “").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Please send it again")


def ended_session(page: Page) -> None:
    page.goto(f"/editor/{newsroom.DRAFT}/edit/")
    page.context.clear_cookies(name="sessionid")
    page.get_by_label("Summary").fill("Typed after the end.")
    expect(page.locator("#preview")).to_contain_text("sign in in another tab, then save here")
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Nothing was saved: you are signed out"
    )


def signed_in_again(page: Page) -> None:
    page.locator("#id_username").fill("grace")
    page.locator("#id_password").fill(newsroom.PASSWORD)
    page.locator("main").get_by_role("button").click()
    expect(page.get_by_role("status").first).to_contain_text(
        "ada opened this form, and you are signed in as grace."
    )
    expect(page.get_by_label("Summary")).to_have_value("Typed after the end.")


def signed_in_elsewhere(page: Page) -> None:
    page.context.clear_cookies(name="sessionid")
    other = page.context.new_page()
    sign_in(other, "grace")
    other.close()
    page.get_by_label("Summary").fill("Typed in the old tab.")
    expect(page.locator("#preview .lead")).to_have_text("Typed in the old tab.")
    page.get_by_role("button", name="Save the draft").click()
    expect(page.get_by_role("status").first).to_contain_text("is saved.")


def refused_password(page: Page) -> None:
    page.context.clear_cookies()
    page.goto("/accounts/login/")
    page.locator("#id_username").fill("ada")
    page.locator("#id_password").fill("wrong")
    page.locator("main").get_by_role("button").click()
    expect(page.get_by_role("alert")).to_be_visible()
