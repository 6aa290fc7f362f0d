"""Prompts and scores of CharXiv's reasoning questions (Wang et al. 2024, "CharXiv: Charting Gaps in Realistic Chart
Understanding in Multimodal LLMs"). A judge reads the answer and compares it. ``prompts.json`` holds the benchmark's own
wording.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from polymeter.extend import (
    Generate,
    Message,
    Origin,
    Request,
    Text,
    UnscoredError,
    current_role_client,
    refuse_verdict,
    reply_of,
    spoken,
)

Doc = dict[str, Any]
_KINDS = {1: "text_in_chart", 2: "text_in_general", 3: "number_in_chart", 4: "number_in_general"}
_NUMBER_IN_GENERAL = 4
_JUDGE_TOKENS = 1024


# One file of the benchmark, which does not change while a process runs.
@lru_cache(maxsize=1)
def _prompts() -> dict[str, dict[str, str]]:
    read: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))
    return read


def decimals_rule(answer: str) -> str:
    """Return the rule about the decimals of a number: as many as the right answer has."""
    _, point, decimals = answer.partition(".")
    if not point:
        return "* Your final answer must be an exact integer."
    return f"* Your final answer must be a number with {len(decimals.partition('.')[0])} decimal places."


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the question with the rule for its kind of answer."""
    kind = int(doc["reasoning_a_type"])
    rules = (decimals_rule(str(doc["reasoning_a"])),) if kind == _NUMBER_IN_GENERAL else ()
    return _prompts()["questions"][str(kind)].format(doc["reasoning_q"], *rules)


def grading_prompt(doc: Doc, answer: str) -> str:
    """Return the prompt for the judge. Numbers are graded by one rule, wherever they come from."""
    grading = _prompts()["grading"]
    rules = grading[str(min(int(doc["reasoning_a_type"]), 3))]
    filled = rules.replace("<|question|>", doc["reasoning_q"]).replace("<|ground_truth|>", str(doc["reasoning_a"]))
    return grading["prefix"] + filled.replace("<|response|>", answer)


def verdict_of(reply: str) -> float:
    """Return the score in a judge's reply.

    Raises:
        UnscoredError: if it is no JSON with a score of 0 or 1.
    """
    try:
        score = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])["score"]
    except (ValueError, KeyError, TypeError):
        score = None
    if isinstance(score, bool) or score not in (0, 1):
        why = f"The judge's reply is no JSON with a score of 0 or 1: {reply:.200}"
        refuse_verdict(why)
        raise UnscoredError(why)
    return float(score)


def process_results(doc: Doc, results: list[str]) -> dict[str, float]:
    """Score an answer: for all questions, and for those of its kind."""
    asked = Request(
        (Message("user", (Text(grading_prompt(doc, results[0])),)),),
        Generate(max_new_tokens=_JUDGE_TOKENS, temperature=0.0),
        Origin("", ""),
    )
    score = verdict_of(spoken(reply_of(current_role_client()("judge", asked))))
    return {"accuracy": score, _KINDS[int(doc["reasoning_a_type"])]: score}
