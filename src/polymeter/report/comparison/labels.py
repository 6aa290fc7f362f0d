"""Names of compared runs that can be read in a sentence.

"400 is better, by 0.090" looks like a number that is better than another. A run whose folder is only a number is called
by its step or as a run, and runs that would have one name are called by their models or folders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.report.formatting import one_line

_STEP_BEFORE = r"(?:checkpoint|ckpt|step|iter|iteration|global_step)[-_=]?0*"
_TRACKED = re.compile(r"[/\\]track[/\\]")
"""``polymeter track`` names the run of each checkpoint by its step, below a folder of this name."""


def run_labels(names: Sequence[str], paths: Sequence[str], models: Sequence[str]) -> list[str]:
    """Return a distinct label for each run.

    Args:
        names: Its name: the last part of its folder, or more parts.
        paths: Its folder.
        models: Its model.
    """
    labels = [_label(*run) for run in zip(names, paths, models, strict=True)]
    if len({*labels}) == len(labels):
        return labels
    by_model = [one_line(model) for model in models]
    return by_model if len({*by_model}) == len(by_model) and all(by_model) else [one_line(name) for name in names]


def labelled(document: Mapping[str, Any], labels: Sequence[str] = ()) -> dict[str, Any]:
    """Return a comparison with readable names of its runs.

    Args:
        document: The comparison, as ``polymeter compare --json`` prints it.
        labels: The names; default: those of ``run_labels``.
    """
    runs = [document["first"], *document["others"]]
    first, *others = labels or run_labels(
        [str(run["name"]) for run in runs],
        [str(run.get("path", "")) for run in runs],
        [str(run.get("model", "")) for run in runs],
    )
    return {
        **document,
        "first": {**document["first"], "name": first},
        "others": [{**run, "name": name} for run, name in zip(document["others"], others, strict=True)],
    }


def _label(name: str, path: str, model: str) -> str:
    last = re.split(r"[/\\]", name)[-1]
    if not last.isdecimal():
        return one_line(name)
    is_step = re.search(rf"{_STEP_BEFORE}{int(last)}(?!\d)", model) or _TRACKED.search(f"/{path}")
    if is_step:
        return f"step {int(last):,}"
    return f"run {name}" if name == last else one_line(name)
