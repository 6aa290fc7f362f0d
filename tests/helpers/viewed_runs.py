"""Run folders for the tests of the viewer, written through the store, and a client that asks the viewer for pages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.logs import LoggedExchange, LoggedMessage, LoggedOutput, LoggedSample, LoggedTask, StatedResult
from polymeter.store.exports.imported import write_journal
from polymeter.store.folder import RunFolder

TASK = "capitals"
HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</textarea></pre></script><script>window.hacked = 2</script>",
    "<img src=x onerror='window.hacked = 3'>",
    "javascript:window.hacked=4",
    "'\"><svg onload=window.hacked=5>",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe\u2066",
    "a\0b\x1b[31m",
    "half of a pair: \ud83d",
)


def exchange(prompt: str, answer: str | None, role: str = "model", **settings: Any) -> LoggedExchange:
    """One request and its answer."""
    messages = (LoggedMessage("system", ("Be brief.",)), LoggedMessage("user", (prompt,)))
    output = LoggedOutput(text=answer, finish_reason="stop", input_tokens=len(prompt) // 4, output_tokens=2)
    return LoggedExchange((output,), messages, settings=settings, role=role, model="judge-1" if role != "model" else "")


def sample(index: int, *, right: bool = True, status: str = "ok", **values: Any) -> LoggedSample:
    """A sample: a question about a country; each fifth is judged."""
    exchanges = [exchange(f"What is the capital of country {index}?", "Paris" if right else "Lyon")]
    if index % 5 == 0:
        exchanges.append(exchange(f"Is the answer to {index} right?", f"VERDICT {'yes' if right else 'no'}", "judge"))
    plain: dict[str, Any] = {
        "id": f"row-{index:04}",
        "index": index,
        "doc": {"country": f"country {index}", "continent": ("Africa", "Asia", "Europe")[index % 3]},
        "exchanges": tuple(exchanges),
        "scores": {("exact_match", "none"): float(right), ("f1", "none"): 0.9 if right else index % 10 / 20},
        "target": "Paris",
        "answer": "Paris" if right else "Lyon",
        "subset": ("north",) if index % 2 else ("south", "far"),
        "status": status,
        **({} if status == "ok" else {"scores": {}, "answer": None, "error": f"the endpoint failed for {index}"}),
    }
    return LoggedSample(**plain | values)


def write_run(
    folder: Path,
    samples: Sequence[LoggedSample] | Callable[[], Iterator[LoggedSample]],
    *,
    model: str = "model",
    status: str = "complete",
    started: str = "2026-05-04T10:00:00+00:00",
    n_planned: int | None = None,
    **manifest: Any,
) -> Path:
    """A run folder of one task with these samples."""
    folder.mkdir(parents=True)
    read = samples if callable(samples) else lambda: iter(samples)
    results = (StatedResult("exact_match", "none", 0.5, higher_is_better=True),)
    write_journal(folder / "journal.db", [LoggedTask(TASK, results, read)])
    ended = list(read())
    planned = len(ended) if n_planned is None else n_planned
    content = {
        "schema_version": 1, "status": status, "started": started, "command": "polymeter run",
        "model": {"name": model, "spec": {"backend": "mock", "name": "", "args": {}, "path": ""},
                  "identity": {"backend": "mock", "name": model}, "traits": {}},
        "roles": {}, "patterns": [TASK], "seconds": 12.5, "usage": {"input_tokens": 900, "output_tokens": 70},
        "selection": {"tasks": [TASK], "groups": {}, "layout": [["task", TASK, 0]]},
        "tasks": [{"name": TASK, "alias": "Capitals", "version": "1", "config": {}, "source_hash": "h",
                   "dataset_fingerprint": "f", "n_samples": planned, "num_fewshot": 0}],
        "identity": {"model": {"name": model}, "roles": {}, "tasks": [TASK], "options": {"seed": 0}},
        "options": {"identity": {"generation": {}, "seed": 0}, "runtime": {"include_paths": []}},
        "polymeter": {"version": "0.1.0", "commit": "abc", "is_dirty": False}, **manifest,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    if status == "complete":
        (folder / "results.json").write_text(json.dumps(_results(ended, model, planned)), encoding="utf-8")
    return folder


def _results(ended: Sequence[LoggedSample], model: str, planned: int) -> dict[str, Any]:
    statuses: dict[str, int] = {}
    for one in ended:
        statuses[one.status] = statuses.get(one.status, 0) + 1
    scored = [one for one in ended if one.status == "ok" and one.scores]
    failures = [
        {"n": 1, "message": str(one.error), "sample": one.id, "status": one.status} for one in ended if one.error
    ][:3]
    results = []
    for metric in ("exact_match", "f1"):
        values = [float(one.scores[metric, "none"]) for one in scored if (metric, "none") in one.scores]
        mean = sum(values) / len(values) if values else None
        results.append(
            {"metric": metric, "filter": "none", "subset": [], "value": mean, "n": len(values), "stderr": 0.1,
             "interval": None if mean is None else [max(mean - 0.1, 0), min(mean + 0.1, 1)], "stderr_method": "mean",
             "higher_is_better": True, "artifacts": [], "bounds": [0.0, 1.0]}
        )  # fmt: skip
    task = {
        "alias": "Capitals", "version": "1", "num_fewshot": 0, "n_samples": planned, "n_scored": len(scored),
        "statuses": statuses, "n_length": 0, "n_nondeterministic": 0, "source_hash": "h", "results": results,
        **({"failures": failures} if failures else {}),
    }  # fmt: skip
    return {
        "schema_version": 1, "status": "complete", "model": model, "tasks": {TASK: task}, "groups": {},
        "layout": [["task", TASK, 0]], "notes": [],
    }  # fmt: skip


def hostile_sample(index: int = 0, text: str = "") -> LoggedSample:
    """A sample of which every text wants to be markup."""
    said = text or "\n".join(HOSTILE)
    return sample(
        index,
        id=f"{HOSTILE[0]}-{index}",
        doc={HOSTILE[2]: said, "continent": HOSTILE[4]},
        exchanges=(exchange(said, said), exchange(said, said, "judge")),
        target=said,
        answer=said,
        explanation=said,
        subset=(HOSTILE[1],),
        scores={("exact_match", "none"): 1.0, ("f1", "none"): 0.5, (HOSTILE[2], "none"): 0.5},
    )


def add_media(run: Path, name: str, data: bytes) -> Path:
    """Put a file where the run keeps its media."""
    path = RunFolder(run).media / name[:2] / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
