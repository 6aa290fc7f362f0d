"""Judging: prompts, the reading of verdicts, and in ``agreement`` how far judges agree. Sees a judge only as the
RoleClient's role *judge*.

A judge that could not be asked, or whose answer is no verdict, leaves its sample without a score; it is never a zero.
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
