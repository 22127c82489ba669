"""What is told of an error: enough to act on, and nothing that must not be told."""

import traceback
from collections.abc import Callable

import psycopg
import pytest
from django.db import Error, connection
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from messaging.running.error_texts import MAX_TEXT, MAX_TRACEBACK_BYTES, sanitised, traceback_text


def raised(act: Callable[[], object]) -> BaseException:
    try:
        act()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what the test looks at
        return error
    raise AssertionError("nothing was raised")


def test_an_ordinary_text_is_told_as_it_is() -> None:
    assert sanitised(ValueError("Заголовок: too long (201 > 200)")) == (
        "Заголовок: too long (201 > 200)"
    )


def test_an_error_without_words_is_told_by_its_name() -> None:
    assert sanitised(KeyError()) == "KeyError"
    assert sanitised(MemoryError()) == "MemoryError"


def test_an_error_that_cannot_speak_is_told_by_its_name() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert sanitised(Mute()) == "Mute"
    assert "Mute" in traceback_text(raised(lambda: (_ for _ in ()).throw(Mute())))


def test_the_text_is_one_line() -> None:
    assert sanitised(ValueError("a\r\n  b\tc\u2028d\x0be")) == "a b c d e"


@pytest.mark.parametrize("length", [499, 500, 501, 3_999, 4_000, 4_001, 300_000])
@pytest.mark.parametrize("text", ["x", "я ", "😀", "\ud800", "\0"], ids=ascii)
def test_the_text_is_short_and_can_be_stored_anywhere(text: str, length: int) -> None:
    said = sanitised(ValueError(text * length))

    assert len(said) <= MAX_TEXT
    assert "\0" not in said
    said.encode("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "cannot reach amqp://delivery:s3cret@broker:5672/%2F",
        "amqps://s3cret@broker",
        "postgres://u:s3c/ret@s3cret@[::1]:5432/db?x=1",
        "'amqp://u:s3cret@h' and \"redis://:s3cret@h/0\"",
        "connection failed: host=db user=u password=s3cret dbname=x",
        "password = 's3cret with blanks'",
        " " * 3_980 + "amqp://user:s3cret" + "y" * 100 + "@host",
        " " * 3_980 + "password=s3cret" + "y" * 100,
        "y" * 470 + " amqp://user:s3cret" + "z" * 20 + "@host",
    ],
    ids=lambda text: text[-40:],
)
def test_no_credential_is_told(text: str) -> None:
    def act() -> None:
        try:
            raise ConnectionError(text)
        except ConnectionError as error:
            raise RuntimeError(f"again: {text}") from error

    error = raised(act)

    assert "s3c" not in sanitised(error)
    assert "s3c" not in traceback_text(error)


def test_the_passwords_of_the_settings_are_not_told(settings: Settings) -> None:
    settings.KNOWN_SECRETS = ("correct horse",)

    assert "horse" not in sanitised(ValueError("login with 'correct horse' failed"))


def test_the_address_without_its_password_is_told() -> None:
    said = sanitised(ConnectionError("cannot reach amqp://u:s3cret@broker.example:5672/%2F"))

    assert "broker.example:5672" in said
    assert "amqp://" in said


class TestTraceback:
    def test_it_shows_each_error_of_the_chain_first_cause_first(self) -> None:
        def act() -> None:
            try:
                raise KeyError("first")
            except KeyError as error:
                raise RuntimeError("second\nline") from error

        lines = traceback_text(raised(act)).splitlines()

        assert [line for line in lines if line.startswith(("KeyError", "RuntimeError"))] == [
            "KeyError: 'first'",
            "RuntimeError: second line",
        ]
        assert any(__file__ in line and "in act" in line for line in lines)

    def test_it_shows_what_was_being_handled_but_not_what_was_hidden(self) -> None:
        def act(*, hide: bool) -> None:
            try:
                raise KeyError("first")
            except KeyError:
                if hide:
                    raise RuntimeError("second") from None
                raise RuntimeError("second")  # noqa: B904 - that is the case

        shown, hidden = (raised(lambda hide=hide: act(hide=hide)) for hide in (False, True))

        assert "KeyError: 'first'" in traceback_text(shown)
        assert "KeyError: 'first'" not in traceback_text(hidden)

    def test_it_shows_no_local_variables(self) -> None:
        def act() -> None:
            body = "".join(["very ", "private"])
            raise ValueError(len(body))

        assert "very private" not in traceback_text(raised(act))

    def test_it_is_bounded_and_keeps_its_end(self) -> None:
        def deeper(levels: int) -> None:
            if not levels:
                raise ValueError("the end")
            try:
                deeper(levels - 1)
            except ValueError as error:
                raise ValueError("я" * 10_000) from error

        def straight(levels: int) -> None:
            if levels:
                straight(levels - 1)
            raise ValueError("the end")

        wide = traceback_text(raised(lambda: deeper(50)))
        long = traceback_text(raised(lambda: straight(600)))

        for text in (wide, long):
            assert len(text.encode("utf-8")) <= MAX_TRACEBACK_BYTES
            assert "\0" not in text
        assert wide.endswith("я…")
        assert long.endswith("ValueError: the end")

    def test_a_circle_of_causes_ends(self) -> None:
        one, other = ValueError("a"), ValueError("b")
        one.__cause__, other.__cause__ = other, one

        assert "ValueError: a" in traceback_text(one)


@given(st.text(st.characters(), max_size=600))
def test_any_text_can_be_told(text: str) -> None:
    error = ValueError(text)

    for said in (sanitised(error), traceback_text(error)):
        said.encode("utf-8")
        assert said
        assert "\0" not in said
    assert len(sanitised(error).splitlines()) == 1


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite quotes no rows")
def test_the_row_that_postgresql_refused_is_not_told() -> None:
    def act() -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE scratch (body text, n integer CHECK (n > 0))")
            cursor.execute("INSERT INTO scratch VALUES ('very private', 0)")

    error = raised(act)

    assert isinstance(error, Error)
    assert isinstance(error.__cause__, psycopg.Error)
    assert "private" in "".join(traceback.format_exception(error))
    assert "private" not in sanitised(error)
    assert "private" not in traceback_text(error).replace("VALUES ('very private', 0)", "")
    assert "scratch_n_check" in sanitised(error)


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite quotes no keys")
def test_the_key_that_postgresql_found_twice_is_not_told() -> None:
    def act() -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE scratch (title text UNIQUE)")
            for _ in range(2):
                cursor.execute("INSERT INTO scratch VALUES (%s)", ["".join(["very ", "private"])])

    error = raised(act)

    assert "private" in str(error)
    assert "very private" not in sanitised(error)
    assert "very private" not in traceback_text(error)
    assert "scratch_title_key" in sanitised(error)
