"""The files that are written from the journal for others to read: ``results.json`` and ``samples/*.jsonl``.

Rows and exchanges are copied into ``samples/*.jsonl`` as the texts that the journal holds, so that nothing is parsed
only to be written again. Only text that is not strict JSON (a NaN in a row) is parsed and written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import file_name, stored_at
from polymeter.core.media.sources import digest
from polymeter.core.records.spread import is_bounded
from polymeter.core.records.truncation import LENGTH, Truncation
from polymeter.core.task import Result, SampleStatus
from polymeter.core.text.codec import compact_json, decode, jsonable, parse_json
from polymeter.core.text.json_text import as_number, json_text, may_be_bare, strict
from polymeter.store.folder import SCHEMA_VERSION, RunFolder, write_json
from polymeter.store.journal import Journal, SampleRow
from polymeter.store.reading.failures import MOST_SHOWN, FailureKind
from polymeter.store.shown_media import SHOWN_MEDIA, distinct_digests

AddressOf = Callable[[str, "int | None"], str]
"""``(role, part) → address`` of the endpoint that the answers come from."""


BEFORE_EXCHANGES = ',"exchanges":'
"""Stands in a line before the requests with their responses, which end it."""
_AT_ONCE = 500
"""Samples of one query of a slow reader."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task's part of ``results.json``."""

    name: str
    alias: str
    version: str
    num_fewshot: int
    n_samples: int
    source_hash: str
    results: Sequence[Result]
    n_nondeterministic: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    truncation: Truncation = field(default_factory=Truncation)
    scorers: Sequence[Mapping[str, str]] = ()
    n_scored: int | None = None
    """The number of samples with a score; ``None``: all that did not fail."""
    why_unscored: str | None = None
    """The reason why none of its samples is scored, in a sentence or empty; ``None``: some are, or none should be."""
    failures: Sequence[FailureKind] = ()
    judges: Mapping[str, Any] | None = None
    """The verdicts of each of several judges, and their agreement; ``None``: there is only one, or none was asked."""
    n_unfinished: int = 0
    """The number of answers that ended inside their reasoning and were read as empty."""
    protocol: Mapping[str, Any] | None = None
    """The facts of the protocol that it states."""
    shown: Mapping[str, Any] | None = None
    """The summary of what the model was shown (``store.reading.shown_summary``); ``None``: nothing is recorded."""
    n_restarted: int = 0
    """The number of samples that began anew, because their environment differed when the run was continued."""


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One group's part of ``results.json``."""

    name: str
    alias: str
    version: str
    members: Sequence[str]
    results: Sequence[Result]


