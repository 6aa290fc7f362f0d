"""Stand-in for ``lmms_eval.api.reasoning``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymeter.formats.task_yaml.reasoning import parse_tags, strip_reasoning


def strip_reasoning_tags(text: str, tag_pairs: Sequence[Sequence[str]]) -> str:
    """The text without what stands between each pair of tags."""
    return strip_reasoning(text, tuple((opening, closing) for opening, closing in tag_pairs))


def parse_reasoning_tags_config(cli_value: Any = None, task_value: Any = None) -> list[list[str]] | None:
    """The pairs of tags that hold: the task's, else the command line's; ``None`` for none."""
    value = task_value if task_value is not None else cli_value
    pairs = parse_tags(value, "reasoning_tags") if value is not None else ()
    return [list(pair) for pair in pairs] or None
