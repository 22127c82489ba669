"""AMQP_URL: what it means, what is refused, and that no word of it leaks."""

import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from pprint import pformat

import pytest

from dev.rabbitmq import RabbitNode
from messaging.broker.address import BrokerAddress
from messaging.broker.inspection import inspect_queues
from messaging.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "described"),
    [
        ("amqp://u:p@broker", "amqp://broker:5672/%2F"),
        ("amqp://u:p@broker/", "amqp://broker:5672/%2F"),
        ("amqp://u:p@broker/%2F", "amqp://broker:5672/%2F"),
        ("amqp://u:p@broker/%2f", "amqp://broker:5672/%2F"),
        ("AMQP://u:p@broker:5673/site", "amqp://broker:5673/site"),
        ("amqps://u:p@broker/site", "amqps://broker:5671/site"),
        ("amqp://u:p@broker/a%2Fb", "amqp://broker:5672/a%2Fb"),
        ("amqp://u:p@[::1]:5672/", "amqp://[::1]:5672/%2F"),
        ("amqp://u:p@[2001:DB8:0:0::1]", "amqp://[2001:db8::1]:5672/%2F"),
        ("amqp://u:p@127.0.0.1:1/v", "amqp://127.0.0.1:1/v"),
        ("amqp://broker:65535", "amqp://broker:65535/%2F"),
    ],
)
def test_a_url_names_one_broker_and_one_vhost(url: str, described: str) -> None:
    address = BrokerAddress.parse(url)

    assert address.described == described
    assert str(address) == described


@pytest.mark.parametrize("path", ["", "/", "/%2F"])
def test_no_path_a_slash_and_an_encoded_slash_are_the_vhost_slash(path: str) -> None:
    assert BrokerAddress.parse(f"amqp://u:p@broker{path}").vhost == "/"


def test_user_password_and_vhost_are_percent_decoded() -> None:
    address = BrokerAddress.parse("amqp://%D1%8F%40home:p%40%2F%3A%23%25+x@broker/caf%C3%A9%2F1")

    assert (address.user, address.password) == ("я@home", "p@/:#%+x")
    assert address.vhost == "café/1"


def test_a_colon_in_the_password_may_stand_as_it_is() -> None:
    assert BrokerAddress.parse("amqp://u:a:b@broker").password == "a:b"


def test_without_a_user_it_is_guest() -> None:
    address = BrokerAddress.parse("amqp://127.0.0.1")

    assert (address.user, address.password) == ("guest", "guest")


def test_heartbeat_is_ten_seconds_unless_the_url_says_otherwise() -> None:
    assert BrokerAddress.parse("amqp://broker").heartbeat_seconds == 10
    assert BrokerAddress.parse("amqp://broker/v?heartbeat=2").heartbeat_seconds == 2
    assert BrokerAddress.parse("amqp://broker?heartbeat=600").heartbeat_seconds == 600


