"""Ports that are taken are not given out, whichever interface they are taken on."""

import socket
import threading

import pytest

from dev.free_ports import free_port, is_free, next_free_port

pytestmark = pytest.mark.any_database


@pytest.mark.parametrize("interface", ["127.0.0.1", "0.0.0.0"])
def test_a_port_that_somebody_listens_on_is_not_free(interface: str) -> None:
    with socket.create_server((interface, 0)) as server:
        taken = server.getsockname()[1]

        assert not is_free(taken)
        assert free_port(preferred=taken) != taken
        assert next_free_port(taken) > taken


def test_a_preferred_port_is_waited_for_while_its_holder_goes() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    leaving = threading.Timer(0.2, server.close)
    leaving.start()

    assert free_port(preferred=port, patience_seconds=30) == port

    leaving.join()


def test_the_preferred_port_is_given_where_it_is_free() -> None:
    port = free_port()

    assert free_port(preferred=port) == port


def test_a_free_port_lies_below_those_of_outgoing_connections() -> None:
    assert all(15_000 <= free_port() < 32_000 for _ in range(20))
