"""The samples of a run as Python users read them: what was asked, answered and scored, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.text.json_text import as_number
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder
from polymeter.store.reading.exchanges import asked_of_model, media_paths, noted_of_media, outputs_of, prompt_of


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """One sample of a run that has ended.

    Attributes:
        task: Its task.
        id: Its id, unique in the task.
        index: Its place in the task's order.
        subset: Path of its subset; empty if there is only one.
        status: ``ok``, ``error``, ``refused``, ``truncated`` or ``unscored``.
        prompt: The text of its first request, messages separated by blank lines.
        answer: What was scored, after filters; the model's text if nothing was.
        target: What was expected, as text.
        scores: Its values by metric; ``metric,filter`` where the answers went through a filter.
        error: Why it has no score; empty if it has one.
        media: Files with what the model was shown, as far as previews were kept.
        files: The names that the dataset gives for the files of these, as far as it names any.
        images: Files of generated images.
        doc: Its row, without media.
        exchanges: All requests and responses, as in ``samples/*.jsonl``.
    """

    task: str
    id: str
    index: int
    subset: tuple[str, ...]
    status: str
    prompt: str
    answer: str | None
    target: str | None
    scores: dict[str, Any]
    error: str
    media: tuple[Path, ...]
    files: tuple[str, ...]
    images: tuple[Path, ...]
    doc: Any = field(repr=False)
    exchanges: list[dict[str, Any]] = field(repr=False)


def sample_records(folder: RunFolder, task: str) -> Iterator[SampleRecord]:
    """The samples of a task that have ended, in order. One is in memory at a time."""
    for sample in read_samples(folder, task):
        yield _record(folder, task, sample)


def _record(folder: RunFolder, task: str, sample: Mapping[str, Any]) -> SampleRecord:
    asked = asked_of_model(sample)
    outputs = outputs_of(asked)
    answer = sample.get("answer")
    if answer is None:
        answer = next((output["text"] for output in outputs if output.get("text") is not None), None)
    error = sample.get("error") or {}
    return SampleRecord(
        task,
        str(sample["id"]),
        int(sample["index"]),
        tuple(sample.get("subset") or ()),
        str(sample["status"]),
        prompt_of(asked),
        answer,
        sample.get("target"),
        {_key(score): as_number(score.get("value")) for score in sample.get("scores", ())},
        str(error.get("message") or ""),
        media_paths(folder.media, noted_of_media(asked)),
        tuple(dict.fromkeys(noted_of_media(asked, "name"))),
        media_paths(folder.media, (name for output in outputs for name in output.get("images") or ())),
        sample.get("doc"),
        [*sample.get("exchanges", ())],
    )


def _key(score: Mapping[str, Any]) -> str:
    name = str(score.get("filter") or "none")
    return str(score["metric"]) if name == "none" else f"{score['metric']},{name}"
