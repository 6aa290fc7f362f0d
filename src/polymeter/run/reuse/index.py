"""The index of reusable answers: from the key of a request to places in the journals of other runs.

It is a private SQLite file that ends with the process, so a million stored answers take little memory. It holds places
and no answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.text.codec import parse_json
from polymeter.run.reuse.keys import is_plain_stored
from polymeter.run.reuse.sources import ReusedRun, ReusingModel, is_recent
from polymeter.store.journal import Journal
from polymeter.store.media import media_path
from polymeter.store.reading.reused import CONTENT_KEY, REUSED, SERVED, marks_in
from polymeter.store.reading.stored_answers import StoredAnswer, stored_answers

_TABLE = (
    "CREATE TABLE answers (key BLOB, state INTEGER, place INTEGER, run INTEGER, task INTEGER, sample INTEGER,"
    " role TEXT, model TEXT, fingerprint TEXT, occurrence INTEGER, part INTEGER, served TEXT)"
)
_CACHE_KB = 65_536
_MOST = 64
"""Places that are looked at for one request."""
_AT_ONCE = 2_000


class Reason(IntEnum):
    """The reason why a request was asked although runs were named; ``NONE``: it was not."""

    NONE = 0
    NOT_FOUND = 1
    SAMPLED = 2
    UNKNOWN_MEDIA = 3
    OLD = 4
    ADDRESS = 5
    MOVED = 6
    STOPS = 7
    NO_IMAGE = 8
    BROKEN = 9
    CHANGED = 10


IN_WORDS = {
    Reason.NOT_FOUND: "no equal request was found",
    Reason.SAMPLED: "the answer is sampled without a seed",
    Reason.UNKNOWN_MEDIA: "the content of a medium is not known here",
    Reason.OLD: "an older version stored the answer, without proof of what was sent",
    Reason.ADDRESS: "the answer is from another address",
    Reason.MOVED: "the name may stand for another model by now (--reuse-days)",
    Reason.STOPS: "stop strings were sent otherwise",
    Reason.NO_IMAGE: "an image of the answer is missing",
    Reason.BROKEN: "the answer was broken off or declined",
    Reason.CHANGED: "a file behind the answer has changed",
}


@dataclass(frozen=True, slots=True)
class AnswerPlace:
    """The place of an answer. ``served``: the model that must be served now; empty: any."""

    state: Reason
    run: int
    task: int
    sample: int
    role: str
    model: str
    fingerprint: str
    occurrence: int
    part: int | None
    served: str


class AnswerIndex:
    """The index. Used on one thread at a time.

    Args:
        runs: The runs, the preferred first.
        models: The models of this run, by fingerprint.
        days: The age in days up to which answers of a name that may move count; ``None``: only a statement counts.

    Raises:
        PlanError: if a journal is damaged.
    """

    def __init__(self, runs: Sequence[ReusedRun], models: dict[str, ReusingModel], days: float | None) -> None:
        self._runs = runs
        self._models = models
        self._days = days
        self.n_answers = 0
        self.n_without_image = [0] * len(runs)
        self._db = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        for setting in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KB}"):
            self._db.execute(f"PRAGMA {setting}").close()
        self._db.execute(_TABLE)
        self._db.execute("BEGIN")
        for number, run in enumerate(runs):
            rows = self._rows(number, run)
            while some := [*islice(rows, _AT_ONCE)]:
                self._db.executemany("INSERT INTO answers VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", some)
                self.n_answers += len(some)
        self._db.execute("CREATE INDEX by_key ON answers (key, state, place)")
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Delete the index."""
        self._db.close()

    def find(self, key: str, model: str, occurrence: int, task: str, sample: int) -> Iterator[AnswerPlace]:
        """The places of answers to a request: those of the same row first, then others; if no place may be reused,
        places that may not, for the reason.

        Args:
            key: The key of the request.
            model: The fingerprint of the model.
            occurrence: The number of the request among equal ones of its sample.
            task: The task.
            sample: The index of the sample.
        """
        mark = _mark(key, model, occurrence)
        is_any = False
        for condition, values in (("=", "AND place=?"), ("=", "AND place!=?"), (">", "AND place>=?")):
            if condition == ">" and is_any:
                return
            place = _place(task, sample) if condition == "=" else -(2**63)
            found = self._db.execute(
                "SELECT state, run, task, sample, role, model, fingerprint, occurrence, part, served FROM answers"
                f" WHERE key=? AND state{condition}0 {values} LIMIT {_MOST}",
                (mark, place),
            ).fetchall()
            for state, *row in found:
                is_any = True
                yield AnswerPlace(Reason(state), *row)

    def _rows(self, number: int, run: ReusedRun) -> Iterator[tuple[Any, ...]]:
        journal: Journal | None = None
        try:
            for answer in stored_answers(run.folder, self._models):
                has_keys = run.has_keys(answer.part)
                if not has_keys and journal is None:
                    journal = Journal(run.folder.journal)
                try:
                    yield self._row(number, run, answer, journal, has_keys=has_keys)
                except (ValueError, KeyError, TypeError) as error:
                    raise PlanError(
                        f"The journal is damaged: an answer cannot be read ({error}).", where=str(run.folder.journal)
                    ) from None
        finally:
            if journal is not None:
                journal.close()

    def _row(
        self, number: int, run: ReusedRun, answer: StoredAnswer, journal: Journal | None, *, has_keys: bool
    ) -> tuple[Any, ...]:
        marks = marks_in(answer.body)
        model = self._models[answer.model]
        state = self._state(number, run, answer, marks)
        if not has_keys and state is Reason.NONE:
            stored = journal.request(answer.fingerprint) if journal is not None else None
            is_proven = run.reads_as_now(answer.part) and stored is not None and is_plain_stored(json.loads(stored))
            state = Reason.NONE if is_proven and not model.model.reads_rows else Reason.OLD
        served = ""
        if state is Reason.NONE and model.model.may_move:
            at = (marks.get(REUSED) or {}).get("at") or run.facts(answer.part).get("started") or ""
            if not is_recent(str(at), self._days):
                served = str(marks.get(SERVED) or "")
                state = state if served else Reason.MOVED
        key = _mark(marks.get(CONTENT_KEY) or answer.fingerprint, answer.model, answer.occurrence)
        task = run.tasks.get(answer.task, "")
        where = (number, answer.task, answer.sample, answer.role, answer.model, answer.fingerprint, answer.occurrence)
        return (key, int(state), _place(task, answer.sample), *where, answer.part, served)

    def _state(self, number: int, run: ReusedRun, answer: StoredAnswer, marks: Any) -> Reason:
        model = self._models[answer.model]
        if model.addresses:
            there = {
                *filter(None, str((run.facts(answer.part).get("endpoints") or {}).get(answer.role, "")).split(","))
            }
            if not there or not there <= model.addresses:
                return Reason.ADDRESS
        if '"images":' in answer.body:
            names = [name for output in parse_json(answer.body)["outputs"] for name in output.get("images", ())]
            if not all(os.path.exists(media_path(run.folder.media, name)) for name in names):
                self.n_without_image[number] += 1
                return Reason.NO_IMAGE
        return Reason.NONE


def _mark(key: str, model: str, occurrence: int) -> bytes:
    return hashlib.blake2b(f"{key}|{model}|{occurrence}".encode(), digest_size=16).digest()


def _place(task: str, sample: int) -> int:
    """A number of 63 bits for a row of a task."""
    return int.from_bytes(hashlib.blake2b(f"{task}|{sample}".encode(), digest_size=8).digest(), "big") >> 1
