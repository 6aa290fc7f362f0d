"""Stand-in for ``lmms_eval.tasks._task_utils.default_template_yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def load_default_template_yaml(task_file: str | Path) -> Any:
    """The content of ``_default_template_yaml`` beside a file of task code, without the lines that name functions."""
    lines = (Path(task_file).parent / "_default_template_yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    return yaml.safe_load("".join(line for line in lines if "!function" not in line))
