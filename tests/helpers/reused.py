"""Comparison of a run with one that reused its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polymeter.core.model import Model
from polymeter.core.options import RunOptions
from polymeter.core.records.usage import USAGE_BY_ROLE
from polymeter.core.request import OwnPrompt, Request
from polymeter.models.mock import MockBatch
from polymeter.run.plan.plan import Plan
from polymeter.run.plan.selection import SelectedTasks
from polymeter.run.reuse.keys import RequestKeys
from polymeter.run.schedule.running_samples import PendingRequest, RunningSample, RunningTask
from polymeter.store.reading.reused import REUSED
from tests.helpers.tasks import ListTask, docs

_NOTE = "taken from other runs"


def assert_same_but_origin(run: Path, original: Path) -> None:
    """Compare ``results.json`` and ``samples/*.jsonl`` byte for byte, without the origins and the usage, which is 0."""
    assert {file.name for file in (run / "samples").iterdir()} == {f.name for f in (original / "samples").iterdir()}
    for file in sorted((original / "samples").iterdir()):
        ours = (run / "samples" / file.name).read_text().splitlines()
        theirs = file.read_text().splitlines()
        assert [_compact(_without(json.loads(line))) for line in ours] == theirs
    results = json.loads((run / "results.json").read_text())
    before = json.loads((original / "results.json").read_text())
    results["notes"] = [note for note in results["notes"] if _NOTE not in note]
    before["notes"] = [note for note in before["notes"] if _NOTE not in note]
    for document in (results, before):
        document.pop(USAGE_BY_ROLE)
    assert json.dumps(results) == json.dumps(before)


def counts(run: Path) -> tuple[int, dict[str, int]]:
    """The number of reused answers of a run, and of requests that were asked, by reason."""
    record = json.loads((run / "run.json").read_text())["reuse"]
    return record["reused"], record["asked"]


def seen_by(
    model: Model,
    request: Request | OwnPrompt,
    *,
    index: int = 0,
    task: str = "list",
    source: str = "v1",
    **options: Any,
) -> PendingRequest:
    """A request of a sample, with its key for this model."""
    made = ListTask(docs(index + 1), name=task, source=source).as_task()
    plan = Plan(model, None, (), SelectedTasks(()), RunOptions.make(options), opened=(made,))
    running = RunningTask(made, 1, range(index + 1), "", reuse_key=RequestKeys(plan).of)
    return RunningSample(running, made.samples[index]).ask("model", request)


def key_of(request: Request, *, model: Model | None = None, **where: Any) -> str:
    """The key of a request; by default for a model that does not read rows."""
    return seen_by(model or MockBatch(lambda r: "x", identity={}, reads_rows=False), request, **where).content_key


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(item) for name, item in value.items() if name != REUSED}
    return [_without(item) for item in value] if isinstance(value, list) else value


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
