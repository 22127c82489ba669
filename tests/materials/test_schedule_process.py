"""`run_schedule` as a real process: on time, once with two running, and gone when asked."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from materials import actions, schedules
from materials.models import Revision, Schedule
from tests.eventually import eventually
from tests.processes.harness import Run


@pytest.fixture
def user(run: Run) -> User:
    user = User.objects.create_user("ada")
    user.user_permissions.set(Permission.objects.filter(codename__endswith="_material"))
    return user


def test_two_runners_publish_each_plan_once_and_to_the_second(run: Run, user: User) -> None:
    runners = [run("run_schedule"), run("run_schedule")]
    due_at = timezone.now() + timedelta(seconds=6)
    for number in range(6):
        actions.create(f"article-{number}", title=f"Title {number}", actor="ada")
        schedules.plan(f"article-{number}", act="publish", due_at=due_at, zone="UTC", user=user)

    eventually(lambda: not Schedule.objects.pending().exists())

    moments = Revision.objects.values_list("number", "happened_at")
    assert [number for number, _ in moments] == [1] * 6
    assert min(at for _, at in moments) >= due_at
    for runner in runners:
        runner.terminate()
    assert [runner.wait() for runner in runners] == [0, 0]


def test_what_fell_due_while_nobody_ran_is_made_up_for(run: Run, user: User) -> None:
    actions.create("article-1", title="Title", actor="ada")
    schedules.plan(
        "article-1",
        act="publish",
        due_at=timezone.now() + timedelta(hours=1),
        zone="UTC",
        user=user,
    )
    Schedule.objects.update(due_at=timezone.now() - timedelta(hours=1))

    done = run.manage("run_schedule", "--once")

    assert done.returncode == 0
    assert Revision.objects.count() == 1
    assert Schedule.objects.get().state == "done"


def test_a_runner_killed_between_act_and_commit_leaves_it_to_the_next(run: Run, user: User) -> None:
    actions.create("article-1", title="Title", actor="ada")
    schedules.plan(
        "article-1",
        act="publish",
        due_at=timezone.now() + timedelta(hours=1),
        zone="UTC",
        user=user,
    )
    Schedule.objects.update(due_at=timezone.now())

    killed = run.killed_at("materials.schedules:_settle", "run_schedule", when="before")
    assert killed.wait() == -9
    assert not Revision.objects.exists()

    assert run.manage("run_schedule", "--once").returncode == 0
    assert Revision.objects.count() == 1
