"""What is taken out of every text for people, and what is left alone."""

import pytest
from pytest_django import Settings

from catalogsite.known_secrets import known_secrets
from messaging.broker.address import BrokerAddress
from messaging.running.screening import screen


@pytest.fixture(autouse=True)
def secrets(settings: Settings) -> None:
    settings.KNOWN_SECRETS = ("p@/:<#%", "a long and known secret", "hush")


@pytest.mark.parametrize(
    ("text", "screened"),
    [
        ("to amqp://u:SECRETPW@host:5672/v now", "to amqp://********@host:5672/v now"),
        ("postgres://u:SECRETPW@host/db?x=1", "postgres://********@host/db?x=1"),
        ("'redis://:SECRETPW@h'", "'redis://********@h'"),
        ("amqp://u:SECR/ET@PW@h/v", "amqp://********@h/v"),
        ("AMQPS://u:SECRETPW@h", "AMQPS://********@h"),
        ("host=h user=u password=SECRETPW dbname=d", "host=h user=u password=******** dbname=d"),
        ("password='SECRET PW' host=h", "password=******** host=h"),
        ("PGPASSWORD is not a pair", "PGPASSWORD is not a pair"),
        ("the secret is p@/:<#%!", "the secret is ********!"),
        ("encoded p%40%2F%3A%3C%23%25.", "encoded ********."),
        ("in a page p@/:&lt;#%.", "in a page ********."),
        ("a long and known secretive word", "********ive word"),
        ("hush, said she; hushed, hush", "********, said she; hushed, ********"),
        ("http://example.org/a?b=c", "http://example.org/a?b=c"),
        ("mail me@example.org", "mail me@example.org"),
        ("Сообщение доставлено", "Сообщение доставлено"),
        (
            'null value\nDETAIL:  Failing row contains (1, Title (draft)., "body\nbody", 3).\nnext',
            "null value\nDETAIL:  Failing row contains (...).\nnext",
        ),
        ("", ""),
    ],
)
def test_secrets_go_and_words_stay(text: str, screened: str) -> None:
    assert screen(text) == screened


def test_a_backslash_or_quote_in_a_secret_is_found_in_a_repr_too(settings: Settings) -> None:
    settings.KNOWN_SECRETS = ("it's a \\ secret",)

    assert screen(repr("it's a \\ secret")) == '"********"'
    assert screen(repr(["say \" it's a \\ secret"])) == "['say \" ********']"


def test_without_known_secrets_urls_are_still_screened(settings: Settings) -> None:
    settings.KNOWN_SECRETS = ()

    assert screen("amqp://u:p@h and hush") == "amqp://********@h and hush"


def test_a_secret_inside_another_leaves_no_rest(settings: Settings) -> None:
    settings.KNOWN_SECRETS = ("abcdefgh", "abcdefgh-and-more")

    assert screen("abcdefgh-and-more abcdefgh") == "******** ********"


def test_secrets_are_known_in_the_spelling_of_the_url_and_decoded() -> None:
    url = "amqp://mq:p%2fw@broker/site"

    known = known_secrets(
        secret_key="signing",
        broker=BrokerAddress.parse(url),
        database={"PASSWORD": "db-pw", "OPTIONS": {"sslpassword": "tls-pw"}},
        urls=(url, "sqlite:///x"),
        public=(),
    )

    assert set(known) == {"signing", "p/w", "p%2fw", url, "db-pw", "tls-pw"}


def test_a_password_that_everybody_knows_blots_out_no_ordinary_word() -> None:
    known = known_secrets(
        secret_key="signing",
        broker=BrokerAddress.parse("amqp://guest:guest@broker"),
        database={"USER": "catalog", "PASSWORD": "catalog", "NAME": "catalog"},
        urls=("amqp://guest:guest@broker",),
        public=("delivery",),
    )

    assert "guest" not in known
    assert "catalog" not in known
