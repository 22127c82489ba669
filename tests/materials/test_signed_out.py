"""What somebody typed whose session has ended: kept, shown again, and saved by nobody unasked."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from materials import actions
from materials.models import Material, Schedule
from tests.materials.makers import draft, facts, person, published
from tests.materials.test_editor_pages import EVERYTHING, form, text_of

pytestmark = pytest.mark.django_db

EDIT = "/editor/article-107/edit/"
PASSWORD = "a door of glass"


@pytest.fixture(autouse=True)
def people() -> None:
    for name, rights in (("ada", EVERYTHING), ("grace", EVERYTHING), ("olga", ("view",))):
        user = person(*rights, username=name)
        user.set_password(PASSWORD)
        user.save()


@pytest.fixture
def browser() -> Client:
    """With the check of tokens, as a browser finds it."""
    return Client(enforce_csrf_checks=True)


def fields_in(response: Any) -> dict[str, str]:
    """The hidden fields of the page's main form, as a browser would send them."""
    main = response.content.decode().partition("<main")[2]
    pairs = re.findall(r'<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?', main)
    return {name: value.replace("&amp;", "&").replace("&quot;", '"') for name, value in pairs}


def sign_in(browser: Client, name: str) -> None:
    page = browser.get("/accounts/login/")
    fields = fields_in(page) | {"username": name, "password": PASSWORD}
    assert browser.post("/accounts/login/", fields).status_code == 302


def typed_by_ada_and_signed_out(browser: Client) -> Any:
    """What the browser gets that saves after its session has ended."""
    sign_in(browser, "ada")
    page = fields_in(browser.get(EDIT))
    del browser.cookies["sessionid"]
    sent = page | {"title": "Typed", "summary": 'for "hours" & more', "body": "Text.\r\nMore."}
    return browser.post(EDIT, sent | {"language": "en", "tags": "one\r\ntwo"})


def test_the_text_survives_the_sign_in_and_is_saved_with_one_more_click(browser: Client) -> None:
    draft()

    asked = typed_by_ada_and_signed_out(browser)
    assert asked.status_code == 403
    assert "Nothing was saved: you are signed out" in text_of(asked)
    wrong = browser.post(EDIT, fields_in(asked) | {"username": "ada", "password": "wrong"})
    assert "do not belong together" in text_of(wrong)
    shown = browser.post(EDIT, fields_in(wrong) | {"username": "ada", "password": PASSWORD})

    assert "What you typed is kept here" in text_of(shown)
    assert "data-unsaved" in shown.content.decode()
    assert "private" in shown["Cache-Control"]
    assert Material.objects.get().version == 1
    form = shown.context["form"]
    again = fields_in(shown) | {name: form[name].value() for name in form.fields}
    assert PASSWORD not in shown.content.decode()
    assert browser.post(EDIT, again).status_code == 302
    saved = Material.objects.get()
    assert (saved.title, saved.summary) == ("Typed", 'for "hours" & more')
    assert (saved.body, saved.tags) == ("Text.\nMore.", ["one", "two"])


def test_who_saved_meanwhile_is_not_overwritten(browser: Client) -> None:
    draft()
    asked = typed_by_ada_and_signed_out(browser)
    actions.edit("article-107", title="Grace's", actor="grace", version=1)
    shown = browser.post(EDIT, fields_in(asked) | {"username": "ada", "password": PASSWORD})

    form = shown.context["form"]
    again = fields_in(shown) | {name: form[name].value() for name in form.fields}
    response = browser.post(EDIT, again)

    assert response.status_code == 409
    assert "Two drafts of" in text_of(response)
    assert Material.objects.get().title == "Grace's"


def test_another_who_signs_in_is_told_whose_form_it_is(browser: Client) -> None:
    draft()
    asked = typed_by_ada_and_signed_out(browser)

    turned_away = browser.post(EDIT, fields_in(asked) | {"username": "olga", "password": PASSWORD})
    assert "olga has no right to do this" in text_of(turned_away)
    shown = browser.post(EDIT, fields_in(turned_away) | {"username": "grace", "password": PASSWORD})

    assert "ada opened this form, and you are signed in as grace" in text_of(shown)
    assert Material.objects.get().updated_by == "ada"
    assert Material.objects.get().version == 1


