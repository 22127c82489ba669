"""A turn that is interrupted keeps nobody waiting."""

import threading
from pathlib import Path

import pytest

from bench import child
from bench.stage import Stage


def test_a_turn_that_is_interrupted_at_its_very_start_holds_up_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[threading.Timer] = []
    start = threading.Timer.start

    def interrupted(timer: threading.Timer) -> None:
        start(timer)
        started.append(timer)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Timer, "start", interrupted)

    with pytest.raises(KeyboardInterrupt):
        child.play(Stage(tmp_path, broker_url=None), child.Part("publish_only", {}, {}))

    (timer,) = started
    timer.cancel()
    assert timer.daemon
