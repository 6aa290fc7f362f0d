"""Listing and searching the benchmarks of installed packages: thousands of files that are read once and then known."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.measure import Measured, polymeter

PACKAGES = {"lm_eval": ".venv-lm-eval", "lmms_eval": ".venv-lmms-eval", "evalscope": ".venv-evalscope"}
"""Packages with benchmarks, each with the environment in which ``make bench-peers`` installs it."""
COMMANDS = (("--from", "lm-eval"), ("--from", "lmms-eval"), ("--search", "chart question answering"))
_N = 3


def gather(root: Path, folder: Path) -> Path:
    """A folder in which all packages lie beside each other without their dependencies, as links.

    Args:
        root: Where the environments are.
        folder: Where to make it.

    Raises:
        SystemExit: if one is not installed.
    """
    folder.mkdir(parents=True)
    for package, environment in PACKAGES.items():
        for pattern in (package, f"{package}-*.dist-info"):
            found = next((root / environment).glob(f"lib/python3*/site-packages/{pattern}"), None)
            if found is None:
                raise SystemExit(f"{package} is not installed. Call: make bench-peers")
            (folder / found.name).symlink_to(found, target_is_directory=True)
    return folder


def measured(packages: Path, folder: Path) -> dict[str, tuple[Measured, Measured]]:
    """For each command its first run and the fastest of the later ones.

    Args:
        packages: What ``gather`` has made.
        folder: Where to run them.
    """
    path = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
    found = {}
    for words in COMMANDS:
        first, *later = (polymeter("tasks", *words, cwd=folder, env={"PYTHONPATH": path}) for _ in range(_N + 1))
        found[" ".join(words)] = first, min(later, key=lambda one: one.wall_s)
    return found
