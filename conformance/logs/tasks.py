"""The made-up tasks, as both tools read them."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).with_name("made_tasks")
_WITHOUT = ("animals", "plants", "sums")


def copy_tasks(work: Path, *, has_pictures: bool = False) -> None:
    """Copy the tasks and their rows.

    Args:
        work: The folder to copy to.
        has_pictures: Whether every task shows a picture, because the tool's models need one.
    """
    work.mkdir(parents=True, exist_ok=True)
    for file in FOLDER.iterdir():
        if file.is_file():
            shutil.copy(file, work)
    for name in _WITHOUT if has_pictures else ():
        with (work / f"{name}.yaml").open("a", encoding="utf-8") as task:
            task.write("doc_to_visual: !function pictures.grey\n")
