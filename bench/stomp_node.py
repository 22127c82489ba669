"""A broker that speaks STOMP too, which one of the peers asks for."""

from pathlib import Path

from dev.free_ports import LOOPBACK, free_port
from dev.rabbitmq import RabbitNode


class StompNode(RabbitNode):
    """A node with the STOMP plugin, on a port of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.stomp_port = free_port()
        self._sees_all = True  # the usual view of the installation hides the plugins

    def _prepare(self) -> None:
        super()._prepare()
        (self.folder / "enabled_plugins").write_text("[rabbitmq_stomp].\n", encoding="ascii")
        with open(self.folder / "rabbitmq.conf", "a", encoding="ascii") as settings:
            settings.write(f"stomp.listeners.tcp.1 = {LOOPBACK}:{self.stomp_port}\n")
