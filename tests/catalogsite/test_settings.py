"""Settings as a process meets them: defaults, and one clear line for what is wrong."""

import stat
from pathlib import Path

import pytest

from catalogsite.environment import SettingError
from messaging.broker.address import BrokerAddress
from tests.catalogsite.started import refused, settings_of

EVERY_SETTING = (
    "DATABASE_URL",
    "AMQP_URL",
    "SECRET_KEY",
    "DEBUG",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "DELIVERY_NAMESPACE",
    "DELIVERY_QUEUE_TYPE",
    "DELIVERY_RETRY_DELAY_MS",
    "LOG_FORMAT",
    "LOG_LEVEL",
    "TIME_ZONE",
    "SERVED_OVER_HTTPS",
)


@pytest.mark.parametrize("name", EVERY_SETTING)
@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_setting_is_refused_by_its_name(project: Path, name: str, value: str) -> None:
    with pytest.raises(SettingError, match=f"^Wrong setting: {name} is empty"):
        settings_of(name, project=project, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "SECRETPW"),
        ("DATABASE_URL", "mysql://u:SECRETPW@host/db"),
        ("DATABASE_URL", "postgres://u:SECRETPW@host:x/db"),
        ("AMQP_URL", "http://u:SECRETPW@host"),
        ("AMQP_URL", "amqp://u:SECRETPW@host:port/v"),
        ("AMQP_URL", "amqp://u:SECRETPW@::1/"),
        ("AMQP_URL", "amqps://u:SECRETPW@host/v?cacertfile=/no/such/file"),
        ("SECRET_KEY", "SECRETPW\x07"),
        ("DEBUG", "maybe"),
        ("DEBUG", "2"),
        ("DEBUG", "true # for now"),
        ("ALLOWED_HOSTS", "https://example.org"),
        ("ALLOWED_HOSTS", "example.org:8000"),
        ("ALLOWED_HOSTS", "example.org,"),
        ("ALLOWED_HOSTS", "example.org other.org"),
        ("CSRF_TRUSTED_ORIGINS", "example.org"),
        ("CSRF_TRUSTED_ORIGINS", "https://example.org/"),
        ("CSRF_TRUSTED_ORIGINS", "https://example.org:99999"),
        ("CSRF_TRUSTED_ORIGINS", "https://example.org:65536"),
        ("CSRF_TRUSTED_ORIGINS", "https://example.org:0"),
        ("CSRF_TRUSTED_ORIGINS", "ftp://example.org"),
        ("DELIVERY_NAMESPACE", "amq.mine"),
        ("DELIVERY_NAMESPACE", "amq"),
        ("DELIVERY_NAMESPACE", "two words"),
        ("DELIVERY_NAMESPACE", "доставка"),
        ("DELIVERY_NAMESPACE", "n" * 61),
        ("DELIVERY_NAMESPACE", "a/b"),
        ("DELIVERY_QUEUE_TYPE", "stream"),
        ("DELIVERY_QUEUE_TYPE", "Quorum"),
        ("DELIVERY_RETRY_DELAY_MS", "0"),
        ("DELIVERY_RETRY_DELAY_MS", "-5"),
        ("DELIVERY_RETRY_DELAY_MS", "5s"),
        ("DELIVERY_RETRY_DELAY_MS", "1.5"),
        ("DELIVERY_RETRY_DELAY_MS", "1_000"),
        ("DELIVERY_RETRY_DELAY_MS", "٥"),
        ("DELIVERY_RETRY_DELAY_MS", "315360000001"),
        ("DELIVERY_RETRY_DELAY_MS", "9" * 5000),
        ("LOG_FORMAT", "xml"),
        ("LOG_LEVEL", "LOUD"),
        ("LOG_LEVEL", "10"),
        ("SIMULATE_TEMPORARY", ""),
        ("SIMULATE_TEMPORARY", "Article 107"),
        ("SIMULATE_TEMPORARY", "article-107,,article-108"),
        ("SIMULATE_TEMPORARY", "-article"),
        ("TIME_ZONE", "Moon/Tranquility"),
        ("SERVED_OVER_HTTPS", "perhaps"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line_that_names_it(
    project: Path, name: str, value: str
) -> None:
    with pytest.raises(SettingError) as caught:
        settings_of(name, project=project, **{name: value})

    line = str(caught.value)
    assert line.startswith(f"Wrong setting: {name} ")
    assert len(line.splitlines()) == 1
    assert "SECRETPW" not in line


@pytest.mark.parametrize(
    "command",
    [
        ("manage.py",),
        ("manage.py", "--help"),
        ("manage.py", "consume", "catalog"),
        ("manage.py", "migrate"),
    ],
)
def test_every_command_ends_with_that_line_and_exit_code_2(command: tuple[str, ...]) -> None:
    assert refused(*command, LOG_FORMAT="xml") == (
        "Wrong setting: LOG_FORMAT must be one of: console, json."
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://u:SECRETPW@host:x/db"),
        ("AMQP_URL", "amqp://u:SECRETPW@host:x/v"),
        ("SECRET_KEY", ""),
        ("DEBUG", "maybe"),
        ("SIMULATE_TEMPORARY", "Article 107"),
    ],
)
def test_a_command_shows_no_secret_when_it_refuses(name: str, value: str) -> None:
    line = refused("manage.py", "relay_outbox", **{name: value})

    assert line.startswith(f"Wrong setting: {name} ")
    assert "SECRETPW" not in line


