"""What an imported log and a run of the same benchmark with the same answers have in common."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polymeter
from polymeter.core.logs import LoggedRun, LoggedSample, LoggedTask, reader_of


def read(path: Path) -> LoggedRun:
    """A log in neutral words."""
    return reader_of(path)[1].read(path)


def task_of(path: Path, name: str) -> LoggedTask:
    """One benchmark of a log."""
    return next(task for task in read(path).tasks if task.name == name)


def samples_of(path: Path, name: str) -> dict[str, LoggedSample]:
    """The samples of one benchmark of a log, by id."""
    return {sample.id: sample for sample in task_of(path, name).samples()}


def stated(path: Path, name: str) -> dict[tuple[str, str, tuple[str, ...]], Any]:
    """What a log says of one benchmark, by metric, filter and subset."""
    return {(one.metric, one.filter, one.subset): one.value for one in task_of(path, name).results}


def values(run: Path, name: str) -> dict[str, dict[str, float]]:
    """The numbers of each sample of a run folder, by id and metric."""
    lines = (run / "samples" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {
        sample["id"]: {
            score["metric"]: score["value"] for score in sample["scores"] if isinstance(score["value"], float)
        }
        for sample in map(json.loads, lines)
    }


def compared(ours: Path, imported: Path, metric: str) -> dict[str, Any]:
    """What ``polymeter compare`` finds in the task that both have, in one metric."""
    (other,) = polymeter.compare(ours, imported, metric=metric).document()["others"]
    (row,) = other["scores"]
    return {key: row[key] for key in ("n", "difference", "wins", "losses", "n_only_first", "n_only_second")}


SAME = {"difference": 0.0, "wins": 0, "losses": 0}


def copied(log: Path, folder: Path) -> Path:
    """A copy of a log that may be damaged."""
    return Path(shutil.copytree(log, folder / log.name))
