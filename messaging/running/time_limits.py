"""Questions that may hang, and answers that may not.

A frozen database server keeps its connections open and says nothing: no timeout of its own or
of TCP ends the wait. So the question is asked in a thread that can be left behind.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from django.db import connections

Answer = TypeVar("Answer")


class Overdue(Exception):
    """No answer within the time."""


def answer_within(seconds: float, question: Callable[[], Answer]) -> Answer:
    """The answer to the question, asked in a thread with database connections of its own.

    Raises what the question raises, or Overdue. A thread without an answer is left behind; it
    ends with its connection and never keeps the process.
    """
    return _wait(_ask(question), seconds)


class SharedQuestion(Generic[Answer]):
    """A question that many ask at once: one thread answers all who ask meanwhile.

    An answer serves `fresh_seconds` long. At most `_MOST_LEFT_BEHIND` threads are ever waiting
    for an answer that does not come; then everybody is told Overdue until one of them ends.
    """

    def __init__(
        self, question: Callable[[], Answer], *, limit_seconds: float, fresh_seconds: float = 0.0
    ) -> None:
        self._question = question
        self._limit_seconds = limit_seconds
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._asked: list[tuple[float, Future[Answer]]] = []

    def answer(self) -> Answer:
        """The answer, or what the question raised, or Overdue."""
        return _wait(self._current(), self._limit_seconds)

    def _current(self) -> Future[Answer]:
        now = time.monotonic()
        with self._lock:
            if self._asked:
                asked_at, latest = self._asked[-1]
                still_good = self._fresh_seconds if latest.done() else _LEAVE_BEHIND_SECONDS
                if now - asked_at < still_good:
                    return latest
            waiting = [each for each in self._asked if not each[1].done()]
            if len(waiting) < _MOST_LEFT_BEHIND:
                waiting.append((now, _ask(self._question)))
            self._asked = waiting
            return self._asked[-1][1]


_LEAVE_BEHIND_SECONDS = 10.0
_MOST_LEFT_BEHIND = 4


def _ask(question: Callable[[], Answer]) -> "Future[Answer]":
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            answer = question()
        except Exception as error:  # noqa: BLE001 - whoever waits for the answer gets it
            connections.close_all()
            future.set_exception(error)
        else:
            connections.close_all()
            future.set_result(answer)

    threading.Thread(target=run, name="time-limited question", daemon=True).start()
    return future


def _wait(future: "Future[Answer]", seconds: float) -> Answer:
    try:
        return future.result(timeout=seconds)
    except TimeoutError:
        if future.done():
            raise  # the question's own
        raise Overdue from None
