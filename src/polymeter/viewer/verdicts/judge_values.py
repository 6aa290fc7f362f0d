"""The verdicts that a judge was allowed to give on a sample, as far as the run records them: the grades that its
configuration maps to scores, the grades that its prompt lists, and the levels in the schema of its answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from polymeter.core.records.stored_samples import messages_of, text_of

_MOST_LEVELS = 21
_SCHEMA = re.compile(r"^\{.*\}$", re.M)
_GRADE = re.compile(r"^([A-Z])\s*[:.)]\s*\*{0,2}(CORRECT|INCORRECT)\b", re.M)
_WORTH = {"CORRECT": 1.0, "INCORRECT": 0.0}


def judge_grades(sample: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, float]:
    """Return the grades that a judge could give, each with its score; none if the run does not record them.

    Args:
        sample: The sample.
        manifest: The manifest of its run.
    """
    prompts = [*_prompts(sample)]
    if not prompts:
        return {}
    options = (manifest.get("options") or {}).get("identity") or {}
    given = (options.get("judge_model_args") or {}).get("score_mapping")
    if isinstance(given, Mapping):
        return {str(name): float(value) for name, value in given.items() if _is_number(value)}
    listed = dict(_GRADE.findall(prompts[0]))
    # A list of other grades, such as "not attempted", does not state what each is worth.
    is_whole = sorted(listed.values()) == sorted(_WORTH) and len(re.findall(r"^[A-Z]\s*[:.)]\s", prompts[0], re.M)) == 2
    return {f"{letter}. {word}": _WORTH[word] for letter, word in listed.items()} if is_whole else {}


def judge_levels(sample: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return the levels that a judge could give in each field of its answer, in order; none if no schema of the answer
    stands in its prompt.

    Args:
        sample: The sample.
    """
    found: dict[str, tuple[float, ...]] = {}
    for prompt in _prompts(sample):
        for match in _SCHEMA.finditer(prompt):
            try:
                fields = json.loads(match[0]).get("properties")
            except (ValueError, RecursionError):
                continue
            for name, field in fields.items() if isinstance(fields, Mapping) else ():
                if isinstance(field, Mapping) and (levels := _levels(field)):
                    found.setdefault(str(name), levels)
    return found


def _levels(field: Mapping[str, Any]) -> tuple[float, ...]:
    values = field.get("enum")
    if isinstance(values, list):
        is_short = 1 < len(values) <= _MOST_LEVELS and all(map(_is_number, values))
        return tuple(sorted({float(value) for value in values})) if is_short else ()
    low, high = field.get("minimum"), field.get("maximum")
    if field.get("type") != "integer" or not isinstance(low, int) or not isinstance(high, int):
        return ()
    return tuple(map(float, range(low, high + 1))) if 0 < high - low < _MOST_LEVELS else ()


def _prompts(sample: Mapping[str, Any]) -> Iterator[str]:
    for exchange in sample["exchanges"]:
        if exchange["role"] != "model":
            yield text_of(messages_of(exchange))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
