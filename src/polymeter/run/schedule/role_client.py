"""The engine's RoleClient: a question from deep inside a score becomes a request like any other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import replace

from polymeter.core.errors import PlanError
from polymeter.core.request import Error, Origin, Request, Response
from polymeter.core.task import ReadingRules
from polymeter.guests.door import Door
from polymeter.judge.llm_judge import ROLE
from polymeter.run.dispatch.answers import AnswerReader, stops_of
from polymeter.run.schedule.lost_verdicts import AbsentRole, FailedQuestion, UnusableAnswer
from polymeter.run.schedule.pool import Pool
from polymeter.run.schedule.running_samples import PendingRequest, RunningSample

_WHOLE = ReadingRules(is_separated=False)
"""Callers of another model read its answer with its reasoning."""


class SampleRoleClient:
    """Asks for one sample. Callable from any thread, also from threads that the task's own code started.

    While it waits it holds nothing: not the lock, not a worker's slot.

    Args:
        running: The sample.
        roles: The roles that this run fills.
        door: The run's way into guests.
        pool: The pool whose slot the caller may hold.
        send: Hands a request to the scheduler.
        reader: Cuts answers at stop strings.
        has_panel: Whether the run has several judges. Then each scores the sample, and a question to the judge goes to
            the one whose turn it is.
    """

    def __init__(
        self,
        running: RunningSample,
        roles: Collection[str],
        door: Door,
        pool: Pool,
        send: Callable[[PendingRequest], None],
        reader: AnswerReader,
        *,
        has_panel: bool = False,
    ) -> None:
        self._running = running
        self.roles = roles
        self._door = door
        self._pool = pool
        self._send = send
        self._reader = reader
        self._has_panel = has_panel
        self._last_calls: dict[int, int] = {}

    def __call__(self, role: str, request: Request) -> Response:
        """The answer of the model in that role, or a response that is an error.

        Raises:
            PlanError: No model has that role in this run.
        """
        if role not in self.roles:
            absent = PlanError(f"No model has the role {role!r} in this run.", hint=f"Name one with --{role}.")
            self._running.lost_verdicts[AbsentRole(role)] = str(absent)
            raise absent
        if self._has_panel and role == ROLE:
            role = self._seat()
        asked = self._running.ask(role, self._from_here(request))
        with self._running.lock:
            self._last_calls[threading.get_ident()] = len(self._running.judge_calls)
            self._running.judge_calls.append(asked.fingerprint)
        question = FailedQuestion(asked.fingerprint)
        response = self._running.verdicts.get(asked.question) or self._answer(asked)
        with self._running.lock:
            if response.error is not None:
                self._running.lost_verdicts[question] = response.error.message
            else:
                self._running.lost_verdicts.pop(question, None)
        return self._reader.read(role, stops_of(asked.request), response, _WHOLE)

    def _answer(self, asked: PendingRequest) -> Response:
        """Return the model's answers."""
        began = time.perf_counter()
        asked.waiter = threading.Event()
        with self._door.left(), self._pool.waiting():
            self._send(asked)
            asked.waiter.wait()
        with self._running.lock:
            self._running.asking_s += time.perf_counter() - began
        return asked.response or Response(error=Error("permanent", "The run was stopped."))

    def _seat(self) -> str:
        """The role of the judge whose turn it is.

        Raises:
            PlanError: if it is nobody's, because results are being computed and not the score of a sample.
        """
        if not self._running.seat:
            refused = PlanError(
                "A judge is asked while results are computed, but the run has several.",
                hint="Their verdicts on samples are combined, but nothing else: name one judge. 'polymeter score RUN "
                "--judge SPEC' uses the answers of this run.",
            )
            self._running.lost_verdicts[AbsentRole(ROLE)] = str(refused)
            raise refused
        return self._running.seat

    def refuse(self, why: str) -> None:
        """Note that a judge's answer could not be used: the sample has no score."""
        with self._running.lock:
            call = self._last_calls.get(threading.get_ident(), len(self._running.judge_calls))
            self._running.lost_verdicts.setdefault(UnusableAnswer(call), why)

    def note_reading(self, rule: str) -> None:
        """Note by which rule the verdict was read in the answer that this thread was given last."""
        call = self._last_calls.get(threading.get_ident())
        if call is not None:
            self._running.judge_rules[call] = rule

    def note_scorer(self, by: str, instead_of: str) -> None:
        """Note what the sample is measured with."""
        self._running.scorers[by, instead_of] = None

    def _from_here(self, request: Request) -> Request:
        """The request with the sample it is asked for as its origin, unless it names one."""
        origin = request.origin or Origin("", "")
        if origin.task:
            return request
        sample = self._running.sample
        return replace(request, origin=replace(origin, task=sample.task, sample=sample.id, index=sample.index))
