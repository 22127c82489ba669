"""`audit_trail` as a process: pipes, encodings, exit codes."""

import json
import signal
import subprocess

import pytest
from django.db import connection, transaction

from materials.audit.projection import apply
from tests.materials.catalog.facts import published
from tests.processes.command import manage
from tests.processes.harness import Run


@pytest.mark.parametrize("options", [["--json"], []])
def test_a_reader_who_leaves_early_ends_it_quietly(run: Run, options: list[str]) -> None:
    # More than a pipe holds, so that it is still writing when the reader leaves.
    record(3000)

    with start(run, *options) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        code = process.wait(timeout=30)
        said = process.stderr.read()

    assert (code, said) == (0, b"")


@pytest.mark.any_database
def test_json_is_utf8_whatever_the_terminal_speaks(run: Run) -> None:
    record(2)

    code, out, err = finish(run, "--json", PYTHONIOENCODING="ascii", LANG="C", PYTHONUTF8="0")

    assert (code, err) == (0, "")
    assert [row["actor"] for row in json.loads(out)] == ["Ада", "Ада"]


@pytest.mark.any_database
def test_people_get_their_lines_on_a_terminal_without_unicode(run: Run) -> None:
    record(1)

    code, out, err = finish(run, PYTHONIOENCODING="ascii", LANG="C", PYTHONUTF8="0")

    assert (code, err) == (0, "")
    assert "m-0" in out
    assert "\\u0410\\u0434\\u0430" in out


@pytest.mark.any_database
def test_wrong_use_is_exit_2_with_one_clear_line(run: Run) -> None:
    code, out, err = finish(run, "--material", "Article 7")

    assert (code, out) == (2, "")
    assert "'Article 7' is not a material's id" in err


def test_a_table_that_is_not_there_is_exit_3_with_one_line(run: Run) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE audit_record")

    code, out, err = finish(run)

    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert "manage.py migrate" in err


def test_a_stop_signal_ends_it_within_five_seconds_also_when_nobody_reads(run: Run) -> None:
    record(400, body="x" * 10_000)

    with start(run, "--json") as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=5)

    assert code == 0


def start(run: Run, *options: str, **settings: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        manage("audit_trail", *options),
        env=run._environment(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(run: Run, *options: str, **settings: str) -> tuple[int, str, str]:
    done = run.manage("audit_trail", *options, **settings)
    return done.returncode, done.stdout, done.stderr


def record(count: int, *, body: str = "Text.") -> None:
    with transaction.atomic():
        apply([published(f"m-{n}", n + 1, body=body, actor="Ада") for n in range(count)], "default")
