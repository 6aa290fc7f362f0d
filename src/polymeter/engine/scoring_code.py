"""Which code of Polymeter stands between a row and its score, as a digest.

Every sample that ends is marked with it. A run that goes on with other code runs those samples again over their stored
answers, so that all scores of a run are of one kind. Code that no sample passes through (commands, reports, statistics,
which are computed anew at every reduction) does not count, and neither do backends of models: what a model answered
stays its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

import polymeter
from polymeter.core.installing import installed_version
from polymeter.core.registry import entry_points

_PASSED = (
    *("core", "data", "formats", "guests", "interop", "judge", "library", "metrics"),
    *("engine/recall.py", "engine/role_client.py", "engine/rollouts.py", "engine/running_samples.py"),
    *("engine/panel.py", "engine/task_rows.py", "store/wire.py"),
)
"""What a sample passes through on its way from a row to requests, and from answers to a score."""
_NOT_PASSED = frozenset(
    (
        *("command.py", "efficiency.py", "evaluation.py", "filtered_answers.py", "flags.py", "models"),
        *("result_samples.py", "results.py"),
    )
)
"""Parts of a system that only its command line, its files or its models use; see ``docs/architecture.md``."""
_PACKAGES = (
    *("jieba", "latex2sympy2_extended", "numpy", "opencv-python-headless", "pillow", "rapidfuzz", "sacrebleu"),
    *("scikit-image", "scikit-learn", "scipy", "sympy"),
)
"""Packages with which metrics compute the score of a sample. Those that compute on a device (torch, transformers) are
left out: their builds differ from machine to machine. ``run.json`` records their versions for every part.
"""
_GROUPS = tuple(f"polymeter.{kind}" for kind in ("aggregations", "detectors", "formats", "interop", "metrics"))
"""The entry point groups through which installed packages add such code."""


@lru_cache(maxsize=1)
def scoring_code() -> str:
    """Digest of the sources, and of the versions of packages that metrics compute with or that add such code."""
    home = Path(polymeter.__file__).parent
    state = blake2b(digest_size=16)
    n_files = 0
    for path in _sources(home):
        state.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
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


def _sources(home: Path) -> Iterator[Path]:
    for name in _PASSED:
        place = home / name
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.is_file() else []
        for file in files:
            inside = file.relative_to(home).parts
            if not (inside[0] == "interop" and _NOT_PASSED & set(inside[2:3])):
                yield file
