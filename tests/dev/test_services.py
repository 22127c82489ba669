"""Programs that tests and benchmarks start: found, got where we may, or named with the ways."""

from pathlib import Path

import pytest

from dev import packages, services

NAME = "rabbitmq-server"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The packages on a machine that has none at first and is not ours to change."""
    names: set[str] = set()
    found = {
        name: lambda name=name: Path("/somewhere") if name in names else None
        for name in services.SERVICES
    }
    monkeypatch.setattr(services, "SERVICES", found)
    monkeypatch.setattr(packages, "can_install", lambda: False)
    return names


def test_what_is_there_is_neither_installed_nor_told(
    installed: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    installed.add(NAME)

    assert services.missing([NAME], wanted_by="the tests") == []
    assert capfd.readouterr() == ("", "")


def test_what_is_missing_where_we_may_not_install_is_named_with_the_ways_to_get_it(
    installed: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    installed.add("postgresql")

    assert services.missing([NAME, "postgresql"], wanted_by="the benchmarks") == [NAME]
    told = capfd.readouterr().err
    assert "rabbitmq-server is not installed, and the benchmarks need it." in told
    assert "sudo apt-get install rabbitmq-server" in told
    assert "brew install rabbitmq\n" in told


def test_what_is_missing_is_installed_where_we_may(
    installed: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "can_install", lambda: True)
    monkeypatch.setattr(packages, "install", lambda name, purpose: installed.add(name))

    assert services.missing([NAME], wanted_by="the tests") == []
    assert installed == {NAME}


def test_an_installation_that_fails_is_told_with_the_ways_to_get_it(
    installed: set[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(name: str, *, purpose: str) -> None:
        raise packages.InstallFailed(f"apt-get could not install {name}")

    monkeypatch.setattr(packages, "can_install", lambda: True)
    monkeypatch.setattr(packages, "install", fail)

    assert services.missing([NAME], wanted_by="the tests") == [NAME]
    told = capfd.readouterr().err
    assert told.startswith("apt-get could not install rabbitmq-server\n")
    assert "sudo apt-get install" in told
