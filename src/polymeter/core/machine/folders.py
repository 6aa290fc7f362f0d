"""Walking through folders of other people's files, however deep they lie."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_LEFT_OUT = (".", "__pycache__")


def files_below(root: Path, ending: str) -> Iterator[Path]:
    """The files below a folder whose names have an ending, each folder's own before those of its folders, by name.

    Hidden folders, ``__pycache__``, links to folders, and folders that cannot be read are left out. ``os.walk`` calls
    itself for each level in some versions of Python, so that a thousand folders inside one another end it.

    Args:
        root: The folder; or one file, whose name needs only the suffix of the ending.
        ending: The ending, such as ``.tsv`` or ``_adapter.py``.
    """
    root = Path(os.path.abspath(root))
    if root.is_file():
        if root.suffix == os.path.splitext(f"_{ending}")[1]:
            yield root
        return
    waiting = [str(root)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        folders = []
        for entry in entries:
            if not _is_folder(entry):
                if entry.name.endswith(ending):
                    yield Path(entry.path)
            elif not entry.is_symlink() and not entry.name.startswith(_LEFT_OUT):
                folders.append(entry.path)
        waiting.extend(reversed(folders))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
