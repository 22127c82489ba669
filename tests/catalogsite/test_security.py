"""Headers, cookies and the throttling of sign-ins, as the settings make them."""

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

pytestmark = pytest.mark.django_db

PAGES = ("/", "/accounts/login/", "/admin/login/", "/no/such/page")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_carries_a_policy_without_unsafe_inline(client: Client, page: str) -> None:
    response = client.get(page)

    policy = response["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives == {
        "default-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "object-src": "'none'",
    }
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"


def test_pages_of_the_admin_hold_nothing_that_the_policy_forbids(admin_client: Client) -> None:
    for page in ("/admin/", "/admin/messaging/outboxmessage/", "/admin/auth/user/add/"):
        html = admin_client.get(page).content.decode()
        assert " style=" not in html, page
        assert "<style" not in html, page
        assert " onclick=" not in html, page
        assert "<script>" not in html, page


@override_settings(
    SECURE_SSL_REDIRECT=True,
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
    SECURE_HSTS_SECONDS=60,
    SESSION_COOKIE_SECURE=True,
    CSRF_COOKIE_SECURE=True,
)
def test_behind_a_proxy_that_ends_tls_plain_requests_are_sent_on() -> None:
    plain = Client().get("/accounts/login/")
    proxied = Client(headers={"x-forwarded-proto": "https"}).get("/accounts/login/")

    assert (plain.status_code, plain["Location"]) == (301, "https://testserver/accounts/login/")
    assert proxied.status_code == 200
    assert proxied["Strict-Transport-Security"] == "max-age=60"
    assert proxied.cookies["csrftoken"]["secure"]


@pytest.fixture
def editor() -> User:
    return User.objects.create_user("editor", password="right and long enough")


def sign_in(client: Client, password: str, address: str = "10.0.0.1") -> int:
    response = client.post(
        "/accounts/login/",
        {"username": "editor", "password": password},
        REMOTE_ADDR=address,
    )
    return response.status_code


@pytest.mark.usefixtures("editor")
def test_guessing_a_password_is_stopped_and_locks_out_nobody_else(client: Client) -> None:
    guesses = [sign_in(client, f"wrong {number}") for number in range(10)]

    assert guesses[:9] == [200] * 9
    assert guesses[9] == 429
    assert sign_in(client, "right and long enough") == 429
    locked = client.post(
        "/accounts/login/",
        {"username": "editor", "password": "x"},
        REMOTE_ADDR="10.0.0.1",
        headers={"Accept-Language": "ru"},
    )
    assert locked.status_code == 429
    assert '<html lang="ru"' in locked.content.decode()
    assert "Слишком много попыток" in locked.content.decode()
    assert sign_in(Client(), "right and long enough", address="10.0.0.2") == 302


@pytest.mark.usefixtures("editor")
def test_a_sign_in_forgets_the_mistakes_before_it(client: Client) -> None:
    for _ in range(9):
        sign_in(client, "wrong")
    assert sign_in(client, "right and long enough") == 302

    assert [sign_in(client, "wrong") for _ in range(9)] == [200] * 9


@pytest.mark.usefixtures("editor")
def test_what_was_typed_as_a_password_is_stored_nowhere(client: Client) -> None:
    from axes.models import AccessAttempt

    sign_in(client, "typed-by-mistake")

    [attempt] = AccessAttempt.objects.all()
    assert "typed-by-mistake" not in repr(vars(attempt))


def test_a_user_name_that_no_database_stores_is_a_form_error(client: Client) -> None:
    response = client.post(
        "/accounts/login/?x=%00", {"username": "a\x00b", "password": "p"}, REMOTE_ADDR="10.0.0.3"
    )

    assert response.status_code == 200


def test_a_form_in_another_encoding_is_refused_in_a_page_and_to_a_program_in_json() -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies["csrftoken"] = "a" * 32
    body, kind = b"username=a", "application/x-www-form-urlencoded; charset=utf-16"

    page = browser.generic(
        "POST", "/accounts/login/", body, kind, headers={"Accept-Language": "ru"}
    )
    told = browser.generic("POST", "/api/materials/", body, kind)
    large = [
        browser.generic("POST", path, b"a=1&" * 2000, kind.partition(";")[0])
        for path in ("/preferences/", "/nothing/", "/accounts/login/")
    ]

    assert page.status_code == told.status_code == 415
    assert "Content-Security-Policy" in page.headers
    assert "UTF-8" in page.content.decode()
    assert '<html lang="ru"' in page.content.decode()
    assert told.json() == {"error": "forms are read in UTF-8 alone"}
    assert [response.status_code for response in large] == [400] * 3
