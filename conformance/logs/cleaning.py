"""Keeps logs that a tool has written here without what tells of this machine: paths, and files that nothing reads."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

_TEXTS = frozenset({".json", ".jsonl", ".yaml", ".csv", ".tsv"})


def keep(work: Path, target: Path, leave: Callable[[Path], bool] = lambda path: False) -> None:
    """Copy a log.

    Args:
        work: Where the tool has written it.
        target: Where it is kept.
        leave: Which files are left out, by their path in ``work``.
    """
    for file in sorted(path for path in work.rglob("*") if path.is_file()):
        place = file.relative_to(work)
        if leave(place):
            continue
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".eval":
            _keep_archive(file, target / place, work)
        elif file.suffix in _TEXTS:
            (target / place).write_bytes(_clean(file.read_bytes(), work))
        else:
            (target / place).write_bytes(file.read_bytes())


def _keep_archive(file: Path, target: Path, work: Path) -> None:
    """Copy a ZIP archive member by member. That ``zipfile`` can read them is for the tool to see to."""
    with zipfile.ZipFile(file) as before, zipfile.ZipFile(target, "w") as after:
        for info in before.infolist():
            after.writestr(info, _clean(before.read(info), work), compress_type=info.compress_type)


def _clean(data: bytes, work: Path) -> bytes:
    places = {str(work): ".", sys.prefix: "python", sys.base_prefix: "python", tempfile.gettempdir() + os.sep: ""}
    for place, name in {**places, str(Path.home()): "~"}.items():
        data = data.replace(place.encode(), name.encode())
    return data


if __name__ == "__main__":  # python -m conformance.logs.cleaning WRITTEN KEPT
    keep(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), lambda path: path.suffix in (".log", ".html"))
