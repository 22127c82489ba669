"""`.env` and the process's environment: which one wins, and what a broken file does."""

from pathlib import Path

import pytest

from catalogsite.environment import Environment, SettingError
from tests.catalogsite.started import refused, settings_of


def read(tmp_path: Path, content: str | bytes, **process: str) -> Environment:
    dotenv = tmp_path / ".env"
    dotenv.write_bytes(content.encode() if isinstance(content, str) else content)
    return Environment(process, dotenv=dotenv)


def test_dotenv_is_read_and_the_environment_wins(tmp_path: Path) -> None:
    env = read(tmp_path, "DELIVERY_NAMESPACE=file\nLOG_FORMAT=json\n", LOG_FORMAT="console")

    assert env.text("DELIVERY_NAMESPACE") == "file"
    assert env.text("LOG_FORMAT") == "console"


def test_an_empty_variable_is_not_mended_by_dotenv(tmp_path: Path) -> None:
    env = read(tmp_path, "LOG_FORMAT=json\n", LOG_FORMAT="")

    with pytest.raises(SettingError, match="LOG_FORMAT is empty"):
        env.text("LOG_FORMAT")


def test_dotenv_changes_nobody_elses_environment(tmp_path: Path) -> None:
    process = {"LOG_FORMAT": "json"}
    dotenv = tmp_path / ".env"
    dotenv.write_text("DATABASE_URL=postgres://u:SECRETPW@h/d\n")

    Environment(process, dotenv=dotenv)

    assert process == {"LOG_FORMAT": "json"}


def test_without_a_dotenv_there_is_the_environment_alone(tmp_path: Path) -> None:
    env = Environment({"A": "1"}, dotenv=tmp_path / ".env")

    assert env.text("A") == "1"
    with pytest.raises(SettingError, match="B is missing"):
        env.text("B")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=one", "one"),
        ("export A=one", "one"),
        ("A='one # two'", "one # two"),
        ('A="one # two"', "one # two"),
        ("A=one#two", "one#two"),
        ("A=$ecret", "$ecret"),
        ("A=one=two", "one=two"),
        ("A=имя", "имя"),
        ("A=amqp://u:p%40@h/%2F?heartbeat=5", "amqp://u:p%40@h/%2F?heartbeat=5"),
    ],
)
def test_a_line_of_dotenv_means_what_it_says(tmp_path: Path, line: str, value: str) -> None:
    env = read(tmp_path, f"# first\n\n   \n{line}\r\nB=2")

    assert env.text("A") == value
    assert env.text("B") == "2"


def test_a_byte_order_mark_before_the_first_line_does_no_harm(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbfA=1\n").text("A") == "1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("A=1\nSECRETPW\n", r"\.env has a line 2 that is neither"),
        ("A = SECRETPW\n", r"\.env has a line 1 that is neither"),
        ("  A=SECRETPW\n", r"\.env has a line 1 that is neither"),
        ("=SECRETPW\n", r"\.env has a line 1 that is neither"),
        ("A-B=SECRETPW\n", r"\.env has a line 1 that is neither"),
        ("A: SECRETPW\n", r"\.env has a line 1 that is neither"),
        ("\n\nA='SECRETPW\n", r"\.env has a line 3 \(A\) whose quotes do not close"),
        ('A="SECRETPW\n', r"\.env has a line 1 \(A\) whose quotes do not close"),
        ("A='SECRETPW' # note\n", r"\.env has a line 1 \(A\) whose quotes do not close"),
        ("A='\n", r"\.env has a line 1 \(A\) whose quotes do not close"),
        (b"A=SECRETPW\xff\n", r"\.env is not UTF-8"),
    ],
)
def test_a_broken_dotenv_is_refused_without_its_content(
    tmp_path: Path, content: str | bytes, says: str
) -> None:
    with pytest.raises(SettingError, match=says) as caught:
        read(tmp_path, content)

    assert "SECRETPW" not in str(caught.value)


def test_a_dotenv_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()

    with pytest.raises(SettingError, match=r"\.env cannot be read: Is a directory"):
        Environment({}, dotenv=tmp_path / ".env")


def test_a_dotenv_that_points_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").symlink_to(tmp_path / "gone")

    with pytest.raises(SettingError, match=r"\.env cannot be read: No such file"):
        Environment({}, dotenv=tmp_path / ".env")


@pytest.mark.parametrize("value", ["a\nb", "a\x00b", "a\x1b[31mb", "a\udcff", "\ttab"])
def test_a_value_with_a_control_character_or_a_stray_byte_is_refused(value: str) -> None:
    env = Environment({"A": value}, dotenv=Path("/nonexistent"))

    with pytest.raises(SettingError, match="A has a control character or a byte"):
        env.text("A")


def test_a_command_reads_the_dotenv_of_its_project(project: Path) -> None:
    (project / ".env").write_text("DELIVERY_NAMESPACE=from-file\nDEBUG=yes\n")

    found = settings_of("DELIVERY_NAMESPACE", "DEBUG", project=project, DEBUG="no")

    assert found == {"DELIVERY_NAMESPACE": "from-file", "DEBUG": False}


def test_a_command_ends_at_a_broken_dotenv(project: Path) -> None:
    (project / ".env").write_text("AMQP_URL=amqp://u:SECRETPW@h\noops SECRETPW\n")

    line = refused(project=project)

    assert line == ("Wrong setting: .env has a line 2 that is neither NAME=value nor a # comment.")
