"""Commands with an end of their own, stopped while one act of theirs takes too long."""

import signal
from pathlib import Path

from messaging.models import DeadLetter, OperatorBatch
from tests.materials.makers import draft
from tests.messaging.dead import died
from tests.messaging.facts import published
from tests.processes.harness import Run


def test_work_that_a_stop_leaves_undone_ends_with_1(run: Run, tmp_path: Path) -> None:
    draft("article-107")
    letter = died(published())
    (tmp_path / "article-1.md").write_text("---\ntitle: T\n---\n")
    held = [
        run.held_at(function, *words)
        for function, *words in (
            ("materials.newcomers:create_all", "import_materials", str(tmp_path)),
            ("materials.actions:publish", "publish_material", "article-107"),
            ("messaging.operating.pruning:Pruning.letters", "prune_delivery", "--older-than", "9"),
            ("messaging.sending.leadership:Leadership.hold", "relay_outbox", "--once"),
            ("messaging.letters.dead_letters:requeue", "dead_letters", "requeue", str(letter.pk)),
            (
                "messaging.letters.dead_letters:requeue",
                "dead_letters",
                "requeue",
                "--all-matching",
                "--yes",
            ),
        )
    ]
    lasting = run.held_at("messaging.sending.leadership:Leadership.hold", "relay_outbox")

    for command in [*held, lasting]:
        command.wait_for("held")
    for command in [*held, lasting]:
        command.send(signal.SIGTERM)

    assert [command.wait() for command in held] == [1] * len(held)
    assert lasting.wait() == 0
    assert "it is not done" in held[0].stderr
    assert DeadLetter.objects.get().state == "open"
    batch = OperatorBatch.objects.get()
    assert batch.finished_at is not None
    assert (batch.done, batch.ended_because) == (0, "stopped on request, in the middle of a piece")
