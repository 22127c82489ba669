"""A session with a real broker: what becomes of each message, and of the session itself."""

import gc
import logging
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pika.frame
import pika.spec
import pytest

from dev.free_ports import LOOPBACK, free_port
from dev.rabbitmq import RabbitNode
from messaging.broker import session as session_module
from messaging.broker.confirms import Verdict
from messaging.broker.session import Session
from messaging.broker.sessions import topology
from messaging.broker.wire import Delivery, Message
from messaging.errors import BrokerUnavailable, ConfigurationError
from messaging.running.process import Lifetime
from tests.eventually import PATIENCE_SECONDS, eventually
from tests.messaging.sessions import a_closed_session, a_session, message, to_queue
from tests.tcp_proxy import tcp_proxy
from tests.wire import Wire

pytestmark = pytest.mark.any_database

PASSWORD = "SECRETPW"
CATALOG = "catalog"


def send(session: Session, *messages: Message) -> list[Verdict]:
    return [result.verdict for result in session.settle(session.submit(messages))]


def main_queue() -> str:
    return topology().main(CATALOG)


def assert_ends(session: Session, *, because: str | None = None) -> None:
    """What became of the messages may be known a moment before why the session ended."""
    session.wait(lambda: False, PATIENCE_SECONDS)
    with pytest.raises(BrokerUnavailable, match=because):
        session.check()


# --- what becomes of a message -------------------------------------------------------------


def test_messages_are_confirmed_and_lie_in_every_queue_in_order(namespace: str, wire: Wire) -> None:
    messages = [message(body=b"%d" % number) for number in range(700)]

    with a_session() as session:
        batches = [session.submit(messages[:500]), session.submit(messages[500:])]
        results = [result for batch in batches for result in session.settle(batch)]

    assert [result.verdict for result in results] == [Verdict.CONFIRMED] * 700
    for consumer in ("catalog", "audit"):
        received = wire.drain(topology().main(consumer))
        assert [each.body for each in received] == [each.body for each in messages]
        assert [each.properties.message_id for each in received] == [
            each.message_id for each in messages
        ]


def test_a_message_has_the_properties_of_the_contract_and_no_other(
    namespace: str, wire: Wire
) -> None:
    sent = message(headers={"attempt": 0, "traceparent": "00-1-2-01"})

    with a_session() as session:
        send(session, sent)

    received = wire.get(main_queue())
    assert received is not None
    properties = {
        name: value for name, value in vars(received.properties).items() if value is not None
    }
    assert properties == {
        "content_type": "application/json",
        "delivery_mode": 2,
        "message_id": sent.message_id,
        "type": "material.published",
        "timestamp": 1_700_000_000,
        "app_id": "catalogsite",
        "headers": {"attempt": 0, "traceparent": "00-1-2-01"},
    }


def test_a_message_that_no_queue_takes_is_returned_and_its_neighbours_are_confirmed(
    namespace: str,
) -> None:
    with a_session() as session:
        batch = session.submit([message(), message(routing_key="nobody.listens"), message()])
        results = session.settle(batch)

    assert [result.verdict for result in results] == [
        Verdict.CONFIRMED,
        Verdict.RETURNED,
        Verdict.CONFIRMED,
    ]
    assert results[1].detail == "312 NO_ROUTE"


