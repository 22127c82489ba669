"""Who leads, when several want to."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.db.models.functions import Now

from messaging.models import RelayLease
from messaging.sending import leadership
from messaging.sending.leadership import LEASE, Leadership
from tests.processes.harness import Run


def claimant() -> Leadership:
    return Leadership("relay", using="default")


def expires(*, in_: timedelta) -> None:
    RelayLease.objects.update(expires_at=Now() + in_)


@pytest.fixture
def renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look asks the database."""
    monkeypatch.setattr(leadership, "RENEW_SECONDS", 0.0)


def test_the_first_leads_and_the_second_stands_by(run: Run) -> None:
    first, second = claimant(), claimant()

    assert [first.hold(), second.hold(), first.hold(), second.hold()] == [True, False, True, False]


def test_a_leader_that_lets_go_is_followed_at_once(run: Run) -> None:
    first, second = claimant(), claimant()
    first.hold()
    second.hold()

    first.release()

    assert second.hold()
    assert not first.hold()


def test_a_leader_that_died_is_followed_when_its_lease_runs_out(run: Run) -> None:
    dead, second = claimant(), claimant()
    dead.hold()

    expires(in_=timedelta(seconds=2))
    before = second.hold()
    expires(in_=timedelta(seconds=-0.1))

    assert (before, second.hold()) == (False, True)


def test_a_leader_that_was_overtaken_learns_it_at_its_next_renewal(
    run: Run, renewals: None
) -> None:
    sleeper, second = claimant(), claimant()
    sleeper.hold()
    expires(in_=timedelta(seconds=-0.1))
    second.hold()

    assert not sleeper.hold()
    sleeper.release()  # of what is no longer its own
    assert second.hold()


def test_a_leader_renews_its_lease_in_time(run: Run, renewals: None) -> None:
    leader = claimant()
    leader.hold()
    expires(in_=timedelta(seconds=1))

    leader.hold()

    assert RelayLease.objects.filter(expires_at__gt=Now() + LEASE - timedelta(seconds=1)).exists()


def test_between_renewals_no_question_is_asked(run: Run) -> None:
    leader = claimant()
    leader.hold()

    with connection.execute_wrapper(_refuse):
        assert leader.hold()


def test_a_lease_from_before_the_clock_was_set_back_blocks_nobody(run: Run) -> None:
    dead, second = claimant(), claimant()
    dead.hold()
    expires(in_=timedelta(hours=1))

    assert second.hold()


def test_a_lease_row_that_was_deleted_is_made_again(run: Run, renewals: None) -> None:
    leader = claimant()
    leader.hold()
    RelayLease.objects.all().delete()

    assert leader.hold()
    assert RelayLease.objects.get().owner == leader.owner


def test_leases_of_different_names_have_leaders_of_their_own(run: Run) -> None:
    assert claimant().hold()
    assert Leadership("another", using="default").hold()


def test_of_many_that_claim_at_once_exactly_one_leads(run: Run) -> None:
    claimants = [claimant() for _ in range(6)]
    barrier, led = threading.Barrier(len(claimants)), []

    def claim(hold: Callable[[], bool]) -> None:
        barrier.wait(10)
        led.append(hold())
        connections.close_all()

    threads = [threading.Thread(target=claim, args=[each.hold]) for each in claimants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(led) == [False] * 5 + [True]


def _refuse(*_: object) -> None:
    raise AssertionError("a question to the database")
