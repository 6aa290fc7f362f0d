"""The outcome of ablations of a run: ``ablation.json`` in its folder, which nothing of the run itself reads.

It marks the samples that were answered right without their media. Reports and the viewer read these marks when they are
made. A run that was started anew since then has other answers, so the marks of the earlier one do not count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from polymeter.core.errors import PolymeterError
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
    known = read_ablation(folder).get("blind") or {}
    blind = {**known, **document["blind"]}
    write_json(folder.path / FILE, {**document, "blind": blind, _STARTED: started})


def read_ablation(folder: RunFolder) -> dict[str, Any]:
    """Return the outcome in a run's folder; empty if there is none, or it is of answers that the run had before.

    Raises:
        StorageError: if the file exists and cannot be read.
    """
    path = folder.path / FILE
    with stored_at(path, "Reading the ablations of a run"):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    with suppress(ValueError, PolymeterError):  # a damaged file marks nothing
        found = json.loads(text) if text else {}
        if isinstance(found, dict) and found.get(_STARTED) == folder.read_manifest().get("started"):
            return found
    return {}


def blind_marks(folder: RunFolder) -> BlindMarks:
    """Return the marks of the samples of a run that were answered right without their media.

    Raises:
        StorageError: if their file exists and cannot be read.
    """
    marks: dict[str, dict[str, tuple[str, ...]]] = {}
    for task, own in (read_ablation(folder).get("blind") or {}).items():
        for name, ids in own.items():
            for sample in ids:
                known = marks.setdefault(str(task), {})
                known[str(sample)] = (*known.get(str(sample), ()), str(name))
    return marks
