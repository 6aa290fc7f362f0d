"""Samples of run folders with the answers that their tasks received. The folders contain raw answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polymeter.core.request import Tags
from polymeter.reading.stops import cut_at_stop

_MODEL_ROLE = "model"


def tags_of_task(manifest: Mapping[str, Any], task: str) -> Tags | None:
    """Return the tags around reasoning in the answers to a task; ``None`` for the known ones.

    Args:
        manifest: The content of ``run.json``. Earlier versions recorded no tags.
        task: The task's name.
    """
    tags = _rules_of(manifest, task).get("reasoning_tags")
    return None if tags is None else tuple((str(opening), str(closing)) for opening, closing in tags)


def samples_as_read(
    samples: Iterable[dict[str, Any]], manifest: Mapping[str, Any], task: str
) -> Iterator[dict[str, Any]]:
    """Yield samples with answers that end at the stop strings of their requests; reasoning stays. Answers of a wrapped
    model do not change, because it applies stop strings itself.

    Args:
        samples: Lines of ``samples/*.jsonl``. They are changed.
        manifest: The content of ``run.json``.
        task: The task's name.
    """
    options = (manifest.get("options") or {}).get("identity") or {}
    traits = (manifest.get("model") or {}).get("traits") or {}
    if traits.get("is_foreign") and not options.get("apply_stops_to_foreign"):
        yield from samples
        return
    tags, is_whole = tags_of_task(manifest, task), _rules_of(manifest, task).get("stop_strings") == "anywhere"
    for sample in samples:
        for exchange in sample["exchanges"]:
            stops = ((exchange.get("request") or {}).get("ask") or {}).get("stop") or ()
            for output in exchange["response"]["outputs"] if stops and exchange["role"] == _MODEL_ROLE else ():
                if output.get("text") is not None:
                    output["text"] = cut_at_stop(output["text"], stops, tags, is_whole=is_whole)
        yield sample


def _rules_of(manifest: Mapping[str, Any], task: str) -> Mapping[str, Any]:
    for entry in manifest.get("tasks") or ():
        if entry.get("name") == task:
            return entry.get("reading") or {}
    return {}
