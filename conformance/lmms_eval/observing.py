"""Turns the result documents of both tools, which have one form, into observations."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.frame import plain

# What a line of samples says beside its scores.
_ABOUT = {
    "arguments", "doc", "doc_hash", "doc_id", "filter", "input", "input_media", "resps", "token_counts",
    "filtered_resps", "target",
}  # fmt: skip


# What a task downloads is an empty folder in the original, and the rows that `--data` puts in its place in Polymeter.
_DOWNLOADED = re.compile(r'[^"\s]*/(?:hub|rows/[^/"\s]+)/')


def observed_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a task's row of results: ``metric,filter`` → value.

    A metric without a value is left out with its errors: only one of the tools lists metrics that a task declares and
    never computes.
    """
    numbers = {name: plain(value) for name, value in row.items() if "," in name and value != "bootstrap"}
    without = {name.split(",")[0] for name, value in numbers.items() if value is None or value in ([], {})}
    return {name: value for name, value in numbers.items() if not _belongs(name.split(",")[0], without)}


def _belongs(name: str, metrics: Iterable[str]) -> bool:
    return any(
        name in {f"{metric}{end}" for end in ("", "_stderr", "_stderr_clt", "_stderr_clustered")} for metric in metrics
    )


def observed_samples(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The scores of each sample; with several filters, a sample has a line for each."""
    seen = Counter[Any]()
    samples = {}
    for line in lines:
        number = line["doc_id"]
        samples[f"{number}.{seen[number]}"] = {name: plain(value) for name, value in line.items() if name not in _ABOUT}
        seen[number] += 1
    return samples


def read_prompts(file: Path, task: str, model: str) -> dict[str, str]:
    """What the wrapper was given for a task, by row and number of the request."""
    if not file.exists():
        return {}
    made = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        name, who, number, prompt = json.loads(line)
        if (name, who) == (task, model):
            text, _, settings = prompt.rpartition("\x00")
            made |= {number: _DOWNLOADED.sub("downloaded/", text), f"{number} settings": settings}
    return made
