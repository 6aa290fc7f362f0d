"""The outcome of ablations of a run: ``ablation.json`` in its folder, which nothing of the run itself reads.

It marks the samples that were answered right without their media. Reports and the viewer read these marks when they are
made. A run that was started anew since then has other answers, so the marks of the earlier one do not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from polymeter.core.machine.places import stored_at
from polymeter.store.folder import RunFolder, write_json

FILE = "ablation.json"
PAGE = "ablation.html"
_STARTED = "run_started"
BlindMarks = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By task and id, the ablations without which a sample was answered right."""


def write_ablation(folder: RunFolder, document: Mapping[str, Any]) -> None:
    """Write the outcome. Marks of ablations that it does not hold are kept.

    Raises:
        StorageError: if it cannot be written.
    """
    started = folder.read_manifest().get("started")
    known = dict(_entries(read_ablation(folder).get("blind")))
    blind = {task: dict(_entries(known.get(task))) | own for task, own in document["blind"].items()}
    blind = {**known, **blind}
    write_json(folder.path / FILE, {**document, "blind": blind, _STARTED: started})


def read_ablation(folder: RunFolder) -> dict[str, Any]:
    """Return the outcome in a run's folder; empty if there is none, or it is of answers that the run had before.

    Raises:
        StorageError: if the file exists and cannot be read.
    """
    path = folder.path / FILE
    with stored_at(path, "Reading the ablations of a run"):
        data = path.read_bytes() if path.exists() else b""
    with suppress(ValueError):  # a damaged file marks nothing
        found = json.loads(data) if data else {}
        if isinstance(found, dict) and found.get(_STARTED) == folder.read_manifest().get("started"):
            return found
    return {}


def blind_marks(folder: RunFolder) -> BlindMarks:
    """Return the marks of the samples of a run that were answered right without their media.

    Raises:
        StorageError: if their file exists and cannot be read.
    """
    marks: dict[str, dict[str, tuple[str, ...]]] = {}
    for task, own in _entries(read_ablation(folder).get("blind")):
        for name, ids in _entries(own):
            for sample in ids if isinstance(ids, list) else ():
                known = marks.setdefault(task, {})
                known[str(sample)] = (*known.get(str(sample), ()), name)
    return marks


def _entries(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()
