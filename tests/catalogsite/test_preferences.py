"""Language and light or dark: chosen in the footer, kept in cookies, by this site's forms alone."""

import re
from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db

OWN = "http://testserver"


def choose(client: Client, *, origin: str | None = OWN, **fields: str) -> Any:
    headers = {"Origin": origin} if origin is not None else {}
    return client.post("/preferences/", fields, headers=headers)


def page(client: Client, **headers: str) -> str:
    return client.get("/", headers=headers).content.decode()


def test_a_chosen_language_holds_until_another_is_chosen(client: Client) -> None:
    response = choose(client, language="ru", next="/?tag=x")

    assert (response.status_code, response["Location"]) == (302, "/?tag=x")
    assert '<html lang="ru"' in page(client, **{"Accept-Language": "en"})
    choose(client, language="en")
    assert '<html lang="en"' in page(client, **{"Accept-Language": "ru"})


def test_without_a_choice_the_browser_decides_and_then_the_setting(client: Client) -> None:
    assert '<html lang="ru"' in page(client, **{"Accept-Language": "ru-RU,ru;q=0.9"})
    assert '<html lang="en"' in page(client, **{"Accept-Language": "de"})


def test_light_or_dark_is_kept_and_forgotten(client: Client) -> None:
    assert "data-theme" not in page(client)

    choose(client, theme="dark")
    assert 'data-theme="dark"' in page(client)
    choose(client, theme="system")
    assert "data-theme" not in page(client)


@pytest.mark.parametrize(("chosen", "pressed"), [("system", [1, 0, 0]), ("dark", [0, 0, 1])])
def test_every_button_of_a_choice_tells_whether_it_is_the_chosen_one(
    client: Client, chosen: str, pressed: list[int]
) -> None:
    choose(client, language="ru")
    choose(client, theme=chosen)

    found = re.findall(r'name="(\w+)"[^>]* aria-pressed="(\w+)"', page(client))

    assert [value == "true" for name, value in found if name == "language"] == [False, True]
    assert [value == "true" for name, value in found if name == "theme"] == list(map(bool, pressed))


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_the_foot_of_a_page_names_the_zone_of_its_times(
    client: Client, settings: Any, zone: str
) -> None:
    settings.TIME_ZONE = zone

    assert f"Times are in {zone}." in page(client)


def test_an_odd_cookie_is_no_choice(client: Client) -> None:
    client.cookies["theme"] = '"><script>'

    assert "script" not in page(client)


@pytest.mark.parametrize("origin", ["http://example.org", "null", None, "http://testserver:81"])
def test_no_other_site_can_choose(client: Client, origin: str | None) -> None:
    response = choose(client, origin=origin, language="ru")

    assert response.status_code == 403
    assert not client.cookies


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://www.example.org", 302),
        ("https://a.b.example.org", 302),
        ("http://www.example.org", 403),
        ("https://example.org.evil.net", 403),
        ("https://notexample.org", 403),
        ("https://example.net:8443", 302),
        ("https://example.net", 403),
    ],
)
def test_trusted_origins_are_trusted_as_for_every_form(
    client: Client, settings: Any, origin: str, status: int
) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org", "https://example.net:8443"]

    assert choose(client, origin=origin, theme="dark").status_code == status


def test_a_browser_that_hides_the_origin_is_believed_about_the_site(client: Client) -> None:
    headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    response = client.post("/preferences/", {"theme": "dark"}, headers=headers)

    assert response.status_code == 302


@pytest.mark.parametrize(
    "fields", [{"language": "xx"}, {"language": "\x00"}, {"theme": "pink"}, {"theme": "\x00"}]
)
def test_what_cannot_be_chosen_is_refused(client: Client, fields: dict[str, str]) -> None:
    response = choose(client, **fields)

    assert response.status_code == 400
    assert not client.cookies


@pytest.mark.parametrize("wanted", ["//example.org", "https://example.org/", "javascript:x", ""])
def test_the_way_back_never_leaves_the_site(client: Client, wanted: str) -> None:
    assert choose(client, theme="dark", next=wanted)["Location"] == "/"


def test_a_choice_is_made_by_post_alone(client: Client) -> None:
    assert client.get("/preferences/?language=ru")["Location"] == "/"
    assert not client.cookies
    assert client.get("/accounts/logout/")["Location"] == "/"
    assert client.put("/accounts/logout/").status_code == 405


def test_a_page_with_another_choice_is_another_page(client: Client) -> None:
    first = client.get("/")
    choose(client, theme="dark")

    again = client.get("/", headers={"If-None-Match": first["ETag"]})

    assert again.status_code == 200
    assert "Cookie" in first["Vary"]
