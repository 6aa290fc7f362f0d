"""The journal: every request, response, score and end of a sample, in one SQLite file.

This module defines its rows and reads them. ``polymeter.store.journal_writer`` writes them.

SQLite's WAL needs a local disk: a journal on a network file system is refused, and ``--journal-dir`` puts it
elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.names.stable_names import ACT_ROLE, OWN_PROMPT_ROLE
from polymeter.core.task import SampleStatus
from polymeter.store.database import connect
from polymeter.store.schema import FAILED_TRIES, RESERVATIONS, SHOWN, WITHOUT_PARTS, has_table
from polymeter.store.shown_media import IN_BODY, list_in

_STATES = {
    "answered": "SELECT DISTINCT sample FROM responses WHERE task=?",
    "failed": "SELECT sample FROM samples WHERE task=? AND status IN ('error', 'unscored')",
    "declined": "SELECT sample FROM samples WHERE task=? AND status IN ('refused', 'truncated')",
}


_STATUSES = {status.value: status for status in SampleStatus}


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The key of an answer within its sample. ``occurrence`` counts equal requests, so their order does not matter."""

    role: str
    model: str
    fingerprint: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Session:
    """A part of a run, between one start of it and its end, as the rows that it writes refer to it.

    Attributes:
        id: Unique among the parts of all runs, because ``score`` copies answers from one journal to another.
        code: Digest of Polymeter's code between a row and its score.
        facts: The time, the place and the endpoints of the run, as plain data.
    """

    id: int
    code: str
    facts: Mapping[str, Any]


@dataclass(slots=True)  # not frozen, because that takes several times as long to make
class SampleRow:
    """One sample in the journal; texts are as ``polymeter.store.wire`` writes them."""

    index: int
    id: str
    subset: tuple[str, ...]
    cluster: str | None
    status: SampleStatus
    error: dict[str, Any] | None
    doc: str | None
    score_digest: str | None
    score_is_exact: bool
    score: str | None


_OF_MODELS = f"role!='{OWN_PROMPT_ROLE}' AND substr(role, 1, {len(ACT_ROLE)})!='{ACT_ROLE}'"
"""The condition that a row is the answer of a model."""
STALE = -1
"""The turn of an answer that its sample no longer uses, because the request has changed. It is kept in case the request
recurs.
"""
SEAL_SEPARATOR = " "
"""Between the completion digest of a sample and the states of the files that it rests on, in one cell: so both are
durable together.
"""


