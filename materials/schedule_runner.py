"""Carrying out what is planned, to the second, until stopped. Several may run.

A plan that fails for a reason which nobody foresaw is put off for a while, and kept as failed
after so many tries of one process; those behind it go on meanwhile.
"""

import time
from datetime import timedelta

import structlog
from django.db import DEFAULT_DB_ALIAS, Error
from django.utils import timezone

from materials import schedules
from materials.models import Schedule
from materials.refusals import TryAgain
from messaging.errors import OutageError
from messaging.running.error_texts import sanitised
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Backoff, Lifetime
from messaging.storing.database_turns import DatabaseTurns

log = structlog.get_logger(__name__)

# Plans are made by other processes: how late one that is due at once may be seen.
LOOK = timedelta(seconds=0.5)
TRIES = 5  # in a row; some fifteen seconds
# Who fails again so long after it could have been tried was planned anew meanwhile.
FORGOTTEN_SECONDS = 60.0


class ScheduleRunner:
    """One running process."""

    def __init__(self, lifetime: Lifetime, *, once: bool = False) -> None:
        self._lifetime = lifetime
        self._once = once
        self._turns = DatabaseTurns(DEFAULT_DB_ALIAS, lifetime)
        self._troubles: dict[int, _Trouble] = {}
        self._exit_code = DONE

    def run(self) -> int:
        """Carry out what falls due until stopped, or with `once` what is due now; the exit code.

        With `once` it is FAILED where an act was refused, failed, or its material was in use.
        """
        while not self._lifetime.stopping:
            self._carry_out_due()
            if self._once:
                break
            self._lifetime.pause(self._pause().total_seconds())
        return self._exit_code if self._once else DONE

    def _carry_out_due(self) -> None:
        left = self._put_off_now()
        while not self._lifetime.stopping:
            try:
                done = self._turns.insist(lambda: self._next(left), still_wanted=lambda: True)
            except schedules.ScheduleBusy as error:
                left.add(error.args[0])
                self._exit_code = FAILED
                continue
            except schedules.ScheduleFailed as error:
                left.add(error.args[0])
                self._put_off(error.args[0], error.__cause__ or error)
                continue
            if done is None:
                return
            self._troubles.pop(done.pk, None)
            self._tell(done)

    def _next(self, left: set[int]) -> Schedule | None:
        return schedules.carry_out_next(now=timezone.now(), passing_over=left)

    def _put_off_now(self) -> set[int]:
        now = time.monotonic()
        for number, each in list(self._troubles.items()):
            if now > each.next_try + FORGOTTEN_SECONDS:
                del self._troubles[number]
        return {number for number, each in self._troubles.items() if now < each.next_try}

    def _put_off(self, number: int, error: BaseException) -> None:
        self._exit_code = FAILED
        trouble = self._troubles.setdefault(number, _Trouble())
        trouble.tries += 1
        trouble.next_try = time.monotonic() + trouble.backoff.next_seconds()
        said = sanitised(error)
        log.warning("schedule put off", schedule=number, tries=trouble.tries, reason=said)
        if trouble.tries < TRIES:
            return
        try:
            self._turns.insist(
                lambda: schedules.give_up(number, because=said),
                still_wanted=lambda: False,
                transient_tries=1,
            )
        except (Error, OutageError, TryAgain):
            return  # After the next try, then.
        del self._troubles[number]
        log.error("schedule failed", schedule=number, reason=said)

    def _pause(self) -> timedelta:
        left = self._put_off_now()
        due = self._turns.insist(
            lambda: schedules.next_due(passing_over=left), still_wanted=lambda: True
        )
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


class _Trouble:
    """How often a plan failed in a row, and when it is tried again."""

    def __init__(self) -> None:
        self.tries = 0
        self.backoff = Backoff()
        self.next_try = 0.0
