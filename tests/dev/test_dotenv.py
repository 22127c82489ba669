"""The `.env` of a person is read and never written; ours is rewritten at each run."""

import stat
from pathlib import Path

import pytest

from dev import dotenv

pytestmark = pytest.mark.any_database


def test_ours_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / ".env"

    dotenv.keep(path, {"DEBUG": "true", "AMQP_URL": "amqp://one"})
    dotenv.keep(path, {"AMQP_URL": "amqp://two"})

    assert path.read_text().splitlines()[1:] == ["AMQP_URL=amqp://two"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["AMQP_URL=amqp://mine\n", "", "\ufeffDEBUG=false\n"])
def test_a_persons_own_stays_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / ".env"
    path.write_text(text, encoding="utf-8")

    dotenv.keep(path, {"AMQP_URL": "amqp://ours"})

    assert path.read_text(encoding="utf-8") == text


def test_what_we_wrote_ourselves_counts_as_given_by_nobody(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    dotenv.keep(path, {"AMQP_URL": "amqp://of-the-last-run"})

    given = dotenv.given_settings({}, dotenv=path)

    assert not given.is_set("AMQP_URL")


def test_the_environment_and_a_persons_file_are_given(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("AMQP_URL=amqp://from-the-file\nDEBUG=false\n")

    given = dotenv.given_settings({"DEBUG": "true"}, dotenv=path)

    assert given.text("AMQP_URL") == "amqp://from-the-file"
    assert given.text("DEBUG") == "true"
