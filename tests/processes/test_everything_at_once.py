"""Editors publish while relay and both consumers work on the one database: nothing is lost."""

import threading
import time

from django.db import connection

from materials import actions
from materials.audit.models import AuditRecord
from materials.catalog.models import CatalogEntry
from materials.models import Material
from materials.patience import patiently
from messaging.models import FailedAttempt, InboxReceipt, OutboxMessage
from tests.eventually import eventually
from tests.processes.harness import Run
from tests.processes.queues import Queues

SECONDS = 6
EDITORS = 3


def test_editors_relay_and_consumers_share_the_database_and_nothing_is_lost(
    run: Run, queues: Queues
) -> None:
    commands = [run("relay_outbox"), run("consume", "catalog"), run("consume", "audit")]
    commands[0].wait_for("relaying")
    for consumer in commands[1:]:
        consumer.wait_for("consuming")

    editors = [threading.Thread(target=edit, args=(number,)) for number in range(EDITORS)]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join(60)
        assert not editor.is_alive()

    published = OutboxMessage.objects.count()
    assert published > 3 * EDITORS, "too little was published to tell"
    eventually(lambda: OutboxMessage.objects.pending().count() == 0)
    eventually(lambda: AuditRecord.objects.count() == published)
    eventually(
        lambda: InboxReceipt.objects.filter(consumer="catalog").count() == published, seconds=40
    )
    for name in ("catalog", "audit"):
        queues.await_ready(name)
    assert FailedAttempt.objects.count() == 0
    assert OutboxMessage.objects.failed().count() == 0
    assert {
        entry.material_id: (entry.revision, entry.visible) for entry in CatalogEntry.objects.all()
    } == {
        material.material_id: (material.revision, material.state == Material.State.PUBLISHED)
        for material in Material.objects.filter(revision__gt=0)
    }
    for command in commands:
        assert command.returncode is None, command.report()
        assert command.terminate() == 0, command.report()
        assert "Traceback" not in command.stderr


def edit(number: int) -> None:
    """Create, publish, edit, withdraw, over and over."""
    material_id = f"article-{number}"
    until = time.monotonic() + SECONDS
    try:
        patiently(lambda: actions.create(material_id, title="0", body="", actor="ada"))
        version = 0
        while time.monotonic() < until:
            version += 1
            time.sleep(0.01)  # SQLite's write lock goes to who asks most often
            title = str(version)
            patiently(lambda title=title: actions.edit(material_id, title=title, actor="ada"))
            patiently(lambda: actions.publish(material_id, actor="ada"))
            if version % 3 == 0:
                patiently(lambda: actions.withdraw(material_id, reason="Test.", actor="ada"))
    finally:
        connection.close()
