"""The journal of a run that another tool made: its log, sample by sample, in the rows that every reader knows.

The rows claim nothing beyond the log. Requests have the digest of their text as fingerprint, and none if the log does
not hold the prompt; the model has no fingerprint; rows belong to no part of a run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

from polymeter.core.acting.tools import write_call
from polymeter.core.errors import DataError, PlanError
from polymeter.core.logs import LoggedExchange, LoggedMedium, LoggedMessage, LoggedOutput, LoggedSample, LoggedTask
from polymeter.core.media.sources import digest
from polymeter.core.task import Score
from polymeter.core.text.codec import compact_json, jsonable, jsonable_as_json
from polymeter.store.database import connect
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.wire import write_score

IMPORTED = "imported"
"""The key in ``run.json`` for the origin of an imported run, and the digest of its scores."""
_AT_ONCE = 256


def imported_from(manifest: Mapping[str, Any]) -> str:
    """The tool and version that a run was imported from; empty for a run of Polymeter's own."""
    found = manifest.get(IMPORTED)
    if not found:
        return ""
    version = str(found.get("version") or "")
    of_ours = "files of " if version.startswith("polymeter") else ""
    return f"{found.get('title')} {of_ours}{version}".strip()


def refuse_imported(manifest: Mapping[str, Any], path: Path) -> None:
    """Refuse an operation on an imported run that needs its task or its model.

    Args:
        manifest: The content of ``run.json``.
        path: The run folder.

    Raises:
        PlanError: if the run was imported.
    """
    source = imported_from(manifest)
    if source:
        raise PlanError(
            f"This run was imported from {source}. It cannot be resumed, scored or run again: its log holds neither "
            f"the task nor the model.",
            where=str(path),
            hint="show, report, verify and compare work on it. For everything else, run the task with 'polymeter run'.",
        )


def write_journal(path: Path, tasks: Iterable[LoggedTask]) -> None:
    """Write the journal of a log. The same log gives the same bytes.

    Args:
        path: The journal's file, which does not exist yet.
        tasks: The tasks; their samples are read one after the other.

    Raises:
        DataError: if a sample cannot be read, or two of a task have the same id.
        StorageError: if it cannot be written.
    """
    tasks = tuple(tasks)
    draft = path.with_name(f"draft-{path.name}")
    writer = JournalWriter(draft, [task.name for task in tasks])
    try:
        for task in tasks:
            _write_samples(writer, writer.task_ids[task.name], task)
    finally:
        writer.close()
    writer.check()
    # The number of rows in a transaction, and so the pages of the file, depend on the moment; a copy does not.
    with closing(connect(draft)) as db:
        db.execute("VACUUM INTO ?", (str(path),))
    for file in (draft, *(draft.with_name(draft.name + ending) for ending in ("-wal", "-shm"))):
        file.unlink(missing_ok=True)


def _write_samples(writer: JournalWriter, number: int, task: LoggedTask) -> None:
    samples = (_settled(sample, is_scored=bool(task.results)) for sample in task.samples())
    seen: set[str] = set()
    places: set[int] = set()
    while chunk := [*islice(samples, _AT_ONCE)]:
        for sample in chunk:
            if sample.id in seen or sample.index in places:
                raise DataError(f"The log of task {task.name!r} has sample {sample.id!r} twice.")
            seen.add(sample.id)
            places.add(sample.index)
        asked = [row for sample in chunk for row in _asked(number, sample)]
        writer.put("requests", [request for request, _ in asked if request is not None])
        writer.put("responses", [response for _, response in asked])
        scored = [(sample, _score(sample)) for sample in chunk if sample.status == "ok"]
        writer.put("scores", [(number, one.index, IMPORTED, *score) for one, score in scored])
        writer.put("samples", [_end(number, sample) for sample in chunk])


def _settled(sample: LoggedSample, *, is_scored: bool) -> LoggedSample:
    """Return a sample as it ended: without any value it has no score, if its task has numbers."""
    if is_scored and sample.status == "ok" and not any(map(_is_value, sample.scores.values())):
        return replace(sample, status="unscored", error="the log has no score for it")
    return sample


def _asked(number: int, sample: LoggedSample) -> Iterator[tuple[tuple[str, str] | None, tuple[Any, ...]]]:
    """The rows of requests and responses of a sample."""
    occurrences: dict[tuple[str, str, str], Iterator[int]] = {}
    turns: dict[str, Iterator[int]] = {}
    for exchange in sample.exchanges:
        body = _request(exchange)
        fingerprint = "" if body is None else digest(body.encode("utf-8", "surrogatepass"))
        occurrence = next(occurrences.setdefault((exchange.role, exchange.model, fingerprint), count()))
        turn = next(turns.setdefault(exchange.role, count()))
        response = compact_json({"outputs": [_output(output) for output in exchange.outputs]})
        where = (number, sample.index, exchange.role, exchange.model, fingerprint, occurrence, turn)
        yield None if body is None else (fingerprint, body), (*where, response)


def _request(exchange: LoggedExchange) -> str | None:
    """A request as the journal holds one; ``None`` if the log does not hold the prompt."""
    if exchange.messages is None:
        return None
    messages = [_stored_message(message) for message in exchange.messages]
    ask: dict[str, Any] = {"kind": exchange.kind, **jsonable(dict(exchange.settings))}
    if exchange.kind == "loglikelihood":
        ask["continuations"] = list(exchange.continuations)
    return compact_json({"messages": messages, "ask": ask})


def _stored_message(message: LoggedMessage) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "parts": [_stored_part(part) for part in message.parts]}
    if message.calls:
        body["calls"] = [write_call(call) for call in message.calls]
    return {**body, "call_id": message.call_id} if message.call_id else body


def _stored_part(part: str | LoggedMedium) -> dict[str, Any]:
    if isinstance(part, LoggedMedium):
        return {part.kind: {"source": part.source} if part.source else {}}
    return {"text": part}


def _output(output: LoggedOutput) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name in ("text", "finish_reason", "reasoning"):
        if getattr(output, name) is not None:
            body[name] = getattr(output, name)
    if output.choices:
        body["logprobs"] = [[choice.logprob, choice.is_greedy, choice.n_tokens] for choice in output.choices]
    if output.calls:
        body["tool_calls"] = [write_call(call) for call in output.calls]
    tokens = [output.input_tokens, output.output_tokens, output.reasoning_tokens]
    if any(n is not None for n in tokens):
        body["usage"] = tokens
    return body


def _score(sample: LoggedSample) -> tuple[int, str]:
    """The columns of a score: whether it is exact, and its text."""
    score = Score(
        {key: value for key, value in sample.scores.items() if _is_value(value)},
        sample.target,
        sample.answer,
        sample.explanation,
        sample.log,
    )
    written = write_score(score)
    return int(written.is_exact), written.body


def _is_value(value: Any) -> bool:
    """Return whether a value is a score: ``None`` and NaN are not."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _end(number: int, sample: LoggedSample) -> tuple[Any, ...]:
    message = None if sample.status == "ok" else sample.error or "the log does not say why"
    return (
        number,
        sample.index,
        sample.id,
        json.dumps(sample.subset) if sample.subset else "",
        sample.cluster,
        sample.status,
        None if message is None else json.dumps({"kind": IMPORTED, "message": message}, ensure_ascii=False),
        None if sample.doc is None else jsonable_as_json(dict(sample.doc)),
        None,
        None,
    )
