"""The answers of a sample after each filter of a task, read again from the stored answers for lmms-eval's files.

The run folder keeps the answer of the first filter only, as one readable text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.request import Tags
from polymeter.reading.reasoning import parse_tags, without_reasoning
from polymeter.tasks.yaml.config import FilterItem
from polymeter.tasks.yaml.scoring.filters import Reading, readings
from polymeter.tasks.yaml.scoring.readings import bare
from polymeter.tasks.yaml.scoring.reasoning import make_stripper

FilteredAnswers = Callable[[Sequence[str], Any], Any]
"""``(answers, row) → what a filter makes of them``, with every value as text."""

_FORMAT = "task_yaml"
_TEXT_TYPES = ("generate_until", "generate_visual_cot")


def filters_of_task(
    task: Mapping[str, Any], reasoning_tags: Any = None, parity: Parity = NO_PARITY
) -> dict[str, FilteredAnswers]:
    """The filters of a task of text by name; none if one of them is the task's own, whose code is not run again.

    Args:
        task: The task, in ``run.json``.
        reasoning_tags: The run's ``reasoning_tags``, for a task that names none.
        parity: The system whose values the run uses.
    """
    config = task["config"]
    if task["dialect"] != _FORMAT or (config.get("output_type") or _TEXT_TYPES[0]) not in _TEXT_TYPES:
        return {}
    own_tags = config.get("reasoning_tags")
    strips_thinking = bool(config.get("auto_strip_thinking"))
    try:
        items = [FilterItem.model_validate(item) for item in config.get("filter_list") or ()]
        tags = parse_tags(reasoning_tags if own_tags is None else own_tags, task["name"])
        named = readings(items, task=task["name"], where="filter_list", strips_thinking=strips_thinking)
    except (PlanError, ValueError):  # a filter that only the task's code knows
        return {}
    if config.get("process_results") or parity.on("reasoning-after-filters"):
        return {name: partial(_stripped, read, make_stripper(tags)) for name, read in named}
    return {name: partial(_separated, read, tags) for name, read in named}


def _stripped(read: Reading, strip: Callable[[Any], Any], answers: Sequence[str], doc: Any) -> Any:
    return _as_text(strip(read(list(answers), doc)))


def _separated(read: Reading, tags: Tags | None, answers: Sequence[str], doc: Any) -> Any:
    return _as_text(bare(read([without_reasoning(answer, tags) for answer in answers], doc)))


def _as_text(value: Any) -> Any:
    return [_as_text(item) for item in value] if isinstance(value, (list, tuple)) else str(value)
