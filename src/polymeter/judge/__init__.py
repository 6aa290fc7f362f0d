"""Judging: prompts, reading of verdicts, rubrics, and in ``agreement`` how well judges agree. Reaches a judge only
through the role client, as the role *judge*.

A judge that fails, or whose answer is not a verdict, leaves its sample without a score; that is never a zero.
"""

from polymeter.judge.llm_judge import ROLE, LLMJudge
from polymeter.judge.prompts import GRADE_PROMPT, RATING_PROMPT, prompt_version
from polymeter.judge.rubrics import Criterion, Judgement, checklist, scale, weighted_rubric
from polymeter.judge.verdict import Contract, read_grade, read_rating

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
