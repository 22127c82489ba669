"""A private node: whole below its folder, whatever was left there, whoever runs beside it."""

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev import amqp_probe, processes
from dev.free_ports import LOOPBACK
from dev.rabbitmq import NodeFailed, RabbitNode, find_scripts
from dev.rabbitmq_view import make_view
from tests.wire import Wire

pytestmark = pytest.mark.any_database


@pytest.fixture
def node(tmp_path: Path) -> Iterator[RabbitNode]:
    made = RabbitNode(tmp_path / "one", schedulers=1)
    yield made
    made.kill()


def test_two_nodes_live_side_by_side_and_one_survives_its_keeper(
    node: RabbitNode, broker: RabbitNode
) -> None:
    one, two = node, broker
    one.start()
    assert one.amqp_port != two.amqp_port
    kept = f"kept-{one.amqp_port}"
    wire = Wire(one.amqp_url)
    wire.channel.queue_declare(kept, durable=True)
    wire.publish(b"{}", routing_key=kept)
    wire.close()
    port, open_outside = one.amqp_port, _answers_from_outside(one)

    # Another run finds the folder, the node of the first still in it: its keeper was killed.
    successor = RabbitNode(one.folder, schedulers=1)
    successor.start()

    assert successor.amqp_port == port
    wire = Wire(successor.amqp_url)
    assert wire.ready(kept) == 1
    wire.close()
    assert open_outside == []
    assert kept not in two.ctl("list_queues", "name")
    successor.stop()
    assert not amqp_probe.speaks_amqp(LOOPBACK, port)
    assert two.is_running()
    assert list(one.folder.glob("*.process.json")) == []


def test_a_stale_note_of_a_process_that_is_not_the_node_harms_nobody(node: RabbitNode) -> None:
    node.folder.mkdir()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        note = node.folder / "beam.process.json"
        note.write_text(json.dumps({"pid": stranger.pid, "started": "before the reboot"}))

        node.kill()

        assert stranger.poll() is None
        assert not note.exists()
        stranger.kill()


def test_a_node_that_cannot_start_says_why_and_leaves_nothing(node: RabbitNode) -> None:
    node.folder.mkdir()
    (node.folder / "advanced.config").write_text("this is no Erlang term")

    with pytest.raises(NodeFailed, match="advanced_configuration_file"):
        node.start()

    assert not node.is_running()
    assert processes.noted(node.folder / "epmd.process.json") is None


def test_a_node_needs_its_scripts(node: RabbitNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dev.rabbitmq.find_scripts", lambda: None)

    with pytest.raises(NodeFailed, match="not installed"):
        RabbitNode(node.folder).start()


def test_a_node_that_does_not_run_cannot_be_paused(node: RabbitNode) -> None:
    with pytest.raises(NodeFailed, match="does not run"):
        node.pause()


def test_an_installation_of_another_layout_is_seen_whole(tmp_path: Path) -> None:
    scripts = tmp_path / "sbin"
    scripts.mkdir()
    (scripts / "rabbitmq-server").touch()

    make_view(scripts, tmp_path / "view")

    assert not (tmp_path / "view").exists()


def test_the_view_shows_no_plugin(tmp_path: Path) -> None:
    scripts = find_scripts()
    assert scripts is not None

    make_view(scripts, tmp_path / "view")

    shown = {path.name.partition("-")[0] for path in (tmp_path / "view" / "plugins").iterdir()}
    assert {"rabbit", "rabbit_common", "ra"} <= shown
    assert "rabbitmq_management" not in shown


def _answers_from_outside(node: RabbitNode) -> list[str]:
    """The ports of the node that this machine's outward address gives access to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent: it only chooses the address that one would send from.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return []
        address = probe.getsockname()[0]
    ports: dict[str, int] = json.loads((node.folder / "ports.json").read_text())
    assert set(ports) == {"amqp", "distribution", "epmd"}
    return [name for name, port in ports.items() if _accepts(address, port)]


def _accepts(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=2).close()
    except OSError:
        return False
    return True
