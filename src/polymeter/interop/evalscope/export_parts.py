"""Parts of the files of both generations of EvalScope: the folder's shape, and results by subset."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum
from pathlib import Path
from typing import Any

import yaml

from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.exporting import ExportJob
from polymeter.core.text.finite import is_finite_number
from polymeter.core.text.json_text import json_text

SubsetNumber = tuple[str, float, int]
"""A subset, its number, and how many samples that rests on."""
SubsetRecord = tuple[str, dict[str, Any]]
"""A subset, and a record of it."""
WHOLE = "default"
PLAIN_IDS = "polymeter_plain_ids"
"""In a configuration: the benchmarks with samples that have numbers for ids and are in no subset. Files name one for
them; only a reader that knows this can pair them with the run that they are made of.
"""
_DIGITS = 4
_TOLERANCE = 1.5e-4
"""Reports round to four digits before they average, so a mean of means may be this far from the mean."""


def model_id(job: ExportJob) -> str:
    """The model's name in folders and reports: the last part of its name, as EvalScope takes it."""
    name = job.model.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.@+-]", "-", name) or "model"


def write_config(job: ExportJob, name: str) -> None:
    """Write the file without which EvalScope's dashboard opens no report: what was evaluated.

    Args:
        job: The run.
        name: The file's name.
    """
    config = {
        "model": job.model,
        "model_id": model_id(job),
        "model_args": job.model_args,
        "datasets": list(job.results["tasks"]),
        "dataset_args": {},
        "eval_backend": "Native",
        "limit": job.manifest["options"]["identity"].get("limit"),
        "seed": job.manifest["options"]["identity"].get("seed"),
        "work_dir": ".",
    }
    plain = [task for task in job.results["tasks"] if _has_plain_ids(job, task)]
    if plain:
        config[PLAIN_IDS] = plain
    path = job.folder / "configs" / name
    with stored_at(path, "Writing the configuration"), replacing(path) as file:
        file.write(yaml.safe_dump(config, allow_unicode=True))


def _has_plain_ids(job: ExportJob, task: str) -> bool:
    first = next(iter(job.read(task)), None)
    return first is not None and str(first["id"]).isdecimal() and not first["subset"]


def metrics_of(
    task: Mapping[str, Any], subsets: Collection[str]
) -> Iterator[tuple[str, str, Mapping[str, Any], list[SubsetNumber]]]:
    """The results of a task: metric, filter, the result of the whole, and those of its subsets.

    A report averages its subsets, and a dashboard opens the samples of each. So the whole is the only subset if its
    result is not a mean over the samples of subsets, or if results are of other parts than samples are.

    Args:
        task: The task's part of ``results.json``.
        subsets: The subsets of which there are files of samples.
    """
    only = next(iter(subsets)) if len(subsets) == 1 else WHOLE
    keys = dict.fromkeys((result["metric"], result["filter"]) for result in task["results"])
    for metric, name in keys:
        own = [result for result in task["results"] if (result["metric"], result["filter"]) == (metric, name)]
        numbers = [result for result in own if is_finite_number(result["value"])]
        whole = next((result for result in numbers if not result["subset"]), None)
        if whole is None:
            continue
        parts = [(label(part["subset"]), part["value"], int(part["n"])) for part in numbers if part["subset"]]
        parts = [part for part in parts if part[0] in subsets]
        if not parts or not _is_mean(whole["value"], parts):
            parts = [(only, whole["value"], int(whole["n"]))]
        yield metric, name, whole, parts


def label(path: Sequence[Any]) -> str:
    """The name of a subset, which is part of a file's name."""
    return "_".join(map(str, path)) or WHOLE


def adjacent(
    read: Callable[[], Iterable[tuple[str, dict[str, Any]]]],
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Records with those of a subset together. They are kept in memory only where they are not together already.

    Args:
        read: Reads records, each with its subset, from the start.
    """
    seen: set[str] = set()
    last = None
    for subset, _ in read():
        if subset != last and subset in seen:
            return sorted(read(), key=lambda pair: pair[0])
        seen.add(subset)
        last = subset
    return read()


def rounded(value: float) -> float:
    """A score as reports have it."""
    return round(float(value), _DIGITS)


def _is_mean(whole: float, parts: list[SubsetNumber]) -> bool:
    count = sum(n for _, _, n in parts)
    return count > 0 and abs(fsum(value * n for _, value, n in parts) / count - whole) <= _TOLERANCE


def write_lines(folder: Path, dataset: str, records: Iterable[SubsetRecord], *, has_folders: bool = False) -> set[str]:
    """Write one file for each subset and return the subsets. A subset's records must be adjacent.

    Args:
        folder: The folder.
        dataset: The benchmark.
        records: The records.
        has_folders: Whether a slash in a name makes a folder, as in EvalScope 1.x.
    """
    subsets = set()
    for subset, lines in groupby(records, key=lambda pair: pair[0]):
        subsets |= write_together(folder / file_name(dataset, subset, has_folders=has_folders), lines)
    return subsets


def write_together(path: Path, records: Iterable[SubsetRecord]) -> set[str]:
    """Write one file and return the subsets in it."""
    subsets = set()
    with stored_at(path, "Writing samples"), replacing(path) as file:
        for subset, record in records:
            subsets.add(subset)
            file.write(json_text(record, nan=None))
            file.write("\n")
    return subsets


def file_name(dataset: str, subset: str, *, has_folders: bool = False) -> str:
    """The name of a subset's file, with its folders if a slash makes one. No name leads out of the folder."""
    parts = f"{dataset}_{subset}".split("/") if has_folders else [f"{dataset}_{subset}"]
    plain = ["".join("_" if character in '/\\:*?"<>|' else character for character in part) for part in parts]
    return "/".join("_" if part.strip(".") == "" else part for part in plain) + ".jsonl"


def index_of(sample: Mapping[str, Any]) -> int:
    """The place of a sample in its subset, if its id has one; else in its benchmark."""
    number = str(sample["id"]).rpartition("/")[2]
    return int(number) if number.isdecimal() else int(sample["index"])