def results_document(
    *,
    status: str,
    model: str,
    tasks: Sequence[TaskSummary],
    groups: Sequence[GroupSummary],
    layout: Sequence[Sequence[Any]],
    notes: Sequence[str],
    parity: str = "",
    skipped: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The content of ``results.json`` without usage. It depends only on the plan and the answers: no times, no local
    paths.
    """
    nothing_scored = {task.name: task.why_unscored for task in tasks if task.why_unscored is not None}
    return {
        "schema_version": SCHEMA_VERSION,
        "status": status,
        "model": model,
        **({"parity": parity} if parity else {}),
        **({"skipped": dict(skipped)} if skipped else {}),
        "tasks": {task.name: _task(task) for task in tasks},
        "groups": {
            group.name: {
                "alias": group.alias,
                "version": group.version,
                "members": list(group.members),
                "results": [_result(result) for result in group.results],
            }
            for group in groups
        },
        "layout": [list(line) for line in layout],
        **({"nothing_scored": nothing_scored} if nothing_scored else {}),
        "notes": list(notes),
    }


def write_results(folder: RunFolder, document: Mapping[str, Any]) -> None:
    """Write ``results.json``."""
    write_json(folder.results, document)


def write_samples(folder: RunFolder, journal: Journal, task: str, address_of: AddressOf | None = None) -> Path:
    """Write ``samples/<task>.jsonl``: one line for each ended sample, in sample order; only one is in memory.

    Args:
        folder: The run.
        journal: Its journal.
        task: The task.
        address_of: Gives the endpoint of an answer by its role and the part of the run that has it, for runs whose
            answers come from several; ``None``: endpoints are not written.
    """
    path = sample_file(folder, task)
    with stored_at(path, f"Writing {path.name}"), replacing(path) as file:
        for line in sample_lines(journal, task, address_of, is_strict=True):
            file.write(f"{line}\n")
    return path


def sample_file(folder: RunFolder, task: str) -> Path:
    """The file for a task's samples."""
    safe = "".join(character if character.isalnum() or character in "-_.@" else "_" for character in task)
    if safe != task:  # the digest keeps tasks apart whose names differ only in the replaced characters
        safe = f"{safe}-{digest(task.encode())[:8]}"
    return folder.samples / file_name(safe, ".jsonl")


def read_samples(folder: RunFolder, task: str) -> Iterator[dict[str, Any]]:
    """Read the samples of a task: from the journal, which alone distinguishes a NaN of a row from a missing value; from
    their file if the journal is missing.
    """
    if folder.journal.exists():
        with closing(Journal(folder.journal)) as journal:
            yield from _samples_with_exchanges(journal, task)
    else:
        yield from read_sample_file(folder, task)


def read_some(
    folder: RunFolder, task: str, indices: Sequence[int], offsets: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """A page of the samples of a task, whole, in the order of their indices.

    Args:
        folder: The run.
        task: The task.
        indices: The indices of the samples; those that have not ended are left out.
        offsets: Where their lines begin in the file of samples, for a run whose journal is missing.

    Raises:
        StorageError: if they cannot be read.
    """
    if folder.journal.exists():
        with closing(Journal(folder.journal)) as journal:
            return [read_sample(line) for line in sample_lines(journal, task, only=sorted(indices))]
    path = sample_file(folder, task)
    found = []
    with stored_at(path, f"Reading {path.name}"), path.open("rb") as file:
        for offset in sorted(offsets):
            file.seek(offset)
            found.append(read_sample(file.readline().decode("utf-8", "replace")))
    return found


def read_samples_at(folder: RunFolder, task: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read like ``read_samples``, each with the place of its line in the file of samples; -1 if they are in the
    journal. For a slow reader while the run continues: the journal is read some samples at a time, because rows written
    during one long query stay beside the journal, and soon need several times its size.
    """
    if folder.journal.exists():
        with closing(Journal(folder.journal)) as journal:
            indices = journal.indices(task)
            for start in range(0, len(indices), _AT_ONCE):
                some = [*sample_lines(journal, task, only=indices[start : start + _AT_ONCE])]
                yield from ((-1, json.loads(line)) for line in some)
        return
    path = sample_file(folder, task)
    if path.exists():
        with stored_at(path, f"Reading {path.name}"), path.open("rb") as file:
            offset = 0
            for line in file:
                yield offset, read_sample(line.decode("utf-8", "replace"))
                offset += len(line)


def read_sample_file(folder: RunFolder, task: str) -> Iterator[dict[str, Any]]:
    """The samples in the file of a task, none if there is no such file; much cheaper than from the journal."""
    path = sample_file(folder, task)
    if path.exists():
        with path.open(encoding="utf-8") as file:
            yield from map(read_sample, file)


def read_sample(text: str) -> dict[str, Any]:
    """The sample behind a line of a file of samples."""
    sample = json.loads(text)
    return {**sample, "scores": [{**one, "value": as_number(one["value"])} for one in sample["scores"]]}


def sample_lines(
    journal: Journal,
    task: str,
    address_of: AddressOf | None = None,
    *,
    is_strict: bool = False,
    only: Sequence[int] | None = None,
) -> Iterator[str]:
    """The samples of a task as JSON texts. Rows and exchanges are copied from the journal unchanged.

    Args:
        journal: The journal.
        task: The task.
        address_of: As for ``write_samples``.
        is_strict: Whether other readers of JSON must accept the text: numbers that are not finite become strings, and a
            NaN in a row or a request, where it is a missing value, ``null``.
        only: The indices of the samples to read, a page of them; default: all. Only without ``address_of``.
    """
    exchanges: Iterator[Any] = journal.exchanges(task, only) if address_of is None else journal.exchanges_by_part(task)
    for row, own in _with_exchanges(journal.rows(task, only), exchanges):
        doc = row.doc or "null"
        shown = _shown(journal, own)
        parts = ",".join([_exchange(exchange, address_of) for exchange in own])
        if is_strict and may_be_bare(doc, parts):
            doc = strict(doc, nan=None)
            parts = ",".join([_exchange(_strict_exchange(exchange), address_of) for exchange in own])
        yield f'{_head(row, is_strict)}{shown},"doc":{doc}{BEFORE_EXCHANGES}[{parts}]}}'


def _samples_with_exchanges(journal: Journal, task: str) -> Iterator[dict[str, Any]]:
    """Return the same as parsing ``sample_lines``, without putting the lines together first."""
    for row, own in _with_exchanges(journal.rows(task), journal.exchanges(task)):
        sample = _head_values(row)
        if records := journal.shown(distinct_digests(exchange[4] for exchange in own)):
            sample[SHOWN_MEDIA] = {name: parse_json(body) for name, body in records.items()}
        sample["doc"] = parse_json(row.doc) if row.doc else None
        sample["exchanges"] = [
            {
                "role": role,
                **({} if role == "model" else {"model": model}),
                "request": parse_json(request) if request else None,
                "response": parse_json(response),
            }
            for _, role, model, request, response in own
        ]
        yield sample


def _shown(journal: Journal, exchanges: Sequence[Sequence[Any]]) -> str:
    """Return the entry of a line for what was shown in some exchanges; empty if that is unknown."""
    records = journal.shown(distinct_digests(exchange[4] for exchange in exchanges))
    named = ",".join([f'"{name}":{body}' for name, body in records.items()])
    return f',"{SHOWN_MEDIA}":{{{named}}}' if named else ""


def _with_exchanges(rows: Iterable[SampleRow], exchanges: Iterator[Any]) -> Iterator[tuple[SampleRow, list[Any]]]:
    """Samples with their exchanges; both come by the indices of the samples."""
    current = next(exchanges, None)
    for row in rows:
        index = row.index
        while current is not None and current[0] < index:
            current = next(exchanges, None)
        own = []
        while current is not None and current[0] == index:
            own.append(current)
            current = next(exchanges, None)
        yield row, own


def _strict_exchange(exchange: Sequence[Any]) -> Sequence[Any]:
    index, role, model, request, response, *part = exchange
    return index, role, model, strict(request or "null", nan=None), strict(response), *part


def _exchange(exchange: Sequence[Any], address_of: AddressOf | None) -> str:
    """Return one exchange; for a judge also its model, since a journal may hold the verdicts of several."""
    _, role, model, request, response, *part = exchange
    if role == "model" and address_of is None:
        return f'{{"role":"model","request":{request or "null"},"response":{response}}}'
    judge = "" if role == "model" else f',"model":{json.dumps(model)}'
    endpoint = "" if address_of is None else f',"endpoint":{json.dumps(address_of(role, part[0]))}'
    return f'{{"role":{json.dumps(role)}{judge}{endpoint},"request":{request or "null"},"response":{response}}}'


def _head(row: SampleRow, is_strict: bool) -> str:
    """Return the part of a line before the row."""
    head = _head_values(row)
    return json_text(head, is_compact=True)[:-1] if is_strict else compact_json(head)[:-1]


def _head_values(row: SampleRow) -> dict[str, Any]:
    """Return the part of a line before the row."""
    score = decode(row.score) if row.score is not None and row.status is SampleStatus.OK else {}
    head = {
        "id": row.id,
        "index": row.index,
        "subset": list(row.subset),
        "cluster": row.cluster,
        "status": row.status.value,
        "error": row.error,
        "target": score.get("target"),
        "answer": score.get("answer"),
        "explanation": score.get("explanation"),
        "scores": [
            {"metric": metric, "filter": name, "value": jsonable(value)}
            for metric, name, value in score.get("values", ())
        ],
        "log": score.get("log", {}),
    }
    for name in ("judge_calls", "judge_rules", "n_unfinished"):
        if score.get(name):
            head[name] = score[name]
    return head


def _task(task: TaskSummary) -> dict[str, Any]:
    return {
        "alias": task.alias,
        "version": task.version,
        **({"protocol": jsonable(dict(task.protocol))} if task.protocol else {}),
        "num_fewshot": task.num_fewshot,
        "n_samples": task.n_samples,
        "n_scored": task.statuses.get("ok", 0) if task.n_scored is None else task.n_scored,
        "statuses": {
            status.value: task.statuses[status.value] for status in SampleStatus if task.statuses.get(status.value)
        },
        **_failures(task.failures),
        "n_length": task.truncation.counts.get(LENGTH, 0),
        **({"n_unfinished": task.n_unfinished} if task.n_unfinished else {}),
        **({"truncation": cuts} if (cuts := task.truncation.document()) else {}),
        **({"shown": dict(task.shown)} if task.shown else {}),
        "n_nondeterministic": task.n_nondeterministic,
        **({"n_restarted": task.n_restarted} if task.n_restarted else {}),
        "source_hash": task.source_hash,
        **({"scorers": [dict(scorer) for scorer in task.scorers]} if task.scorers else {}),
        **({"judges": jsonable(dict(task.judges))} if task.judges else {}),
        "results": [_result(result) for result in task.results],
    }


def _failures(kinds: Sequence[FailureKind]) -> dict[str, Any]:
    """Return the most frequent reasons of samples without a score, and the number of reasons if these are not all."""
    if not kinds:
        return {}
    more = {"n_failure_kinds": len(kinds)} if len(kinds) > MOST_SHOWN else {}
    return {"failures": [asdict(kind) for kind in kinds[:MOST_SHOWN]], **more}


def _result(result: Result) -> dict[str, Any]:
    return {
        "metric": result.metric,
        "filter": result.filter,
        "subset": list(result.subset),
        "value": jsonable(result.value),
        "n": jsonable(result.n),
        "stderr": jsonable(result.stderr),
        "interval": jsonable(list(result.interval)) if result.interval else None,
        "stderr_method": result.stderr_method,
        **({"ci_method": result.ci_method} if result.ci_method else {}),
        **({"no_interval": result.no_interval} if result.no_interval else {}),
        "higher_is_better": result.higher_is_better,
        "artifacts": list(result.artifacts),
        **({"bounds": list(result.bounds)} if is_bounded(result.bounds) else {}),
        **({} if result.item_errors is None else {"item_errors": jsonable(list(result.item_errors))}),
        **({} if result.n_planned is None else {"n_planned": result.n_planned}),
        **(
            {}
            if result.n_members is None
            else {"n_members": result.n_members, "failed_members": list(result.failed_members)}
        ),
    }
