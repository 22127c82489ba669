"""The process behind large actions: a piece of each in turn, so that none waits for another.

One whose piece fails is put off for a while, and given up, with the reason, after so many tries.
An outage of the store is no try: it is put off as well, for as long as that lasts.
"""

import time
from functools import partial

import structlog
from django.db import Error, connections

from messaging.errors import ConfigurationError, OutageError, TransientError
from messaging.letters import batches
from messaging.running.error_texts import sanitised
from messaging.running.exit_codes import DONE, FAILED
from messaging.running.process import Backoff, Lifetime
from messaging.storing.database_turns import DatabaseTurns, what_holds_it_up

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0
TRIES = 10  # in a row, of one process; some two minutes


class BatchRunner:
    """One process. Several may run."""

    def __init__(self, lifetime: Lifetime, *, using: str, once: bool = False) -> None:
        self._lifetime = lifetime
        self._using = using
        self._once = once
        self._turns = DatabaseTurns(using, lifetime)
        self._troubles: dict[int, _Trouble] = {}
        self._exit_code = DONE

    def run(self) -> int:
        """Go on until stopped, or with `once` until none is left; the exit code.

        That is 1 where, with `once`, a batch was given up. Raises ConfigurationError.
        """
        while not self._lifetime.stopping:
            try:
                pending = self._turns.insist(
                    partial(batches.pending, using=self._using), still_wanted=lambda: True
                )
                if self._once and not pending:
                    return self._exit_code
                went_on = [self._carry_on(batch_id) for batch_id in pending]
            except OutageError:
                break  # Stopping.
            if not any(went_on):
                self._lifetime.pause(LOOK_SECONDS)
        return DONE

    def _carry_on(self, batch_id: int) -> bool:
        trouble = self._troubles.get(batch_id)
        if self._lifetime.stopping or (trouble and time.monotonic() < trouble.next_try):
            return False
        try:
            with self._turns.turn():
                went_on = batches.carry_on(batch_id, using=self._using)
        except ConfigurationError:
            raise
        except OutageError as error:
            self._wait_apart(batch_id, error)
            return False
        except Exception as error:  # noqa: BLE001  # one must not hold up the others
            self._put_off(batch_id, error)
            return False
        self._troubles.pop(batch_id, None)
        return went_on

    def _wait_apart(self, batch_id: int, error: OutageError) -> None:
        trouble = self._troubles.setdefault(batch_id, _Trouble())
        seconds = trouble.put_off()
        log.warning(
            what_holds_it_up(error),
            batch=batch_id,
            reason=sanitised(error),
            retry_in_seconds=round(seconds, 1),
        )
        # After a failover the next connection may lead to a server that can be written to.
        connections.close_all()

    def _put_off(self, batch_id: int, error: Exception) -> None:
        trouble = self._troubles.setdefault(batch_id, _Trouble())
        trouble.tries += 1
        trouble.put_off()
        said = sanitised(error)
        log.warning("batch put off", batch=batch_id, tries=trouble.tries, reason=said)
        if trouble.tries < TRIES:
            return
        because = f"given up after {trouble.tries} tries: {said}"
        try:
            with self._turns.turn():
                batches.give_up(batch_id, because=because, using=self._using)
        except (Error, OutageError, TransientError):
            return  # After the next try, then.
        del self._troubles[batch_id]
        self._exit_code = FAILED
        log.error("batch given up", batch=batch_id, reason=said)


class _Trouble:
    """How often a batch failed in a row, and when it is tried again."""

    def __init__(self) -> None:
        self.tries = 0
        self.backoff = Backoff()
        self.next_try = 0.0

    def put_off(self) -> float:
        """For how many seconds."""
        seconds = self.backoff.next_seconds()
        self.next_try = time.monotonic() + seconds
        return seconds
