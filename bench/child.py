"""The other side of `bench.timed`: contestants are made ready, then let go together."""

import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from subprocess import Popen

from bench.figures import Sample
from bench.stage import Stage

LIMIT_SECONDS = 300


@dataclass(frozen=True)
class Part:
    """A contestant's module, the environment it runs in, and what its `prepare` is given."""

    module: str
    environment: dict[str, str]
    options: dict[str, object]


def play(stage: Stage, *parts: Part, count: int | None = None) -> Sample:
    """Run these at once; from the go to the moment when the last of their work was done.

    `count` is how many messages that was together; by default what they counted themselves.
    """
    processes: list[Popen[str]] = []
    # Whoever is stuck is killed; what it logged is then shown.
    limit = threading.Timer(LIMIT_SECONDS, _kill, [processes])
    limit.daemon = True  # Ctrl-C may come before there is somebody to cancel it
    limit.start()
    try:
        for part in parts:
            command = [sys.executable, "-m", "bench.timed", part.module, json.dumps(part.options)]
            processes.append(stage.start(command, part.environment, name=part.module, piped=True))
        for process, part in zip(processes, parts, strict=True):
            _expect(_line(process.stdout), "ready", stage, part)
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [
            _result(_line(process.stdout), stage, part)
            for process, part in zip(processes, parts, strict=True)
        ]
        for process in processes:
            process.wait()
    finally:
        limit.cancel()
        for process in processes:
            process.kill()
            process.communicate()
    return _sample(results, count=count)


def _kill(processes: "Sequence[Popen[str]]") -> None:
    for process in processes:
        process.kill()


def _sample(results: Sequence[dict[str, float]], *, count: int | None) -> Sample:
    began = min(result["began"] for result in results)
    ended = max(result["ended"] for result in results)
    return Sample(
        count=int(sum(result["count"] for result in results)) if count is None else count,
        seconds=ended - began,
        cpu_seconds=sum(result["cpu_seconds"] for result in results),
        peak_mb=max(result["peak_mb"] for result in results),
    )


def _line(stream: object) -> str:
    return stream.readline() if hasattr(stream, "readline") else ""


def _expect(line: str, wanted: str, stage: Stage, part: Part) -> None:
    if line.strip() != wanted:
        log = stage.log_of(part.module).read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"{part.module} failed:\n{log[-4000:]}")


def _result(line: str, stage: Stage, part: Part) -> dict[str, float]:
    _expect("ready" if line.startswith("{") else line, "ready", stage, part)
    result: dict[str, float] = json.loads(line)
    return result