def test_a_form_of_another_is_not_saved_by_the_first_click(client: Client) -> None:
    material = draft()
    client.force_login(User.objects.get(username="grace"))

    response = client.post(EDIT, form(material, title="Ada's", writer="ada"))

    assert response.status_code == 409
    assert "ada opened this form" in text_of(response)
    assert Material.objects.get().version == 1
    assert client.post("/editor/new/", form(material_id="b", writer="ada")).status_code == 409
    client.post(EDIT, form(material, title="Ada's", writer="grace"))
    assert Material.objects.get().updated_by == "grace"


def test_who_signed_in_in_another_tab_finds_the_text_in_the_old_one(browser: Client) -> None:
    draft()
    sign_in(browser, "ada")
    page = fields_in(browser.get(EDIT))
    sign_in(browser, "ada")

    response = browser.post(EDIT, page | {"title": "Typed", "body": "Kept."})

    assert response.status_code == 403
    assert "What you typed is kept here" in text_of(response)
    assert ">\nKept.</textarea>" in response.content.decode()
    assert Material.objects.get().version == 1


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/editor/article-107/withdraw/", {}),
        ("/editor/article-107/schedule/", {"act": "withdraw"}),
        ("/editor/bulk/", {"act": "withdraw", "items": "article-107:1"}),
    ],
)
def test_a_reason_typed_before_another_tab_signed_in_is_kept_too(
    browser: Client, path: str, typed: dict[str, str]
) -> None:
    published()
    sign_in(browser, "ada")
    page = fields_in(browser.get(EDIT))
    sign_in(browser, "ada")

    response = browser.post(path, page | typed | {"reason": "Kept words"})
    del browser.cookies["sessionid"]
    signed_out = browser.post(path, page | typed | {"reason": "Kept words"})

    assert response.status_code == 403
    assert "Kept words" in response.content.decode()
    assert signed_out.status_code == 302
    assert len(facts()) == Material.objects.count() == 1
    assert not Schedule.objects.exists()


def test_a_form_from_another_site_is_not_shown(browser: Client) -> None:
    draft()
    sign_in(browser, "ada")

    response = browser.post(
        EDIT, {"title": "Smuggled", "body": "In."}, headers={"Origin": "https://example.org"}
    )

    assert response.status_code == 403
    assert "Smuggled" not in response.content.decode()


def test_a_name_and_password_without_the_token_sign_nobody_in(browser: Client) -> None:
    draft()

    response = browser.post(EDIT, {"title": "T", "username": "ada", "password": PASSWORD})

    assert "Nothing was saved: you are signed out" in text_of(response)
    assert "sessionid" not in browser.cookies


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/editor/new/", {"material_id": "brand-new", "title": "Kept words"}),
        ("/editor/preview/", {"material_id": "brand-new", "title": "Kept words"}),
        ("/editor/article-107/preview/", {"title": "Kept words"}),
    ],
)
def test_every_form_of_a_draft_is_kept(client: Client, path: str, typed: dict[str, str]) -> None:
    published()

    asked = client.post(path, typed)
    assert asked.status_code == 403
    shown = client.post(path, fields_in(asked) | {"username": "ada", "password": PASSWORD})

    assert shown.status_code == 200
    assert "Kept words" in shown.content.decode()
    assert "Nothing is saved yet" in text_of(shown)
    assert len(facts()) == Material.objects.count() == 1


def test_a_live_preview_says_what_to_do(client: Client) -> None:
    draft()

    response = client.post(
        "/editor/article-107/preview/", form(title="T"), headers={"HX-Request": "true"}
    )

    assert response.status_code == 401
    assert "sign in in another tab, then save here" in text_of(response)
