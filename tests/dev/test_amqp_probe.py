"""A port is asked by the protocol: what sits on 5672 need not be a broker, or not for us."""

import socket
import threading
from collections.abc import Iterator

import pytest

from dev.amqp_probe import Answer, log_in, speaks_amqp
from dev.free_ports import LOOPBACK, free_port
from dev.rabbitmq import RabbitNode

pytestmark = pytest.mark.any_database


@pytest.fixture
def stranger() -> Iterator[int]:
    """A server that answers everybody with a line of HTTP."""
    server = socket.create_server((LOOPBACK, 0))

    def greet() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=greet)
    thread.start()
    yield server.getsockname()[1]
    # Closing alone would leave accept() waiting.
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.fixture
def mute() -> Iterator[int]:
    """A server that accepts and says nothing."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


def test_a_broker_welcomes_its_user(broker: RabbitNode) -> None:
    answer = log_in(LOOPBACK, broker.amqp_port, user="guest", password="guest", vhost="/")

    assert answer is Answer.WELCOME
    assert speaks_amqp(LOOPBACK, broker.amqp_port)


@pytest.mark.parametrize(
    ("password", "vhost"), [("wrong", "/"), ("guest", "no-such-vhost")], ids=["password", "vhost"]
)
def test_a_broker_refuses_what_it_does_not_know(
    broker: RabbitNode, password: str, vhost: str
) -> None:
    answer = log_in(LOOPBACK, broker.amqp_port, user="guest", password=password, vhost=vhost)

    assert answer is Answer.REFUSED


def test_a_server_of_another_kind_is_no_broker(stranger: int) -> None:
    assert not speaks_amqp(LOOPBACK, stranger)
    assert log_in(LOOPBACK, stranger, user="u", password="p", vhost="/") is Answer.SILENT


def test_a_server_that_says_nothing_is_no_broker(mute: int) -> None:
    assert not speaks_amqp(LOOPBACK, mute, timeout_seconds=0.1)
    answer = log_in(LOOPBACK, mute, user="u", password="p", vhost="/", timeout_seconds=0.1)
    assert answer is Answer.SILENT


def test_a_port_where_nobody_listens_is_no_broker() -> None:
    assert not speaks_amqp(LOOPBACK, free_port())
