"""``ulmeval.tools``: a table with its images beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

from polymeter.tasks.table.files.localising import localised
from polymeter.tasks.table.files.roots import image_root

__all__ = ["LOCALIZE"]


def LOCALIZE(fname: str, new_fname: str | None = None) -> str:
    """Write a table's images to files, and a table with their paths in place of base64. Returns the new table's path.

    Args:
        fname: The TSV file.
        new_fname: The new one; default: ``<name>_local.tsv`` beside it.
    """
    source = Path(fname)
    target = Path(new_fname) if new_fname else source.with_name(f"{source.stem}_local.tsv")
    shutil.copyfile(localised(source, image_root(source.stem)), target)
    return str(target)