def test_a_value_that_begins_with_a_dollar_sign_names_no_other_variable(project: Path) -> None:
    found = settings_of(
        "SECRET_KEY", project=project, SECRET_KEY="$DELIVERY_NAMESPACE", DELIVERY_NAMESPACE="x"
    )

    assert found["SECRET_KEY"] == "$DELIVERY_NAMESPACE"


def test_without_variables_the_defaults_of_the_contract_hold(project: Path) -> None:
    found = settings_of(
        "AMQP",
        "DEBUG",
        "DELIVERY_NAMESPACE",
        "DELIVERY_QUEUE_TYPE",
        "DELIVERY_RETRY_DELAY_MS",
        "SIMULATE_TEMPORARY",
        "LOG_FORMAT",
        "LOG_LEVEL",
        "DATABASES",
        project=project,
    )

    database = found.pop("DATABASES")["default"]
    assert database["ENGINE"].endswith("sqlite3")
    assert Path(database["NAME"]) == project / "var" / "catalog.sqlite3"
    assert found == {
        "AMQP": BrokerAddress("127.0.0.1", 5672, "/", "guest", "guest"),
        "DEBUG": False,
        "DELIVERY_NAMESPACE": "delivery",
        "DELIVERY_QUEUE_TYPE": "classic",
        "DELIVERY_RETRY_DELAY_MS": 5000,
        "SIMULATE_TEMPORARY": frozenset(),
        "LOG_FORMAT": "console",
        "LOG_LEVEL": "INFO",
    }


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DEBUG": "on"}, {"DEBUG": True}),
        ({"DEBUG": "TRUE"}, {"DEBUG": True}),
        ({"DEBUG": "0"}, {"DEBUG": False}),
        ({"LOG_LEVEL": "debug"}, {"LOG_LEVEL": "DEBUG"}),
        ({"ALLOWED_HOSTS": "*"}, {"ALLOWED_HOSTS": ["*"]}),
        (
            {"ALLOWED_HOSTS": ".example.org, 10.0.0.1,[::1]"},
            {"ALLOWED_HOSTS": [".example.org", "10.0.0.1", "[::1]"]},
        ),
        (
            {"CSRF_TRUSTED_ORIGINS": "https://*.example.org,http://localhost:8000"},
            {"CSRF_TRUSTED_ORIGINS": ["https://*.example.org", "http://localhost:8000"]},
        ),
        ({"DELIVERY_NAMESPACE": "n" * 60}, {"DELIVERY_NAMESPACE": "n" * 60}),
        ({"DELIVERY_RETRY_DELAY_MS": "315360000000"}, {"DELIVERY_RETRY_DELAY_MS": 315_360_000_000}),
        ({"DELIVERY_RETRY_DELAY_MS": "1"}, {"DELIVERY_RETRY_DELAY_MS": 1}),
        ({"DELIVERY_QUEUE_TYPE": "quorum"}, {"DELIVERY_QUEUE_TYPE": "quorum"}),
        (
            {"SIMULATE_TEMPORARY": " article-107 "},
            {"SIMULATE_TEMPORARY": frozenset({"article-107"})},
        ),
        ({"TIME_ZONE": "Asia/Tokyo"}, {"TIME_ZONE": "Asia/Tokyo"}),
    ],
)
def test_a_good_value_is_taken(
    project: Path, variables: dict[str, str], expected: dict[str, object]
) -> None:
    assert settings_of(*expected, project=project, **variables) == expected


def test_https_is_served_when_every_trusted_origin_is_https(project: Path) -> None:
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT")

    plain = settings_of(
        *names, project=project, CSRF_TRUSTED_ORIGINS="https://a.org,http://localhost:8000"
    )
    https = settings_of(*names, project=project, CSRF_TRUSTED_ORIGINS="https://a.org")
    told = settings_of(
        *names, project=project, CSRF_TRUSTED_ORIGINS="https://a.org", SERVED_OVER_HTTPS="false"
    )

    assert set(plain.values()) == {False}
    assert set(https.values()) == {True}
    assert set(told.values()) == {False}


def test_a_missing_secret_key_is_made_once_for_the_owner_alone(project: Path) -> None:
    first = settings_of("SECRET_KEY", project=project, SECRET_KEY=None)
    second = settings_of("SECRET_KEY", project=project, SECRET_KEY=None)

    kept = project / "var" / "secret-key"
    assert first == second == {"SECRET_KEY": kept.read_text()}
    assert len(kept.read_text()) >= 50
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [path.name for path in kept.parent.iterdir() if "secret" in path.name] == ["secret-key"]


def test_a_kept_secret_key_that_is_empty_is_refused(project: Path) -> None:
    (project / "var").mkdir()
    (project / "var" / "secret-key").touch()

    line = refused(project=project, SECRET_KEY=None)

    assert line.startswith("Wrong setting: SECRET_KEY is not set, and")


def test_pages_are_not_served_with_a_kept_secret_key(project: Path) -> None:
    line = refused("manage.py", "runserver", project=project, SECRET_KEY=None)

    assert line == "Wrong setting: SECRET_KEY is missing; pages need it while DEBUG is false."