class Journal:
    """Reads a journal, also while it is being written. One per thread.

    Args:
        path: The journal's file.

    Raises:
        JournalError: if it cannot be read; so does every method.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = connect(path)
        self._db.create_function("list_in", 1, list_in, deterministic=True)
        self._has_parts = self._db.execute("PRAGMA user_version").fetchone()[0] > WITHOUT_PARTS
        self._has_shown = has_table(self._db, SHOWN)
        self.task_ids: dict[str, int] = {
            name: number for number, name in self._db.execute("SELECT id, name FROM tasks")
        }

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def marks(
        self, task: str, state: str, length: int, completion_digest: str = "", code: str | None = None
    ) -> bytearray:
        """One byte for each sample of a task: 1 if it is in the requested state.

        Args:
            task: The task.
            state: ``completed``: it is completed with this completion digest; ``answered``: it has at least one answer;
                ``failed``: it ended with an error, or unscored; ``declined``: it ended refused or truncated.
            length: The number of samples of the task.
            completion_digest: The digest that counts as completed.
            code: The digest of the code that must have completed it; ``None``: any.
        """
        marks = bytearray(length)
        number = self.task_ids.get(task)
        if state != "completed":
            samples = self._db.execute(_STATES[state], (number,))
        else:
            by_code = "" if code is None else " AND part IN (SELECT id FROM parts WHERE code=?)"
            samples = self._db.execute(
                f"SELECT sample FROM samples WHERE task=? AND substr(seal, 1, ?)=?{by_code}",
                (number, len(completion_digest), completion_digest, *(() if code is None else (code,))),
            )
        for (index,) in samples:
            if index < length:
                marks[index] = 1
        return marks

    def files(self, task: str, completion_digest: str) -> Iterator[tuple[int, str]]:
        """Samples that are completed with a digest and rest on files: index, and the states of the files as text."""
        return self._db.cursor().execute(
            "SELECT sample, substr(seal, ?) FROM samples WHERE task=? AND substr(seal, 1, ?)=?",
            (
                len(completion_digest) + len(SEAL_SEPARATOR) + 1,
                self.task_ids.get(task),
                len(completion_digest) + len(SEAL_SEPARATOR),
                completion_digest + SEAL_SEPARATOR,
            ),
        )

    def parts(self) -> dict[int, Session]:
        """The parts of the run that wrote rows, by id."""
        if not self._has_parts:
            return {}
        rows = self._db.execute("SELECT id, code, body FROM parts").fetchall()
        return {number: Session(number, code, json.loads(body)) for number, code, body in rows}

    def answering_parts(self, task: str) -> Iterator[tuple[int, str, int | None]]:
        """The parts of the run that answered samples of a task: sample, role and part; ``None``: a part of an older
        version.
        """
        part = "part" if self._has_parts else "NULL"
        yield from self._db.cursor().execute(
            f"SELECT DISTINCT sample, role, {part} FROM responses WHERE task=? AND turn>=0 AND {_OF_MODELS}",
            (self.task_ids.get(task),),
        )

    def answers(self, task: str, index: int) -> dict[AnswerKey, str]:
        """The bodies of all answers of a sample."""
        answers = self._db.execute(
            "SELECT role, model, fingerprint, occurrence, body FROM responses WHERE task=? AND sample=?",
            (self.task_ids.get(task), index),
        )
        return {AnswerKey(*key): body for *key, body in answers}

    def answer(self, task: str, index: int, key: AnswerKey) -> str | None:
        """The body of one answer of a sample; ``None`` if it does not exist."""
        row = self._db.execute(
            "SELECT body FROM responses"
            " WHERE task=? AND sample=? AND role=? AND model=? AND fingerprint=? AND occurrence=?",
            (self.task_ids.get(task), index, key.role, key.model, key.fingerprint, key.occurrence),
        ).fetchone()
        return None if row is None else row[0]

    def answers_with_parts(self, task: str) -> Iterator[tuple[int, AnswerKey, int | None, str]]:
        """The answers that the samples of a task use: sample, key, part of the run (``None``: of an older version) and
        body. Models' own prompts are not answers.
        """
        part = "part" if self._has_parts else "NULL"
        rows = self._db.cursor().execute(
            f"SELECT sample, role, model, fingerprint, occurrence, {part}, body FROM responses"
            " WHERE task=? AND turn>=0 AND role!=?",
            (self.task_ids.get(task), OWN_PROMPT_ROLE),
        )
        for sample, role, model, fingerprint, occurrence, number, body in rows:
            yield sample, AnswerKey(role, model, fingerprint, occurrence), number, body

    def ids(self, task: str) -> list[tuple[int, str]]:
        """The indices and ids of all ended samples of a task, in order."""
        return self._db.execute(
            "SELECT sample, id FROM samples WHERE task=? ORDER BY sample", (self.task_ids.get(task),)
        ).fetchall()

    def part_of(self, task: str, index: int, key: AnswerKey) -> int | None:
        """The part of the run that wrote an answer of a sample; ``None`` if it is unknown, -1 if the answer does not
        count.
        """
        part = "part" if self._has_parts else "NULL"
        row = self._db.execute(
            f"SELECT {part} FROM responses WHERE turn>=0"
            " AND task=? AND sample=? AND role=? AND model=? AND fingerprint=? AND occurrence=?",
            (self.task_ids.get(task), index, key.role, key.model, key.fingerprint, key.occurrence),
        ).fetchone()
        return -1 if row is None else row[0]

    def scored_by(self, task: str, index: int) -> int | None:
        """The part of the run that ended a sample with a score; ``None`` if it is unknown, -1 if it has none."""
        part = "part" if self._has_parts else "NULL"
        row = self._db.execute(
            f"SELECT {part} FROM samples WHERE status='ok' AND task=? AND sample=?", (self.task_ids.get(task), index)
        ).fetchone()
        return -1 if row is None else row[0]

    def turns(self, task: str, index: int, role: str = "model") -> list[str]:
        """The bodies of a sample's answers in one role, in the order of their requests."""
        bodies = self._db.execute(
            "SELECT body FROM responses WHERE task=? AND sample=? AND role=? AND turn>=0 ORDER BY turn",
            (self.task_ids.get(task), index, role),
        )
        return [body for (body,) in bodies.fetchall()]

    def turns_between(self, task: str, start: int, stop: int) -> dict[int, list[tuple[str, tuple[str, ...]]]]:
        """The same in the role of the model for neighbouring samples, by index, each with the stop strings of its
        request; reads much faster than one by one.
        """
        found: dict[int, list[tuple[str, tuple[str, ...]]]] = {index: [] for index in range(start, stop)}
        bodies = self._db.execute(
            "SELECT r.sample, r.body, json_extract(q.body, '$.ask.stop')"
            " FROM responses r LEFT JOIN requests q ON q.fingerprint = r.fingerprint"
            " WHERE r.task=? AND r.sample>=? AND r.sample<? AND r.role='model' AND r.turn>=0"
            " ORDER BY r.sample, r.turn",
            (self.task_ids.get(task), start, stop),
        )
        for index, body, stops in bodies.fetchall():
            found[index].append((body, tuple(json.loads(stops)) if stops else ()))
        return found

    def asked(self, task: str, index: int) -> list[tuple[str, str, str | None, str]]:
        """The requests and answers of a sample, by role and turn: role, fingerprint of the request, bodies of both."""
        return self._db.execute(
            "SELECT r.role, r.fingerprint, q.body, r.body"
            " FROM responses r LEFT JOIN requests q ON q.fingerprint = r.fingerprint"
            f" WHERE r.task=? AND r.sample=? AND r.turn>=0 AND {_OF_MODELS} ORDER BY r.role, r.turn, r.occurrence",
            (self.task_ids.get(task), index),
        ).fetchall()

    def returned(self, task: str, index: int) -> str | None:
        """The text that the sample's rollout returned."""
        row = self._db.execute(
            "SELECT returned FROM samples WHERE task=? AND sample=?", (self.task_ids.get(task), index)
        ).fetchone()
        return row[0] if row else None

    def statuses(self, task: str) -> dict[str, int]:
        """The number of ended samples of a task by status."""
        counts = self._db.execute(
            "SELECT status, count(*) FROM samples WHERE task=? GROUP BY status", (self.task_ids.get(task),)
        )
        return dict(counts.fetchall())

    def failures(self, task: str) -> Iterator[tuple[str, str, str | None]]:
        """The ended samples of a task that have no score, in sample order: id, status, and the error as JSON."""
        yield from self._db.cursor().execute(
            "SELECT id, status, error FROM samples WHERE task=? AND status!='ok' ORDER BY sample",
            (self.task_ids.get(task),),
        )

    def rows(self, task: str, only: Sequence[int] | None = None) -> Iterator[SampleRow]:
        """Ended samples of a task, in sample order.

        Args:
            task: The task.
            only: The indices of the samples to read, a page of them; default: all.
        """
        rows = self._db.cursor().execute(
            "SELECT s.sample, s.id, s.subset, s.cluster, s.status, s.error, s.doc, c.digest, c.is_exact, c.body"
            " FROM samples s LEFT JOIN scores c ON c.task = s.task AND c.sample = s.sample"
            f" WHERE s.task=?{_among('s.sample', only)} ORDER BY s.sample",
            (self.task_ids.get(task), *(only or ())),
        )
        subsets: dict[str, tuple[str, ...]] = {"": ()}
        for index, name, subset, cluster, status, error, doc, digest, is_exact, score in rows:
            if subset not in subsets:
                subsets[subset] = tuple(json.loads(subset))
            yield SampleRow(
                index,
                name,
                subsets[subset],
                cluster,
                _STATUSES[status],
                json.loads(error) if error else None,
                doc,
                digest,
                bool(is_exact),
                score,
            )

    def indices(self, task: str) -> list[int]:
        """The indices of all ended samples of a task, in order."""
        found = self._db.execute("SELECT sample FROM samples WHERE task=? ORDER BY sample", (self.task_ids.get(task),))
        return [index for (index,) in found.fetchall()]

    def scores(self, task: str) -> list[tuple[str, str | None, str]]:
        """The scored samples of a task, in sample order: id, cluster and body of the score."""
        return self._db.execute(
            "SELECT s.id, s.cluster, c.body FROM samples s JOIN scores c ON c.task = s.task AND c.sample = s.sample"
            " WHERE s.task=? AND s.status='ok' ORDER BY s.sample",
            (self.task_ids.get(task),),
        ).fetchall()

    def model_answers(self, task: str) -> Iterator[tuple[int, str, str]]:
        """All answers of the model to samples of a task, by sample and turn: sample, fingerprint of the request and
        body of the response.
        """
        yield from self._db.cursor().execute(
            "SELECT sample, fingerprint, body FROM responses"
            " WHERE task=? AND sample>=0 AND turn>=0 AND role='model' ORDER BY sample, turn",
            (self.task_ids.get(task),),
        )

    def answer_bodies(self, task: str) -> Iterator[str]:
        """The bodies of all answers of the model to samples of a task, by sample; they may be damaged."""
        bodies = self._db.cursor().execute(
            "SELECT CAST(body AS BLOB) FROM responses WHERE task=? AND turn>=0 AND role='model'"
            " ORDER BY sample, role, model, fingerprint, occurrence",
            (self.task_ids.get(task),),
        )
        return (body.decode("utf-8", "replace") for (body,) in bodies)

    def all_answers(self) -> Iterator[tuple[str, str, int | None, bytes]]:
        """All answers of all tasks, also those that no sample uses any more: role, fingerprint of the model, part of
        the run and body, which may be damaged. Models' own prompts and observations are not answers.
        """
        part = "part" if self._has_parts else "NULL"
        yield from self._db.cursor().execute(
            f"SELECT role, model, {part}, CAST(body AS BLOB) FROM responses WHERE {_OF_MODELS}"
        )

    def observations(self, task: str) -> Iterator[tuple[int, str]]:
        """The observations of environments in a task, also those that were set aside: sample and body."""
        yield from self._db.cursor().execute(
            "SELECT sample, body FROM responses WHERE task=? AND sample>=0 AND substr(role, 1, ?)=?",
            (self.task_ids.get(task), len(ACT_ROLE), ACT_ROLE),
        )

    def sample_answers(self, task: str) -> Iterator[tuple[int, str, int | None, bytes]]:
        """The answers to samples of a task that their samples use, by sample: sample, role, part of the run and body,
        which may be damaged. Models' own prompts and observations are not answers.
        """
        part = "part" if self._has_parts else "NULL"
        yield from self._db.cursor().execute(
            f"SELECT sample, role, {part}, CAST(body AS BLOB) FROM responses"
            f" WHERE task=? AND sample>=0 AND turn>=0 AND {_OF_MODELS} ORDER BY sample",
            (self.task_ids.get(task),),
        )

    def failed_tries(self) -> list[tuple[str, str, int]]:
        """The number of failed tries: role, fingerprint of the model and number."""
        if not has_table(self._db, FAILED_TRIES):
            return []
        return self._db.execute("SELECT role, model, count(*) FROM failed_tries GROUP BY role, model").fetchall()

    def reservations(self) -> list[tuple[int, str, str, int, int, int]]:
        """The reservations under caps: part, role, state, tokens, cost and milliseconds, summed by the first three."""
        if not has_table(self._db, RESERVATIONS):
            return []
        return self._db.execute(
            "SELECT part, role, state, sum(tokens), sum(cost), sum(ms) FROM reservations GROUP BY part, role, state"
        ).fetchall()

    def shown(self, digests: Iterable[str]) -> dict[str, str]:
        """The records of what models were shown, as JSON, by digest; without those that the journal does not have."""
        if not self._has_shown:
            return {}
        found = ((one, self._db.execute("SELECT body FROM shown WHERE digest=?", (one,)).fetchone()) for one in digests)
        return {one: row[0] for one, row in found if row is not None}

    def shown_in(self, task: str) -> Iterator[str]:
        """The distinct records of what the model was shown in a task, as JSON, in no order."""
        if not self._has_shown or self._db.execute("SELECT 1 FROM shown LIMIT 1").fetchone() is None:
            return
        yield from (
            body
            for (body,) in self._db.cursor().execute(
                # Only the list is read as JSON: SQLite refuses a NaN, which log-probabilities beside it may hold.
                "SELECT body FROM shown WHERE digest IN (SELECT one.value FROM responses r, json_each(list_in(r.body)) "
                "one WHERE r.task=? AND r.sample>=0 AND r.turn>=0 AND r.role='model' AND instr(r.body, ?))",
                (self.task_ids.get(task), IN_BODY),
            )
        )

    def request(self, fingerprint: str) -> str | None:
        """The body of a request; ``None`` if the journal has none with this fingerprint."""
        row = self._db.execute("SELECT body FROM requests WHERE fingerprint=?", (fingerprint,)).fetchone()
        return row[0] if row else None

    def docs(self, task: str) -> Iterator[tuple[str, str | None]]:
        """The ids and rows, as JSON, of all ended samples of a task, in sample order."""
        yield from self._db.cursor().execute(
            "SELECT id, doc FROM samples WHERE task=? ORDER BY sample", (self.task_ids.get(task),)
        )

    def exchanges(self, task: str, only: Sequence[int] | None = None) -> Iterator[tuple[int, str, str, str, str]]:
        """The exchanges of a task: sample, role, fingerprint of the model, request body, response body.

        They are ordered by sample, role and turn. Models' own prompts and observations are left out, because the
        requests show them.

        Args:
            task: The task.
            only: The indices of the samples to read, a page of them; default: all.
        """
        return self._exchanges(task, "r.sample, r.role, r.model, q.body, r.body", only)

    def exchanges_by_part(self, task: str) -> Iterator[tuple[int, str, str, str, str, int | None]]:
        """All exchanges of a task, each with the part of the run that has the answer; ``None``: one of an older
        version.
        """
        part = "r.part" if self._has_parts else "NULL"
        return self._exchanges(task, f"r.sample, r.role, r.model, q.body, r.body, {part}")

    def _exchanges(self, task: str, columns: str, only: Sequence[int] | None = None) -> Iterator[Any]:
        yield from self._db.cursor().execute(
            f"SELECT {columns} FROM responses r LEFT JOIN requests q ON q.fingerprint = r.fingerprint"
            # Beside a list of samples, SQLite would scan a range of all of them.
            f" WHERE r.task=?{' AND r.sample>=0' if only is None else _among('r.sample', only)}"
            f" AND r.turn>=0 AND {_OF_MODELS}"
            " ORDER BY r.sample, r.role, r.turn",
            (self.task_ids.get(task), *(only or ())),
        )


def _among(column: str, only: Sequence[int] | None) -> str:
    """Return the condition that a column is one of some numbers; empty if all are requested."""
    return "" if only is None else f" AND {column} IN ({','.join('?' * len(only))})"
