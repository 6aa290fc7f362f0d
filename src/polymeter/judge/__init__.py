"""Judging: prompts, reading of verdicts, rubrics, and the agreement of judges. A judge is reached through the role
client alone, as the role *judge*.

If a judge fails, or its answer is not a verdict, the sample has no score. That is never a zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.names.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.judge.llm_judge import ROLE, LLMJudge
    from polymeter.judge.prompts import GRADE_PROMPT, RATING_PROMPT, prompt_version
    from polymeter.judge.rubrics import Criterion, Judgement, checklist, scale, weighted_rubric
    from polymeter.judge.verdict import Contract, read_grade, read_rating

_HOMES = {
    "polymeter.judge.llm_judge": (
        "ROLE",
        "LLMJudge",
    ),
    "polymeter.judge.prompts": (
        "GRADE_PROMPT",
        "RATING_PROMPT",
        "prompt_version",
    ),
    "polymeter.judge.rubrics": (
        "Criterion",
        "Judgement",
        "checklist",
        "scale",
        "weighted_rubric",
    ),
    "polymeter.judge.verdict": (
        "Contract",
        "read_grade",
        "read_rating",
    ),
}

__all__ = [
    "GRADE_PROMPT",
    "RATING_PROMPT",
    "ROLE",
    "Contract",
    "Criterion",
    "Judgement",
    "LLMJudge",
    "checklist",
    "prompt_version",
    "read_grade",
    "read_rating",
    "scale",
    "weighted_rubric",
]


__getattr__ = from_homes(__name__, _HOMES)
