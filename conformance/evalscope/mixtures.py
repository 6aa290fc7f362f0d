"""Collections: a file with prompts of several benchmarks that a sampler draws, each scored by its own benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conformance.evalscope import choices, sums, texts, works
from conformance.evalscope.sheets import Row, Sheet

_DRAWS: Mapping[str, Callable[[Sheet], None]] = {
    **choices.BENCHMARKS,
    **sums.BENCHMARKS,
    **texts.BENCHMARKS,
    **works.BENCHMARKS,
}


def _dataset(name: str, weight: float = 1.0, task_type: str = "", tags: Sequence[str] = ()) -> Row:
    return {"name": name, "weight": weight, "task_type": task_type, "tags": list(tags)}


def _within(name: str, *parts: Row, weight: float = 1.0) -> Row:
    return {"name": name, "weight": weight, "datasets": list(parts)}


_MIXED = _within(
    "all",
    _within(
        "reasoning",
        _dataset("gsm8k", 2, "math", ["en", "math"]),
        _dataset("math_500", 1, "math", ["en", "math", "hard"]),
        _within("of experts", _dataset("mmlu_pro", 1.5, "exam", ["en"]), weight=0.5),
        weight=3,
    ),
    _within("language", _dataset("ceval", 1, "exam", ["zh"]), _dataset("drop", 1, "reading", ["en"]), weight=2),
    _dataset("ifeval", 1, "instruction", ["en", "several scores"]),
    _dataset("general_qa", 1),  # without tags and a task type
)
_TWICE = _within(
    "again",
    _within("easy", _dataset("gsm8k", 1, "math", ["short"])),
    _within("hard", _dataset("gsm8k", 3, "math", ["long"]), _dataset("musr", 2, "stories", ["long"])),
)
_MODES = _within(
    "modes",
    _dataset("arc", 1, "exam", ["letters"]),
    _dataset("truthful_qa", 1, "facts", ["numbers"]),
    _dataset("tool_bench", 1, "tools", ["several scores", "calls"]),
    _dataset("bfcl_v3", 1, "tools", ["calls"]),
    _dataset("winogrande", 1, "exam", ["letters"]),
)
_OF_EXAMS = _within(
    "exams",
    _dataset("mmlu", 9, "exam", ["en"]),
    _dataset("cmmlu", 1, "exam", ["zh"]),
    _dataset("musr", 1, "stories", ["en"]),
    _dataset("competition_math", 1, "math", ["en", "math"]),
)
_JUDGED = _within(
    "judged",
    _dataset("simple_qa", 2, "facts", ["en"]),
    _dataset("chinese_simpleqa", 1, "facts", ["zh"]),
    _dataset("gsm8k", 1, "math", ["en"]),
)
_LIKELIEST = _within("likeliest", _dataset("hellaswag", 1, "stories"), _dataset("race", 1, "reading", ["long"]))


def _mixed(schema: Row, sampler: str, count: int, args: Mapping[str, Any] | None = None, **config: Any) -> Any:
    """A collection.

    Args:
        schema: The datasets in it, as ``CollectionSchema.from_dict`` reads it.
        sampler: The sampler's class.
        count: How many prompts it draws.
        args: Settings for all of its benchmarks.
        **config: Fields of ``TaskConfig``.
    """

    def draw(sheet: Sheet) -> None:
        drawn: dict[str, dict[str, Any]] = {}
        for name in sorted(members(schema)):
            sheet.case.args = drawn[name] = {}
            _DRAWS[name](sheet)
        sheet.case.args = {
            "collection": {"schema": _with_args(schema, drawn), "sampler": sampler, "count": count},
            **(args or {}),
        }
        sheet.case.config.update(config)

    return draw


def members(schema: Row) -> set[str]:
    """The benchmarks in a collection."""
    parts = schema["datasets"]
    return set().union(*(members(part) if "datasets" in part else {part["name"]} for part in parts))


def _with_args(schema: Row, args: Mapping[str, Row]) -> Row:
    """A collection whose datasets have the settings that their rows need."""
    parts = [
        _with_args(part, args) if "datasets" in part else {**part, "args": args[part["name"]]}
        for part in schema["datasets"]
    ]
    return {**schema, "datasets": parts}


_UNTIL = {"filters": {"remove_until": "</think>"}}

CASES: Mapping[str, Callable[[Sheet], None]] = {
    "data_collection@endpoint": _mixed(_TWICE, "WeightedSampler", 40, at_endpoint=True),
    "data_collection@filters": _mixed(_MIXED, "WeightedSampler", 60, _UNTIL),
    "data_collection@judge": _mixed(_JUDGED, "UniformSampler", 45),
    "data_collection@likeliest": _mixed(_LIKELIEST, "UniformSampler", 40),
    "data_collection@limit": _mixed(_MIXED, "UniformSampler", 90, limit=40),
    "data_collection@modes": _mixed(_MODES, "UniformSampler", 120),
    "data_collection@share": _mixed(_MIXED, "StratifiedSampler", 90, limit=0.5),
    "data_collection@stratified": _mixed(_OF_EXAMS, "StratifiedSampler", 90),
    "data_collection@twice": _mixed(_TWICE, "WeightedSampler", 60),
    "data_collection@weighted": _mixed(_MIXED, "WeightedSampler", 120),
}
