"""Provenance of a run: versions, commits, hardware. Recorded, never compared."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Any

import polymeter
from polymeter.core.children.asked import printed_by
from polymeter.core.machine.hardware import available_cores, memory_bytes
from polymeter.core.names.installing import installed_version

_PACKAGES = (
    "polymeter",
    "datasets",
    "pyarrow",
    "numpy",
    "pillow",
    "pydantic",
    "torch",
    "transformers",
    "onnxruntime",
    "rapidocr",
    "scikit-learn",
    "sacrebleu",
    "rapidfuzz",
)


def software() -> dict[str, Any]:
    """Polymeter's version and commit, and the versions of the packages that numbers depend on."""
    versions = {name: version for name in _PACKAGES if (version := installed_version(name)) is not None}
    home = Path(polymeter.__file__).parent
    return {
        "polymeter": {"version": polymeter.__version__, **git_state(home)},
        "python": sys.version.split()[0],
        "packages": versions,
    }


def hardware() -> dict[str, Any]:
    """Describe the machine: system, processor, cores, memory in bytes if the system reports it."""
    facts: dict[str, Any] = {"system": f"{platform.system()} {platform.release()}", "machine": platform.machine()}
    facts["cores"] = available_cores()
    memory = memory_bytes()
    return facts if memory is None else {**facts, "memory_bytes": memory}


def git_state(folder: Path) -> dict[str, Any]:
    """Commit of the git checkout that holds a folder, and whether the folder has changes; empty where there is none."""
    where = folder if folder.is_dir() else folder.parent
    if not _may_be_checkout(where):
        return {}
    words = ("status", "--porcelain=v2", "--branch", "--", ".")  # one process reports both
    lines = printed_by(["git", "-C", str(where), *words], 10.0).splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return {}
    return {"commit": commit, "is_dirty": any(not line.startswith("#") for line in lines)}


def _may_be_checkout(folder: Path) -> bool:
    """Return whether git may know of a checkout that holds a folder. Starting git takes longer than looking for its
    mark.
    """
    place = folder.resolve()
    return "GIT_DIR" in os.environ or any((parent / ".git").exists() for parent in (place, *place.parents))
