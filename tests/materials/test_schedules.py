"""Publishing and withdrawing at a set time: planned, changed, cancelled, carried out once."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone, translation

from materials import actions, schedule_runner, schedules
from materials.kept_sentences import translated
from materials.models import Material, Revision, Schedule
from materials.refusals import InvalidMaterial, NotScheduled, TryAgain, UnknownMaterial
from materials.schedule_runner import ScheduleRunner
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Lifetime
from messaging.storing.database_turns import DatabaseTurns
from tests.materials.at_once import at_once
from tests.materials.makers import draft, facts, person, published
from tests.materials.test_editor_pages import EVERYTHING, text_of

pytestmark = pytest.mark.django_db

SOON = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _inside_the_test_transaction(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database turn renews its connection; inside a test's transaction it must not."""
    mark = request.node.get_closest_marker("django_db")
    if not mark.kwargs.get("transaction"):
        monkeypatch.setattr(DatabaseTurns, "insist", lambda self, work, **_: work())


@pytest.fixture
def ada() -> User:
    return person(*EVERYTHING)


@pytest.fixture
def editor(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def plan(user: User, act: str = "publish", *, reason: str = "", **when: float) -> Schedule:
    due_at = timezone.now() + (timedelta(**when) if when else SOON)
    return schedules.plan(
        "article-107", act=act, due_at=due_at, zone="UTC", user=user, reason=reason
    )


def make_due() -> None:
    Schedule.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def run_once() -> int:
    with Lifetime(catch_signals=False) as lifetime:
        return ScheduleRunner(lifetime, once=True).run()


# --- planning ----------------------------------------------------------------------------------


def test_planning_again_changes_the_time(ada: User) -> None:
    draft()
    first = plan(ada, hours=1)

    second = plan(ada, hours=2)

    assert first.pk == second.pk
    assert Schedule.objects.get().due_at == second.due_at


def test_publishing_and_withdrawing_can_both_be_planned(ada: User) -> None:
    draft()
    plan(ada, "publish", hours=1)
    plan(ada, "withdraw", hours=2, reason="Over.")

    assert [(each.act, each.reason) for each in Schedule.objects.all()] == [
        ("publish", ""),
        ("withdraw", "Over."),
    ]


def test_a_moment_that_has_passed_cannot_be_planned(ada: User) -> None:
    draft()

    with pytest.raises(InvalidMaterial) as refusal:
        plan(ada, seconds=-1)

    assert set(refusal.value.errors) == {"when"}


@pytest.mark.parametrize("material_id", ["unknown", "\x00", "Not an id"])
def test_only_what_is_there_can_be_planned(ada: User, material_id: str) -> None:
    with pytest.raises(UnknownMaterial):
        schedules.plan(
            material_id, act="publish", due_at=timezone.now() + SOON, zone="UTC", user=ada
        )


@pytest.mark.parametrize("end", ["done", "failed", "cancelled"])
def test_what_has_ended_can_neither_be_cancelled_nor_happens_again(ada: User, end: str) -> None:
    draft()
    planned = plan(ada)
    if end == "cancelled":
        schedules.cancel(planned.pk, actor="ada")
    else:
        make_due()
        if end == "failed":
            actions.publish("article-107", actor="grace")
        run_once()
    planned.refresh_from_db()
    assert planned.state == end
    happened = facts()

    with pytest.raises(NotScheduled):
        schedules.cancel(planned.pk, actor="ada")
    make_due()
    assert run_once() == DONE
    assert facts() == happened
    planned.refresh_from_db()
    assert planned.state == end


# --- carrying out ------------------------------------------------------------------------------


def test_nothing_happens_before_the_time(ada: User) -> None:
    draft()
    plan(ada)

    assert run_once() == DONE
    assert facts() == []


def test_what_is_due_happens_under_the_name_of_who_planned_it(ada: User) -> None:
    draft()
    plan(ada)
    plan(ada, "withdraw", hours=2, reason="Over.")
    make_due()

    assert run_once() == DONE
    assert facts() == [
        ("article-107", "material.published", 1),
        ("article-107", "material.withdrawn", 2),
    ]
    assert list(Revision.objects.values_list("actor", "reason", "user__username")) == [
        ("ada", "Over.", "ada"),
        ("ada", "", "ada"),
    ]
    assert set(Schedule.objects.values_list("state", flat=True)) == {"done"}
    assert run_once() == DONE
    assert len(facts()) == 2


def test_the_draft_is_published_as_it_stands_then(ada: User) -> None:
    draft(title="Before")
    plan(ada)
    person("change", "publish", username="grace")
    actions.edit("article-107", title="After", actor="grace")
    make_due()

    assert run_once() == DONE
    assert Revision.objects.get().title == "After"


def test_an_edit_after_planning_by_somebody_who_may_not_publish_does_not_go(ada: User) -> None:
    draft(title="Seen")
    planned = plan(ada)
    person("change", username="author")
    actions.edit("article-107", title="Slipped in", actor="author")
    make_due()

    assert run_once() == FAILED
    assert facts() == []
    planned.refresh_from_db()
    assert planned.state == "failed"
    assert "author changed the draft after this was planned" in planned.said


def test_what_was_changed_before_planning_goes_whoever_wrote_it(ada: User) -> None:
    draft(title="Before")
    plan(ada)
    actions.edit("article-107", title="After", actor="author without the right")
    plan(ada, hours=2)
    make_due()

    assert run_once() == DONE
    assert Revision.objects.get().title == "After"


def test_a_change_that_was_not_on_the_page_when_its_time_was_set_was_not_planned(
    editor: Client,
) -> None:
    draft(title="Seen")
    page = editor.get("/editor/article-107/publish/").content.decode()
    assert "?act=publish&amp;version=1" in page
    actions.edit("article-107", title="Slipped in", actor="author")
    link = "/editor/article-107/schedule/?act=publish&version=1"
    fields = {"act": "publish", "when": "2999-07-01T12:00:00", "zone": "UTC"}
    fields["version"] = editor.get(link).context["form"]["version"].value()
    editor.post("/editor/article-107/schedule/", fields)
    # Changing the time without having looked at the draft again makes nothing seen.
    again = editor.get("/editor/article-107/schedule/?act=publish").context["form"]
    editor.post("/editor/article-107/schedule/", fields | {"version": again["version"].value()})
    make_due()

    assert run_once() == FAILED
    assert "author changed the draft" in Schedule.objects.get().said


@pytest.mark.parametrize(("version", "kept"), [("", 1), ("x", 0), ("9" * 19, 1), ("\x00", 0)])
def test_odd_versions_in_the_form_are_no_error(editor: Client, version: str, kept: int) -> None:
    draft()
    fields = {"act": "publish", "when": "2999-07-01T12:00:00", "zone": "UTC", "version": version}

    assert editor.post("/editor/article-107/schedule/", fields).status_code == 302
    assert Schedule.objects.get().version == kept


def test_what_is_refused_is_kept_with_the_sentence_and_holds_nobody_up(ada: User) -> None:
    published(title="Already out")
    plan(ada)
    draft("other")
    schedules.plan("other", act="publish", due_at=timezone.now() + SOON, zone="UTC", user=ada)
    make_due()

    assert run_once() == FAILED
    failed = Schedule.objects.get(material_id="article-107")
    assert failed.state == "failed"
    assert "is published as it stands" in failed.said
    assert Material.objects.get(material_id="other").state == "published"


@pytest.mark.parametrize("loss", ["right", "account", "user"])
def test_who_may_not_publish_any_more_does_not_publish_by_a_plan(ada: User, loss: str) -> None:
    draft()
    plan(ada)
    if loss == "right":
        ada.user_permissions.clear()
    elif loss == "account":
        User.objects.update(is_active=False)
    else:
        ada.delete()
    make_due()

    assert run_once() == FAILED
    assert facts() == []
    assert "ada has no right" in Schedule.objects.get().said


def test_a_busy_material_is_tried_again_and_holds_nobody_up(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft()
    plan(ada)
    draft("other")
    schedules.plan("other", act="publish", due_at=timezone.now() + SOON, zone="UTC", user=ada)
    make_due()
    real = actions.publish

    def busy(material_id: str, **options: object) -> Revision:
        if material_id == "article-107":
            raise TryAgain("busy")
        return real(material_id, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(actions, "publish", busy)
    assert run_once() == FAILED
    assert [material for material, _, _ in facts()] == ["other"]
    monkeypatch.setattr(actions, "publish", real)

    assert run_once() == DONE
    assert [material for material, _, _ in facts()] == ["other", "article-107"]


@pytest.mark.django_db(transaction=True)
def test_a_plan_that_fails_for_no_known_reason_is_given_up_and_holds_nobody_up(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft()
    planned = plan(ada)
    draft("other")
    schedules.plan("other", act="publish", due_at=timezone.now() + SOON, zone="UTC", user=ada)
    make_due()
    real, published_meanwhile = actions.publish, list[bool]()

    def fail(material_id: str, **options: object) -> Revision:
        if material_id != "article-107":
            return real(material_id, **options)  # type: ignore[arg-type]
        published_meanwhile.append(any(name == "other" for name, _, _ in facts()))
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO no_such_table SELECT 'postgres://u:SECRET@h/'")
        raise AssertionError

    monkeypatch.setattr(actions, "publish", fail)
    monkeypatch.setattr("messaging.running.process.FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("messaging.running.process.LONGEST_PAUSE_SECONDS", 0.01)
    with Lifetime(catch_signals=False) as lifetime:
        runner = ScheduleRunner(lifetime)
        monkeypatch.setattr(
            lifetime,
            "pause",
            lambda _: None if Schedule.objects.pending().exists() else lifetime.stop(),
        )
        assert runner.run() == DONE

    assert published_meanwhile == [False] + [True] * (len(published_meanwhile) - 1)
    assert len(published_meanwhile) == schedule_runner.TRIES
    planned.refresh_from_db()
    assert planned.state == "failed"
    assert planned.said.startswith("This failed each time it was tried, at last with: ")
    assert "no_such_table" in planned.said
    assert "SECRET" not in planned.said
    with translation.override("ru"):
        assert translated(planned.said).startswith("Ни одна попытка не удалась")


@pytest.mark.django_db(transaction=True)
def test_a_stop_between_act_and_mark_leaves_neither(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft()
    plan(ada)
    make_due()

    def die(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(schedules, "_settle", die)
    with pytest.raises(KeyboardInterrupt):
        schedules.carry_out_next(now=timezone.now())
    assert facts() == []
    monkeypatch.undo()

    assert run_once() == DONE
    assert len(facts()) == 1


@pytest.mark.django_db(transaction=True)
def test_several_runners_carry_each_plan_out_once() -> None:
    user = person(*EVERYTHING)
    for number in range(12):
        draft(f"article-{number}", title=f"Title {number}")
        schedules.plan(
            f"article-{number}",
            act="publish",
            due_at=timezone.now() + SOON,
            zone="UTC",
            user=user,
        )
    make_due()

    def run() -> None:
        while True:
            try:
                if schedules.carry_out_next(now=timezone.now()) is None:
                    return
            except (schedules.ScheduleBusy, OperationalError):
                continue

    at_once([run] * 3)

    assert len(facts()) == 12
    assert Revision.objects.count() == 12
    assert not Schedule.objects.exclude(state="done").exists()


def test_a_look_that_finds_nothing_due_holds_up_nobody_who_writes(
    ada: User, django_assert_num_queries: Any
) -> None:
    draft()
    plan(ada)

    with django_assert_num_queries(1) as asked:
        assert schedules.carry_out_next(now=timezone.now()) is None

    assert asked.captured_queries[0]["sql"].startswith("SELECT")


def test_an_idle_runner_looks_again_no_later_than_the_next_plan(ada: User) -> None:
    draft()
    with Lifetime(catch_signals=False) as lifetime:
        runner = ScheduleRunner(lifetime)
        assert runner._pause() == timedelta(seconds=0.5)
        plan(ada, seconds=0.3)
        assert timedelta(0) < runner._pause() <= timedelta(seconds=0.3)


# --- the pages ---------------------------------------------------------------------------------


def test_a_time_is_set_in_the_zone_that_was_chosen(editor: Client) -> None:
    draft(title="Queues that forgive")

    response = editor.post(
        "/editor/article-107/schedule/",
        {"act": "publish", "when": "2999-07-01T12:00", "seconds": "5", "zone": "Europe/Berlin"},
        follow=True,
    )

    assert Schedule.objects.get().due_at == datetime(2999, 7, 1, 10, 0, 5, tzinfo=UTC)
    assert "will be published on 1 Jul 2999, 12:00:05 Europe/Berlin" in text_of(response)
    told = "to be published 1 Jul 2999, 12:00:05 Europe/Berlin change cancel"
    assert told in text_of(response)
    assert told in text_of(editor.get("/editor/"))
    assert "to be published" in text_of(editor.get("/editor/?state=scheduled"))
    again = editor.get("/editor/article-107/schedule/?act=publish").content.decode()
    assert 'value="2999-07-01T12:00"' in again
    assert 'name="seconds" value="5"' in again
    assert '<option value="Europe/Berlin" selected>' in again
    assert (
        '<option value="Europe/Berlin" selected>'
        in editor.get("/editor/article-107/schedule/?act=withdraw").content.decode()
    )


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"when": ""}, "when"),
        ({"when": "soon"}, "when"),
        ({"when": "2001-01-01T00:00:00"}, "when"),
        ({"when": "2999-07-01T12:00:00+02:00"}, "when"),
        ({"when": "9999-12-31T23:59:59"}, "when"),
        ({"when": "0001-01-01T00:00:00"}, "when"),
        ({"when": "2027-03-28T02:30:00"}, "when"),
        ({"when": "2027-10-31T02:30:00"}, "when"),
        ({"when": "\x00"}, "when"),
        ({"seconds": "60"}, "seconds"),
        ({"seconds": "-1"}, "seconds"),
        ({"seconds": "\x00"}, "seconds"),
        ({"zone": "Europe/Nowhere"}, "zone"),
        ({"zone": "\x00"}, "zone"),
        ({"act": "withdraw", "reason": "x" * 501}, "reason"),
    ],
)
def test_what_cannot_be_planned_is_told_beside_its_field(
    editor: Client, fields: dict[str, str], field: str
) -> None:
    published()
    sent = {"act": "publish", "when": "2999-07-01T12:00:00", "zone": "Europe/Berlin", **fields}

    response = editor.post("/editor/article-107/schedule/", sent)

    assert response.status_code == 422
    assert set(response.context["form"].errors) == {field}
    assert not Schedule.objects.exists()


def test_a_plan_is_cancelled_with_one_click(editor: Client, ada: User) -> None:
    draft()
    number = plan(ada).pk

    response = editor.post(f"/editor/schedule/{number}/cancel/", follow=True)

    assert "the planned time is cancelled" in text_of(response)
    assert Schedule.objects.get().state == "cancelled"
    again = editor.post(f"/editor/schedule/{number}/cancel/", follow=True)
    assert "not planned any more" in text_of(again)
    assert "cancelled by ada" in text_of(editor.get("/editor/article-107/schedule/"))


def test_what_failed_is_told_until_somebody_has_noted_it(editor: Client, ada: User) -> None:
    published(title="Already out")
    number = plan(ada).pk
    make_due()
    run_once()

    history = text_of(editor.get("/editor/article-107/history/"))
    assert "not published as planned" in history
    assert "“Already out” is published as it stands (revision 1)." in history
    assert "not published as planned" in text_of(editor.get("/editor/"))

    response = editor.post(f"/editor/schedule/{number}/noted/", follow=True)

    assert "not published as planned" not in text_of(response)
    assert "not published as planned" not in text_of(editor.get("/editor/"))
    assert "is published as it stands" in text_of(editor.get("/editor/article-107/schedule/"))
    assert (Schedule.objects.get().state, Schedule.objects.get().noted_by) == ("failed", "ada")


@pytest.mark.parametrize("by", ["publication", "plan"])
def test_what_failed_is_overtaken_by_what_came_after_it(editor: Client, ada: User, by: str) -> None:
    published()
    plan(ada)
    make_due()
    run_once()

    actions.edit("article-107", title="Newer", actor="ada")
    if by == "publication":
        actions.publish("article-107", actor="ada")
    else:
        plan(ada)

    assert "not published as planned" not in text_of(editor.get("/editor/article-107/history/"))


@pytest.mark.parametrize("happens", ["published", "draft", "withdrawn", "right", "author"])
def test_why_it_failed_is_told_in_the_language_of_who_reads_it(
    editor: Client, ada: User, happens: str
) -> None:
    published(title="Очереди") if happens in ("published", "withdrawn") else draft(title="Очереди")
    plan(ada, "withdraw" if happens in ("draft", "withdrawn") else "publish")
    if happens == "withdrawn":
        actions.withdraw("article-107", actor="ada")
    elif happens == "author":
        actions.edit("article-107", title="Slipped in", actor="edgar")
    elif happens == "right":
        Schedule.objects.update(actor="grace", user=None)
    make_due()
    with translation.override("ru"):
        run_once()

    english = Schedule.objects.get().says
    with translation.override("ru"):
        russian = Schedule.objects.get().says

    assert re.fullmatch(r"[ -~“”]+", english.replace("Очереди", ""))
    assert re.fullmatch(r"[^“”]*[а-я][^“”]*", russian)
    assert not re.search("[a-z]{4,}", re.sub("Slipped in|edgar|grace", "", russian))


def test_only_what_failed_can_be_noted(client: Client, editor: Client, ada: User) -> None:
    draft()
    number = plan(ada).pk

    response = editor.post(f"/editor/schedule/{number}/noted/", follow=True)
    assert "That has not failed." in text_of(response)
    client.force_login(person("view", username="edgar"))
    assert client.post(f"/editor/schedule/{number}/noted/").status_code == 403
    assert Schedule.objects.get().noted_by == ""


@pytest.mark.parametrize("number", ["0", "7", str(2**63), "9" * 99])
def test_there_is_no_cancelling_what_is_not_there(editor: Client, number: str) -> None:
    assert editor.post(f"/editor/schedule/{number}/cancel/").status_code == 404


@pytest.mark.parametrize("act", ["", "explode", "\x00"])
def test_an_act_that_does_not_exist_is_not_found(editor: Client, act: str) -> None:
    draft()

    code = editor.get("/editor/article-107/schedule/", {"act": act}).status_code
    assert code == (200 if act == "" else 404)


@pytest.mark.parametrize("right", ["publish", "withdraw"])
def test_a_plan_needs_the_right_to_the_act(client: Client, right: str) -> None:
    user = person("view", *({"publish", "withdraw"} - {right}))
    client.force_login(user)
    draft()
    number = plan(user, right).pk
    fields = {"act": right, "when": "2999-07-01T12:00:00", "zone": "UTC"}

    assert client.get(f"/editor/article-107/schedule/?act={right}").status_code == 403
    assert client.post("/editor/article-107/schedule/", fields).status_code == 403
    assert client.post(f"/editor/schedule/{number}/cancel/").status_code == 403
    assert Schedule.objects.get().state == "pending"
    assert "cancel-schedule" not in client.get("/editor/").content.decode()