def test_a_message_that_a_full_queue_refuses_is_nacked(namespace: str, wire: Wire) -> None:
    full = f"{namespace}.full"
    arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
    wire.channel.queue_declare(full, arguments=arguments, exclusive=True)

    with a_session() as session:
        verdicts = send(session, *(to_queue(full) for _ in range(3)), message())

    assert verdicts == [Verdict.CONFIRMED, Verdict.NACKED, Verdict.NACKED, Verdict.CONFIRMED]


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"message_id": "x" * 256}, "message_id has 256 bytes; AMQP allows 255"),
        ({"message_id": "я" * 128}, "message_id has 256 bytes; AMQP allows 255"),
        ({"type": "я" * 128}, "type has 256 bytes; AMQP allows 255"),
        ({"routing_key": "k" * 256}, "routing_key has 256 bytes; AMQP allows 255"),
        ({"type": "\ud83d"}, "UnicodeEncodeError while encoding"),
        ({"timestamp": -1}, "error while encoding"),
        ({"headers": {"n": 2**63}}, "an integer header is beyond 64 bits"),
        ({"headers": {"k" * 256: 1}}, "a header's name has 256 bytes; AMQP allows 255"),
        ({"headers": {"o": object()}}, "AMQP has no type for a header of type object"),
        ({"headers": {"big": "x" * 140_000}}, "the headers take 140"),
        ({"headers": [1]}, "Error while encoding"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_amqp_cannot_hold_never_leaves_and_costs_its_neighbours_nothing(
    namespace: str, odd: dict[str, Any], said: str
) -> None:
    with a_session() as session:
        alone = session.settle(session.submit([message(**odd)]))
        among = send(session, message(), message(**odd), message())

    assert [result.verdict for result in alone] == [Verdict.UNENCODABLE]
    assert said in alone[0].detail
    assert among == [Verdict.CONFIRMED, Verdict.UNENCODABLE, Verdict.CONFIRMED]


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 200_000, 262_144])
def test_a_body_of_any_size_arrives_byte_for_byte(namespace: str, wire: Wire, size: int) -> None:
    body = os.urandom(size)

    with a_session() as session:
        verdicts = send(session, to_queue(main_queue(), body), to_queue(main_queue(), b"next"))

    assert verdicts == [Verdict.CONFIRMED] * 2
    assert [each.body for each in wire.drain(main_queue())] == [body, b"next"]


def test_equal_messages_in_flight_at_once_each_get_a_result(namespace: str) -> None:
    routed = message()
    unroutable = message(routing_key="nobody.listens")

    with a_session() as session:
        first = session.submit([routed, routed, unroutable, unroutable])
        second = session.submit([routed, unroutable])
        verdicts = [each.verdict for batch in (first, second) for each in session.settle(batch)]

    taken, returned = Verdict.CONFIRMED, Verdict.RETURNED
    assert verdicts == [taken, taken, returned, returned, taken, returned]


def test_a_float_in_a_header_arrives_as_it_is(namespace: str, wire: Wire) -> None:
    with a_session() as session:
        send(session, message(headers={"attempt": 0, "score": 3.5}))

    received = wire.get(main_queue())
    assert received is not None
    assert received.headers["score"] == 3.5


def test_a_batch_of_nothing_is_settled_at_once(namespace: str) -> None:
    with a_session() as session:
        nothing = session.settle(session.submit([]))
        verdicts = send(session, message())

    assert (nothing, verdicts) == ([], [Verdict.CONFIRMED])


def test_the_channel_is_opened_again_after_the_broker_closed_it_over_a_message(
    namespace: str, wire: Wire
) -> None:
    refused = message(headers={"CC": "a string where the broker wants an array"})

    with a_session() as session:
        among = session.settle(session.submit([message(), refused, message()]))
        again = [send(session, each) for each in (message(), refused, message())]
        failure = session.failure

    assert {result.verdict for result in among} <= {Verdict.SUSPECT, Verdict.CONFIRMED}
    assert among[1].verdict is Verdict.SUSPECT
    assert "406 PRECONDITION_FAILED" in among[1].detail
    assert again == [[Verdict.CONFIRMED], [Verdict.SUSPECT], [Verdict.CONFIRMED]]
    assert failure is None


def test_what_was_meant_for_a_channel_that_is_gone_does_not_go_out_on_the_next(
    namespace: str, wire: Wire
) -> None:
    refused = message(headers={"CC": "a string where the broker wants an array"})
    with a_session() as session:
        before = session.channels
        send(session, refused)

        late = session.settle(session.submit([message()], channel=before))
        now = session.settle(session.submit([message()], channel=session.channels))

    assert [result.verdict for result in late + now] == [Verdict.UNKNOWN, Verdict.CONFIRMED]
    assert wire.ready(main_queue()) == 1


