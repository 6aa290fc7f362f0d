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


def dataset(name: str, weight: float = 1.0, task_type: str = "", tags: Sequence[str] = ()) -> Row:
    """A benchmark of a collection, as ``CollectionSchema.from_dict`` reads it."""
    return {"name": name, "weight": weight, "task_type": task_type, "tags": list(tags)}


def within(name: str, *parts: Row, weight: float = 1.0) -> Row:
    """A collection of benchmarks and of other collections."""
    return {"name": name, "weight": weight, "datasets": list(parts)}


_MIXED = within(
    "all",
    within(
        "reasoning",
        dataset("gsm8k", 2, "math", ["en", "math"]),
        dataset("math_500", 1, "math", ["en", "math", "hard"]),
        within("of experts", dataset("mmlu_pro", 1.5, "exam", ["en"]), weight=0.5),
        weight=3,
    ),
    within("language", dataset("ceval", 1, "exam", ["zh"]), dataset("drop", 1, "reading", ["en"]), weight=2),
    dataset("ifeval", 1, "instruction", ["en", "several scores"]),
    dataset("general_qa", 1),  # without tags and a task type
)
_TWICE = within(
    "again",
    within("easy", dataset("gsm8k", 1, "math", ["short"])),
    within("hard", dataset("gsm8k", 3, "math", ["long"]), dataset("musr", 2, "stories", ["long"])),
)
_MODES = within(
    "modes",
    dataset("arc", 1, "exam", ["letters"]),
    dataset("truthful_qa", 1, "facts", ["numbers"]),
    dataset("tool_bench", 1, "tools", ["several scores", "calls"]),
    dataset("bfcl_v3", 1, "tools", ["calls"]),
    dataset("winogrande", 1, "exam", ["letters"]),
)
_OF_EXAMS = within(
    "exams",
    dataset("mmlu", 9, "exam", ["en"]),
    dataset("cmmlu", 1, "exam", ["zh"]),
    dataset("musr", 1, "stories", ["en"]),
    dataset("competition_math", 1, "math", ["en", "math"]),
)
_JUDGED = within(
    "judged",
    dataset("simple_qa", 2, "facts", ["en"]),
    dataset("chinese_simpleqa", 1, "facts", ["zh"]),
    dataset("gsm8k", 1, "math", ["en"]),
)
_LIKELIEST = within("likeliest", dataset("hellaswag", 1, "stories"), dataset("race", 1, "reading", ["long"]))


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
            "collection": {"schema": with_args(schema, drawn), "sampler": sampler, "count": count},
            **(args or {}),
        }
        sheet.case.config.update(config)

    return draw


def members(schema: Row) -> set[str]:
    """The benchmarks in a collection."""
    parts = schema["datasets"]
    return set().union(*(members(part) if "datasets" in part else {part["name"]} for part in parts))


def with_args(schema: Row, args: Mapping[str, Row]) -> Row:
    """A collection whose datasets have the settings that their rows need."""
    parts = [
        with_args(part, args) if "datasets" in part else {**part, "args": args[part["name"]]}
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
