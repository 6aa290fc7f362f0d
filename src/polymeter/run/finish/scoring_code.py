"""Digest of the code of Polymeter between a row and its score.

Every sample that ends is marked with it. A run that resumes with other code runs those samples again over their stored
answers, so that all scores of a run are of one kind. Code that no sample passes through (commands, reports, statistics,
which are computed anew at every reduction) does not count, and neither do backends of models: a model's answer stays
its answer.

Rows name the part of the run that wrote them, and the part's record holds this digest. So all scores of a run are made
by one version, and a prompt that the new code changes is sent again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import polymeter
from polymeter.core.names.installing import installed_version
from polymeter.core.names.registry import entry_points

_PASSED = (
    "core", "data", "guests", "interop", "judge", "library", "metrics", "reading", "tasks",
    "extend.py", "run/ablation", "run/permuting", "run/repeats", "run/variants",
    "run/dispatch/answers.py", "run/schedule/journal_lookup.py", "run/schedule/lost_verdicts.py",
    "run/schedule/panel.py", "run/schedule/role_client.py", "run/schedule/rollouts.py",
    "run/schedule/running_samples.py", "run/schedule/samples/limits.py", "run/schedule/scoring.py",
    "run/schedule/task_rows.py", "store/wire.py",
)  # fmt: skip
"""The code that a sample passes through from a row to requests, and from answers to a score."""
_NOT_PASSED = frozenset(("command.py", "evaluation.py", "files", "flags.py", "models", "results.py"))
"""Parts of a system that only its command line, its files or its models use."""
_PACKAGES = (
    "jieba", "latex2sympy2_extended", "numpy", "opencv-python-headless", "pillow", "rapidfuzz", "sacrebleu",
    "scikit-image", "scikit-learn", "scipy", "sympy",
)  # fmt: skip
"""Packages with which metrics compute the score of a sample. Those that compute on a device (torch, transformers) are
left out: their builds differ from machine to machine. ``run.json`` records their versions for every part.
"""
_GROUPS = tuple(f"polymeter.{kind}" for kind in ("aggregations", "detectors", "formats", "interop", "metrics"))
"""The entry point groups through which installed packages add such code."""


# Kept for the life of the process, whose code does not change; it takes 15 ms.
@lru_cache(maxsize=1)
def scoring_code() -> str:
    """Digest of the sources, and of the versions of packages that metrics compute with or that add such code."""
    home = Path(polymeter.__file__).parent
    state = blake2b(digest_size=16)
    n_files = 0
    for place in _sources(home):
        with open(f"{home}/{place}", "rb") as file:
            state.update(place.encode() + b"\0" + file.read() + b"\0")
        n_files += 1
    if not n_files:  # installed without sources
        state.update(polymeter.__version__.encode())
    for added in sorted([*_packages(), *_added()]):
        state.update(added.encode() + b"\0")
    return state.hexdigest()


def _packages() -> Iterator[str]:
    for name in _PACKAGES:
        version = installed_version(name)
        if version is not None:
            yield f"{name} {version}"


def _added() -> Iterator[str]:
    for group in _GROUPS:
        for point in entry_points(group=group):
            package = f" {point.dist.name} {point.dist.version}" if point.dist else ""
            yield f"{group} {point.name}={point.value}{package}"


def _sources(home: Path) -> Iterator[str]:
    """The files, by their places below ``home``, in the order of their paths."""
    for name in _PASSED:
        if name.endswith(".py"):
            yield from [name] if (home / name).is_file() else []
            continue
        below = [place for place in _sources_below(home, name) if not _is_not_passed(place)]
        yield from sorted(below, key=lambda place: place.split("/"))


def _sources_below(home: Path, name: str) -> Iterator[str]:
    # As text, because making a path of each of five hundred files takes longer than reading it.
    for folder, _, files in os.walk(home / name):
        place = os.path.relpath(folder, home).replace(os.sep, "/")
        yield from (f"{place}/{file}" for file in files if file.endswith(".py"))


def _is_not_passed(place: str) -> bool:
    inside = place.split("/")
    return inside[0] == "interop" and not _NOT_PASSED.isdisjoint(inside[2:3])