def test_frames_for_which_the_broker_ends_the_connection_make_their_batch_suspect(
    namespace: str,
) -> None:
    larger_than_a_frame = message(headers={"x": "y" * 140_000})

    with a_session() as session:
        session._channel.body_max_bytes = 1_000_000  # so that it is not found out before
        verdicts = send(session, message(), larger_than_a_frame)

        assert verdicts[1] is Verdict.SUSPECT
        assert_ends(session, because="said 501 FRAME_ERROR")


def test_a_consuming_session_ends_when_the_broker_closes_its_channel(namespace: str) -> None:
    refused = message(headers={"CC": "a string where the broker wants an array"})

    with a_session() as session:
        session.consume(main_queue(), prefetch=10)
        verdicts = send(session, refused)

        assert verdicts == [Verdict.SUSPECT]
        assert_ends(session, because="406")


def test_what_arrives_is_seen_in_order_before_it_can_be_taken_and_before_the_rest_is_counted(
    namespace: str,
) -> None:
    bodies = [b"%d" % number for number in range(300)]
    seen: list[Delivery] = []
    with a_session() as session:
        send(session, *(message(body=body) for body in bodies))
        session.consume(main_queue(), prefetch=1000, on_arrival=seen.extend)
        left = session.ready_count(main_queue())
        arrived = len(seen)
        taken = session.take(1000, limit_bytes=10**9)

        assert left is not None
        assert arrived + left >= len(bodies)  # more may have come since they were counted
        assert seen[: len(taken)] == taken
        assert [each.body for each in taken] == bodies[: len(taken)]


def test_a_subscription_that_ends_while_its_queue_stands_is_taken_up_by_another_session(
    namespace: str, wire: Wire
) -> None:
    with a_session() as session:
        session.consume(main_queue(), prefetch=10)
        eventually(lambda: wire.consumers(main_queue()) == 1)
        (tag,) = session._channel._queues
        # As when the node of a cluster that held it goes down.
        cancel = pika.frame.Method(1, pika.spec.Basic.Cancel(consumer_tag=tag))
        session._loop.call(lambda: session._channel._cancelled(cancel))

        assert_ends(session, because="ended the subscription to queue")


def test_a_missing_exchange_ends_the_session_and_nobody_is_blamed(
    namespace: str, wire: Wire
) -> None:
    with a_session() as session:
        wire.delete_exchange(topology().events)
        verdicts = send(session, message(), message())

        assert verdicts == [Verdict.UNKNOWN] * 2
        assert_ends(session, because=r"404 NOT_FOUND.*events")


def test_what_was_routed_past_a_missing_queue_is_not_taken_for_confirmed(
    namespace: str, wire: Wire
) -> None:
    audit = topology().main("audit")
    with a_session() as session:
        first = session.settle(session.submit([message()], standing=[main_queue(), audit]))
        wire.delete_queue(main_queue())
        batch = session.submit([message(), message()], standing=[main_queue(), audit])
        second = session.settle(batch)

        assert [result.verdict for result in first] == [Verdict.CONFIRMED]
        assert [result.verdict for result in second] == [Verdict.UNKNOWN] * 2
        assert wire.ready(audit) == 3
        assert_ends(session, because="404 NOT_FOUND - no queue .*catalog")


# --- loss, silence, alarms -----------------------------------------------------------------


def test_an_idle_session_lives_on_while_its_thread_does_something_else(namespace: str) -> None:
    with a_session(heartbeat_seconds=1) as session:
        time.sleep(4)  # the broker ends a connection after two missed beats

        assert send(session, message()) == [Verdict.CONFIRMED]


