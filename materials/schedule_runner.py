"""Carrying out what is planned, to the second, until stopped. Several may run."""

from datetime import timedelta

import structlog
from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone

from materials import schedules
from materials.models import Schedule
from messaging.running.process import DONE, FAILED, Lifetime
from messaging.storing.database_turns import DatabaseTurns

log = structlog.get_logger(__name__)

# Plans are made by other processes: how late one that is due at once may be seen.
LOOK = timedelta(seconds=0.5)


class ScheduleRunner:
    """One running process."""

    def __init__(self, lifetime: Lifetime, *, once: bool = False) -> None:
        self._lifetime = lifetime
        self._once = once
        self._turns = DatabaseTurns(DEFAULT_DB_ALIAS, lifetime)
        self._exit_code = DONE

    def run(self) -> int:
        """Carry out what falls due until stopped, or with `once` what is due now; the exit code.

        With `once` it is FAILED where an act was refused or its material was in use.
        """
        while not self._lifetime.stopping:
            self._carry_out_due()
            if self._once:
                break
            self._lifetime.pause(self._pause().total_seconds())
        return self._exit_code if self._once else DONE

    def _carry_out_due(self) -> None:
        busy: set[int] = set()
        while not self._lifetime.stopping:
            try:
                done = self._turns.insist(lambda: self._next(busy), still_wanted=lambda: True)
            except schedules.ScheduleBusy as error:
                busy.add(error.args[0])
                self._exit_code = FAILED
                continue
            if done is None:
                return
            self._tell(done)

    def _next(self, busy: set[int]) -> Schedule | None:
        return schedules.carry_out_next(now=timezone.now(), passing_over=busy)

    def _pause(self) -> timedelta:
        due = self._turns.insist(schedules.next_due, still_wanted=lambda: True)
        if due is None:
            return LOOK
        # Never nothing: what is due and in other hands would be asked for without end.
        return max(timedelta(seconds=0.02), min(LOOK, due - timezone.now()))

    def _tell(self, planned: Schedule) -> None:
        late = (timezone.now() - planned.due_at).total_seconds()
        record = log.info if planned.state == Schedule.State.DONE else log.warning
        record(
            "schedule carried out" if planned.state == Schedule.State.DONE else "schedule failed",
            act=planned.act,
            materialId=planned.material_id,
            schedule=planned.pk,
            late_seconds=round(late, 3),
            reason=planned.said,
        )
        if planned.state != Schedule.State.DONE:
            self._exit_code = FAILED
