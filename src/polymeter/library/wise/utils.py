"""Scores of WISE_Verified (Niu et al. 2025, "WISE: A World Knowledge-Informed Semantic Evaluation for Text-to-Image
Generation"; data and judge of April 2026). A judge sees each image with its explanation. ``prompts.json`` holds the
benchmark's own wording.
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from polymeter.extend import (
    Generate,
    Image,
    Message,
    Origin,
    Request,
    ScoreError,
    Text,
    UnscoredError,
    current_role_client,
    refuse_verdict,
    reply_of,
    spoken,
)

Doc = dict[str, Any]
_WEIGHTS = {"culture": 0.4, "time": 0.12, "space": 0.12, "biology": 0.12, "physics": 0.12, "chemistry": 0.12}
_LAST_IDS = {"culture": 400, "time": 520, "space": 640, "biology": 760, "physics": 880, "chemistry": 1000}
"""The last id of the prompts of each kind."""
_STATED = re.compile(r"\*{0,2}Score\*{0,2}\s*:?\s*([01])\b", re.IGNORECASE)
_ALONE = re.compile(r"(?m)^\s*([01])\s*$")
_JUDGE_TOKENS = 500


# One file of the benchmark, which does not change while a process runs.
@lru_cache(maxsize=1)
def _prompts() -> dict[str, str]:
    read: dict[str, str] = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))
    return read


def kind_of(prompt_id: int) -> str:
    """Return the kind of knowledge that a prompt needs.

    Raises:
        ScoreError: if the benchmark has no such prompt.
    """
    kind = next((kind for kind, last in _LAST_IDS.items() if prompt_id <= last), None)
    if kind is None:
        raise ScoreError(f"The benchmark has no prompt {prompt_id}: its last one is {max(_LAST_IDS.values())}.")
    return kind


def grading_prompt(doc: Doc) -> str:
    """Return the prompt for the judge, which the image follows."""
    asked = _prompts()["user"].replace("<|prompt|>", doc["Prompt"])
    return asked.replace("<|explanation|>", doc["Explanation"])


def verdict_of(reply: str) -> float:
    """Return the score in a judge's reply.

    Raises:
        UnscoredError: if it has none, or several lines of their own with one.
    """
    stated = _STATED.search(reply)
    alone = [stated[1]] if stated else _ALONE.findall(reply)
    if len(alone) != 1:
        why = f"The judge's reply has no score of 0 or 1: {reply:.200}"
        refuse_verdict(why)
        raise UnscoredError(why)
    return float(alone[0])


def process_results(doc: Doc, results: list[Any]) -> dict[str, Any]:
    """Score the first image of a prompt."""
    words, shown = Text(grading_prompt(doc)), Image(results[0])
    request = Request(
        (Message("system", (Text(_prompts()["system"]),)), Message("user", (words, shown))),
        Generate(max_new_tokens=_JUDGE_TOKENS, temperature=0.0),
        Origin("", ""),
    )
    score = verdict_of(spoken(reply_of(current_role_client()("judge", request))))
    kind = kind_of(int(doc["prompt_id"]))
    return {"overall": {"kind": kind, "score": score}, kind: score}


def overall(records: list[dict[str, Any]]) -> float:
    """Return the weighted mean of the kinds' means; NaN unless every kind has a score."""
    by_kind: dict[str, list[float]] = {}
    for record in records:
        by_kind.setdefault(record["kind"], []).append(record["score"])
    if by_kind.keys() != _WEIGHTS.keys():
        return math.nan
    return math.fsum(weight * math.fsum(by_kind[kind]) / len(by_kind[kind]) for kind, weight in _WEIGHTS.items())