def test_a_connection_lost_while_confirming_leaves_the_unconfirmed_unknown(
    broker: RabbitNode, namespace: str, wire: Wire
) -> None:
    with tcp_proxy(broker.amqp_port) as proxy, a_session(port=proxy.port) as session:
        confirmed = send(session, message())
        proxy.hold_answers()
        batch = session.submit([message(), message()])
        eventually(lambda: wire.ready(main_queue()) == 3)
        proxy.cut()

        verdicts = [result.verdict for result in session.settle(batch)]
        after = send(session, message())

        assert (confirmed, verdicts) == ([Verdict.CONFIRMED], [Verdict.UNKNOWN] * 2)
        assert after == [Verdict.UNKNOWN]
        assert_ends(session)


def test_a_broker_that_beats_but_does_not_confirm_is_given_up(
    broker: RabbitNode, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "CONFIRM_LIMIT_SECONDS", 0.5)
    with tcp_proxy(broker.amqp_port) as proxy, a_session(port=proxy.port) as session:
        proxy.hold_answers()
        batch = session.submit([message()])

        verdicts = [result.verdict for result in session.settle(batch)]

        assert verdicts == [Verdict.UNKNOWN]
        assert_ends(session, because="did not confirm in time")


def test_a_count_that_does_not_come_is_not_taken_for_an_empty_queue(
    broker: RabbitNode, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "CONFIRM_LIMIT_SECONDS", 0.5)
    with tcp_proxy(broker.amqp_port) as proxy, a_session(port=proxy.port) as session:
        send(session, message())
        counted = session.ready_count(main_queue())
        proxy.hold_answers()

        assert counted == 1
        with pytest.raises(BrokerUnavailable, match="did not count"):
            session.ready_count(main_queue())


def test_a_stop_ends_the_wait_for_confirms_but_keeps_those_that_come_at_once(
    broker: RabbitNode, namespace: str
) -> None:
    with (
        Lifetime(catch_signals=False) as lifetime,
        tcp_proxy(broker.amqp_port) as proxy,
        a_session(port=proxy.port, lifetime=lifetime) as session,
    ):
        proxy.hold_answers()
        batch = session.submit([message()])
        lifetime.stop()
        threading.Timer(0.2, proxy.release_answers).start()
        first = [result.verdict for result in session.settle(batch)]
        proxy.hold_answers()
        late = session.submit([message()])
        began = time.monotonic()
        second = [result.verdict for result in session.settle(late)]

    assert (first, second) == ([Verdict.CONFIRMED], [Verdict.UNKNOWN])
    assert time.monotonic() - began < 2.5  # its patience after a stop, and the closing