def test_an_amqps_url_carries_the_tls_files() -> None:
    address = BrokerAddress.parse(
        "amqps://u:p@broker/v?cacertfile=/etc/ca%20x.pem&certfile=/c.pem&keyfile=/k.pem"
        "&server_name_indication=mq.example.org&heartbeat=5"
    )

    assert address.tls
    assert address.cacertfile == "/etc/ca x.pem"
    assert (address.certfile, address.keyfile) == ("/c.pem", "/k.pem")
    assert address.server_name == "mq.example.org"
    assert address.heartbeat_seconds == 5


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "is empty"),
        ("   ", "space"),
        ("broker:5672", "must start with amqp://"),
        ("http://SECRETPW@broker", "must start with amqp://"),
        ("redis://u:SECRETPW@broker", "must start with amqp://"),
        ("amqp:/u:SECRETPW@broker", "must start with amqp://"),
        ("amqp+ssl://u:SECRETPW@broker", "must start with amqp://"),
        ("amqp://", "names no host"),
        ("amqp:///vhost", "names no host"),
        ("amqp://u:SECRETPW@", "names no host"),
        ("amqp://u:SECRETPW@/v", "names no host"),
        ("amqp://u:SECRETPW@:5672/v", "names no host"),
        ("amqp://u:SECRETPW@host name/v", "space"),
        ("amqp://u:SECRETPW@host\n/v", "space or an unprintable"),
        ("amqp://u:SECRETPW@ho%73t/v", "no host name"),
        ("amqp://u:SECRETPW@-host/v", "no host name"),
        ("amqp://u:SECRETPW@höst/v", "no host name"),
        ("amqp://u:SECRETPW@::1", "[::1]"),
        ("amqp://u:SECRETPW@::1/v", "[::1]"),
        ("amqp://u:SECRETPW@::1:5672/v", "[::1]"),
        ("amqp://u:SECRETPW@[::1/v", "IPv6"),
        ("amqp://u:SECRETPW@[::g]/v", "IPv6"),
        ("amqp://u:SECRETPW@[127.0.0.1]/v", "IPv6"),
        ("amqp://u:SECRETPW@[::1]5672/v", "IPv6"),
        ("amqp://u:SECRETPW@[]/v", "IPv6"),
        ("amqp://u:SECRETPW@host:/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@host:0/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@host:65536/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@host:-1/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@host:56x/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@host:٥٦/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@[::1]:99999/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW@host//", "%2F"),
        ("amqp://u:SECRETPW@host/a/b", "%2F"),
        ("amqp://u:SECRETPW@host/v/", "%2F"),
        ("amqp://u:p@SECRETPW@host/v", "%40"),
        ("amqp://u:p/SECRETPW@host/v", "%40, for '/' write %2F"),
        ("amqp://u:SECRET#PW@host/v", "%23"),
        ("amqp://u:SECRETPW@host/v#x", "%23"),
        ("amqp://u:SECRET?PW@host/v", "port from 1 to 65535"),
        ("amqp://u:SECRETPW%@host/v", "%25"),
        ("amqp://u:SECRETPW%4@host/v", "%25"),
        ("amqp://u:SECRETPW%zz@host/v", "%25"),
        ("amqp://u:SECRETPW@host/100%", "%25"),
        ("amqp://u:SECRETPW%FF@host/v", "not UTF-8"),
        ("amqp://u%00:SECRETPW@host/v", "NUL in the user name"),
        ("amqp://u:SECRETPW@host/v%00", "NUL in the vhost"),
        (f"amqp://u:SECRETPW@host/{'%D1%8F' * 128}", "255 bytes"),
        ("amqp://u@host/v", "no password"),
        ("amqp://u:@host/v", "no password"),
        ("amqp://:SECRETPW@host/v", "empty user name"),
        ("amqp://@host/v", "empty user name"),
        ("amqp://u:SECRETPW@host/v?", "unknown option"),
        ("amqp://u:SECRETPW@host/v?heartbeat", "empty option heartbeat"),
        ("amqp://u:SECRETPW@host/v?heartbeat=", "empty option heartbeat"),
        ("amqp://u:SECRETPW@host/v?heartbeat=0", "heartbeat from 1 to 600"),
        ("amqp://u:SECRETPW@host/v?heartbeat=601", "heartbeat from 1 to 600"),
        ("amqp://u:SECRETPW@host/v?heartbeat=2.5", "heartbeat from 1 to 600"),
        ("amqp://u:SECRETPW@host/v?heartbeat=5&heartbeat=6", "heartbeat twice"),
        ("amqp://u:SECRETPW@host/v?Heartbeat=5", "unknown option"),
        ("amqp://u:SECRETPW@host/v?SECRETPW=5", "unknown option"),
        ("amqp://u:SECRETPW@host/v?verify=verify_none", "unknown option"),
        ("amqp://u:SECRETPW@host/v?cacertfile=/ca.pem", "needs amqps://"),
        ("amqps://u:SECRETPW@host/v?keyfile=/k.pem", "keyfile without certfile"),
    ],
)
def test_what_could_be_misread_is_refused_without_a_word_of_the_url(url: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        BrokerAddress.parse(url)

    assert says in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert "PW" not in str(caught.value)


@pytest.fixture
def address() -> BrokerAddress:
    return BrokerAddress.parse("amqp://editor:SECRETPW@broker:5672/site")


def test_neither_form_of_text_shows_the_password(address: BrokerAddress) -> None:
    shown = (repr(address), str(address), f"{address}", f"{address!r}", pformat([address]))

    assert not [text for text in shown if "SECRETPW" in text]
    assert "editor" not in address.described


def test_an_address_cannot_be_changed(address: BrokerAddress) -> None:
    with pytest.raises(FrozenInstanceError):
        address.host = "elsewhere"  # type: ignore[misc]

    assert replace(address, host="elsewhere").password == "SECRETPW"


def test_an_amqp_address_has_no_tls() -> None:
    assert BrokerAddress.parse("amqp://broker").tls_context() is None


def test_tls_always_verifies_certificate_and_host_name() -> None:
    context = BrokerAddress.parse("amqps://broker").tls_context()

    assert context is not None
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate signed by itself, and another one whose key is encrypted."""
    folder = tmp_path_factory.mktemp("certificate")
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-subj", "/CN=localhost"]
    for name, options in (("", ["-nodes"]), ("locked-", ["-passout", "pass:x"])):
        files = [
            "-days",
            "1",
            "-keyout",
            folder / f"{name}key.pem",
            "-out",
            folder / f"{name}cert.pem",
        ]
        subprocess.run([*request, *files, *options], check=True, capture_output=True)
    return folder


def test_own_authority_and_client_certificate_are_loaded(certificate: Path) -> None:
    address = BrokerAddress.parse(
        f"amqps://broker/?cacertfile={certificate}/cert.pem"
        f"&certfile={certificate}/cert.pem&keyfile={certificate}/key.pem"
    )

    context = address.tls_context()

    assert context is not None
    assert [each["subject"] for each in context.get_ca_certs()] == [
        ((("commonName", "localhost"),),)
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("cacertfile={0}/none.pem", "cacertfile cannot be used: No such file"),
        ("cacertfile={0}/key.pem", "cacertfile cannot be used"),
        ("certfile={0}/none.pem", "certfile or keyfile cannot be used: No such file"),
        ("certfile={0}/cert.pem", "certfile or keyfile cannot be used"),
        ("certfile={0}/cert.pem&keyfile={0}/none.pem", "No such file"),
        ("certfile={0}/locked-cert.pem&keyfile={0}/locked-key.pem", "without a passphrase"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_named(
    certificate: Path, options: str, says: str
) -> None:
    address = BrokerAddress.parse(f"amqps://broker/?{options.format(certificate)}")

    with pytest.raises(ConfigurationError, match=says):
        address.tls_context()


@pytest.fixture
def odd_user(broker: RabbitNode) -> Iterator[tuple[str, str, str]]:
    """User, password and vhost made of everything that a URL would misread."""
    user, password, vhost = "я@home", "p@/:#%+?&=", "a/b c"
    broker.ctl("add_vhost", vhost)
    broker.ctl("add_user", user, password)
    broker.ctl("set_permissions", "-p", vhost, user, ".*", ".*", ".*")
    yield user, password, vhost
    broker.ctl("delete_user", user)
    broker.ctl("delete_vhost", vhost)


def test_the_broker_knows_the_user_and_vhost_that_an_encoded_url_names(
    broker: RabbitNode, odd_user: tuple[str, str, str]
) -> None:
    port = BrokerAddress.parse(broker.amqp_url).port
    address = BrokerAddress.parse(
        f"amqp://%D1%8F%40home:p%40%2F%3A%23%25+%3F%26%3D@127.0.0.1:{port}/a%2Fb%20c"
    )
    assert (address.user, address.password, address.vhost) == odd_user

    seen = inspect_queues(address, ["nothing-here"], timeout_seconds=10)

    assert seen == {"nothing-here": None}
