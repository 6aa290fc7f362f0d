"""Stand-in for ``lmms_eval.tasks._task_utils.file_utils``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def generate_submission_file(file_name: str, args: Any, subpath: str = "submissions") -> str:
    """The absolute path of a file to be submitted, in a folder that exists: below the run's ``artifacts``, or below the
    working directory when there is no run.
    """
    output = getattr(args, "output_path", None)
    folder = (Path(output) / subpath if output else Path(subpath)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / file_name)