def test_a_stop_before_the_queues_were_seen_leaves_what_is_confirmed_unknown(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lifetime(catch_signals=False) as lifetime, a_session(lifetime=lifetime) as session:
        # As where the broker is slow: its answer to the look is still on the way.
        monkeypatch.setattr(session._channel._ledger, "seen", lambda: False)
        batch = session.submit(
            [message(), message(routing_key="nobody.listens")], standing=[main_queue()]
        )
        eventually(lambda: batch.open == 0)
        lifetime.stop()
        results = session.settle(batch)

    assert [result.verdict for result in results] == [Verdict.UNKNOWN, Verdict.RETURNED]


def test_a_blocked_broker_is_waited_for_and_a_frozen_one_is_not(own_broker: RabbitNode) -> None:
    with a_session(heartbeat_seconds=1) as session:
        own_broker.ctl("set_vm_memory_high_watermark", "absolute", "1MB")
        try:
            batch = session.submit([message()])
            eventually(lambda: session.blocked)
            still_open = session.wait(lambda: batch.done, 1)
        finally:
            own_broker.ctl("set_vm_memory_high_watermark", "0.4")
        unblocked = [result.verdict for result in session.settle(batch)]
        own_broker.pause()
        frozen = send(session, message())
        own_broker.resume()

        assert (still_open, session.blocked) == (False, False)
        assert (unblocked, frozen) == ([Verdict.CONFIRMED], [Verdict.UNKNOWN])
        assert_ends(session, because="missed its heartbeats")


# --- opening -------------------------------------------------------------------------------


@pytest.fixture
def user(broker: RabbitNode) -> Iterator[str]:
    """A user of the shared node with the password PASSWORD and no right anywhere."""
    name = f"u-{os.urandom(4).hex()}"
    broker.ctl("add_user", name, PASSWORD)
    yield name
    broker.ctl("delete_user", name)


@contextmanager
def refusal(kind: type[Exception], **address: Any) -> Iterator[list[str]]:
    """Opening a session with that address fails so; gives what the failure says."""
    said: list[str] = []
    with a_closed_session(**address) as session:
        with pytest.raises(kind) as caught:
            session.open()
        said.append(str(caught.value))
        yield said
    assert PASSWORD not in said[0]


def test_a_wrong_password_is_a_fault_of_the_configuration(namespace: str) -> None:
    with refusal(ConfigurationError, user="guest", password=PASSWORD) as said:
        assert "403 ACCESS_REFUSED" in said[0]
        assert "amqp://127.0.0.1:" in said[0]


def test_an_unknown_virtual_host_is_a_fault_of_the_configuration(namespace: str) -> None:
    with refusal(ConfigurationError, vhost="no such vhost") as said:
        assert "530 NOT_ALLOWED" in said[0]
        assert "no such vhost" in said[0]


def test_a_limit_on_connections_is_a_broker_that_is_away(
    broker: RabbitNode, namespace: str, user: str
) -> None:
    vhost = f"{user}-limit (1) is reached"
    broker.ctl("add_vhost", vhost)
    broker.ctl("set_permissions", "-p", vhost, user, ".*", ".*", ".*")
    try:
        broker.ctl("set_user_limits", user, '{"max-connections": 0}')
        with refusal(BrokerUnavailable, user=user, password=PASSWORD, vhost=vhost) as of_user:
            assert "user connection limit (0) is reached" in of_user[0]
        broker.ctl("clear_user_limits", user, "all")
        broker.ctl("set_vhost_limits", "-p", vhost, '{"max-connections": 0}')
        with refusal(BrokerUnavailable, user=user, password=PASSWORD, vhost=vhost) as of_vhost:
            assert "connection limit (0) is reached" in of_vhost[0]
    finally:
        broker.ctl("delete_vhost", vhost)
    with refusal(ConfigurationError, user=user, password=PASSWORD, vhost=vhost):
        pass


def test_a_user_without_a_right_is_a_fault_of_the_configuration_that_names_the_object(
    broker: RabbitNode, namespace: str, user: str
) -> None:
    with refusal(ConfigurationError, user=user, password=PASSWORD) as said:
        assert "530 NOT_ALLOWED" in said[0]
        assert user in said[0]

    broker.ctl("set_permissions", user, "^$", ".*", ".*")
    with refusal(ConfigurationError, user=user, password=PASSWORD) as said:
        assert f"exchange {namespace}.events wants type=topic" in said[0]
        assert "403 ACCESS_REFUSED" in said[0]


def test_an_object_declared_otherwise_is_named_with_its_argument(
    namespace: str, wire: Wire
) -> None:
    retry = topology().retry(CATALOG)
    arguments = {"x-queue-type": "classic", "x-message-ttl": 77}
    wire.channel.queue_declare(retry, durable=True, arguments=arguments)

    with refusal(ConfigurationError) as said:
        assert f"queue {retry} wants durable=True" in said[0]
        assert "x-message-ttl=300" in said[0]
        assert "406 PRECONDITION_FAILED" in said[0]
        assert "current is '77'" in said[0]


def test_a_refused_port_is_a_broker_that_is_away(namespace: str) -> None:
    with refusal(BrokerUnavailable, port=free_port(), password=PASSWORD) as said:
        assert "Connection refused" in said[0]


def test_an_unresolvable_host_is_a_broker_that_is_away(namespace: str) -> None:
    with refusal(BrokerUnavailable, host="no-such-host.invalid", password=PASSWORD) as said:
        assert "no-such-host.invalid" in said[0]


def test_a_port_that_never_answers_is_given_up(
    namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("messaging.broker.loop.CONNECT_LIMIT_SECONDS", 0.5)
    with (
        socket.create_server((LOOPBACK, 0)) as silent,
        refusal(BrokerUnavailable, port=silent.getsockname()[1], password=PASSWORD) as said,
    ):
        assert "timed out" in said[0]


def test_tls_towards_a_plain_port_is_a_fault_of_the_configuration(namespace: str) -> None:
    with refusal(ConfigurationError, tls=True, password=PASSWORD) as said:
        assert "no TLS at amqps://127.0.0.1:" in said[0]


def test_a_certificate_that_nobody_vouches_for_is_a_fault_of_the_configuration(
    namespace: str, tmp_path: Path
) -> None:
    certificate, key = self_signed(tmp_path)
    with tls_server(certificate, key) as port:
        with refusal(ConfigurationError, tls=True, port=port, password=PASSWORD) as said:
            assert "self-signed certificate" in said[0]
        trusted = {"tls": True, "port": port, "cacertfile": str(certificate)}
        with refusal(ConfigurationError, **trusted, password=PASSWORD) as said:
            assert "127.0.0.1" in said[0]  # it vouches for another host


def test_a_certificate_file_that_has_gone_is_a_fault_of_the_configuration(
    namespace: str, tmp_path: Path
) -> None:
    gone = str(tmp_path / "gone.pem")
    with refusal(ConfigurationError, tls=True, cacertfile=gone, password=PASSWORD) as said:
        assert "cacertfile cannot be used" in said[0]


def self_signed(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=broker.example", "-addext", "subjectAltName=DNS:broker.example"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


@contextmanager
def tls_server(certificate: Path, key: Path) -> Iterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    with socket.create_server((LOOPBACK, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    try:
                        context.wrap_socket(client, server_side=True).close()
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


# --- closing -------------------------------------------------------------------------------


def closing_seconds(session: Session) -> float:
    began = time.monotonic()
    session.close()
    return time.monotonic() - began


def test_closing_takes_a_moment_in_every_state(broker: RabbitNode, namespace: str) -> None:
    taken: dict[str, float] = {}
    with a_session() as session:
        taken["open"] = closing_seconds(session)
        taken["closed"] = closing_seconds(session)
    with (
        Lifetime(catch_signals=False) as lifetime,
        socket.create_server((LOOPBACK, 0)) as silent,
        a_closed_session(port=silent.getsockname()[1], lifetime=lifetime) as session,
    ):
        threading.Timer(0.3, lifetime.stop).start()
        assert session.open() is False
        taken["connecting"] = closing_seconds(session)
    with tcp_proxy(broker.amqp_port) as proxy, a_session(port=proxy.port) as session:
        proxy.hold_answers()
        session.submit([message()])
        taken["silent"] = closing_seconds(session)
    with tcp_proxy(broker.amqp_port) as proxy, a_session(port=proxy.port) as session:
        proxy.cut()
        eventually(lambda: session.failure)
        taken["lost"] = closing_seconds(session)

    assert {state: seconds for state, seconds in taken.items() if seconds > 2.5} == {}


@pytest.fixture
def no_records() -> Iterator[None]:
    """pytest keeps every log record, and pika's hold whole connections."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def test_sessions_leave_neither_threads_nor_descriptors_behind(
    broker: RabbitNode, namespace: str, no_records: None
) -> None:
    with a_session() as session:
        send(session, message())
    gc.collect()
    before = len(os.listdir("/dev/fd")), threading.active_count()

    for _ in range(20):
        with a_session() as session:
            send(session, message())
        with refusal(ConfigurationError, password="wrong"):
            pass
        with refusal(BrokerUnavailable, port=9):
            pass
        with tcp_proxy(broker.amqp_port) as proxy, a_session(port=proxy.port) as session:
            proxy.cut()
            eventually(lambda lost=session: lost.failure)

    gc.collect()

    def now_as_before() -> bool:
        assert (len(os.listdir("/dev/fd")), threading.active_count()) == before
        return True

    eventually(now_as_before)
