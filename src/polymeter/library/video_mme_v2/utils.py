"""Prompts and scores of Video-MME-v2 (2026): four questions belong to a group, and a group has one score.

The score of a *relevance* group grows with the square of its right answers. That of a *logic* group counts the right
answers before the first wrong one, in the order of its reasoning steps.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from polymeter.extend import ScoreError

Doc = dict[str, Any]
Record = dict[str, Any]
_FOLDER = "videomme_v2"
_GROUP = 4
_LEADS = (
    "Final Answer:",
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option is",
    "The correct option is",
    "Best answer:",
    "Best option:",
    "Answer:",
    "Option:",
)
"""Phrases that are removed before the letter is looked for: their capitals are none."""
_INSTRUCTION = (
    "Select the best answer to the following multiple-choice question based on the video. "
    "Respond with only the letter (A, B, C, D, E, F, G, or H) of the correct option."
)
_CHAINS: dict[str, tuple[float, ...]] = {
    "[1, 2, 3, 4]": (0, 1 / 16, 4 / 16, 9 / 16, 1),
    "[1, [2, 3], 4]": (0, 1 / 12, 4 / 12, 7 / 12, 1),
    "[[1, 2], 3, 4]": (0, 1 / 10, 2 / 10, 5 / 10, 1),
}
"""For each structure of a logic group, the share of points by the length of its chain. Steps in inner brackets may be
solved in any order.
"""


def doc_to_visual(doc: Doc) -> list[str]:
    """Return the path of the video: in the folder that the hub's archives were unpacked to, else beside the rows."""
    name = f"{doc['video_id']}.mp4"
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser() / _FOLDER
    found = next((path for path in (home / "data" / name, home / "videos" / name, home / name) if path.is_file()), None)
    return [str(found or name)]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Any = None) -> str:
    """Return the prompt for frames without subtitles."""
    return f"These are the frames of a video.\nQuestion: {doc['question']}\n{doc['options']}\n{_INSTRUCTION}"


def letter_of(answer: str) -> str:
    """Return the first letter from A to H that an answer has behind known phrases; empty if it has none."""
    text = answer.strip()
    for lead in _LEADS:
        text = text.replace(lead, "")
    found = re.search("[A-H]", text)
    return found[0] if found else ""


def process_results(doc: Doc, results: list[str]) -> dict[str, Any]:
    """Score an answer: 1, 0, or -1 if it has no letter."""
    letter = letter_of(results[0])
    score = int(letter == str(doc["answer"])) if letter else -1
    known = ("video_id", "group_type", "group_structure", "level")
    record = {name: doc.get(name) for name in known} | {"score": score}
    group = dict.fromkeys(
        ("total", "relevance_score", "relevance_linear_score", "logic_score", "level_1", "level_2", "level_3"), record
    )
    return {**group, "accuracy_of_parsed": float(score) if score >= 0 else math.nan}


def relevance(scores: Sequence[int]) -> float:
    """Return the points of a relevance group, from 0 to 100."""
    right = sum(scores)
    if right == _GROUP:
        return 100.0
    return 100 * max(right, 0) ** 2 / _GROUP**2


def logic(scores: Sequence[int], structure: str) -> float:
    """Return the points of a logic group, from 0 to 100.

    Raises:
        ScoreError: if its structure is unknown.
    """
    written = str(ast.literal_eval(structure))
    if written not in _CHAINS:
        raise ScoreError(f"The structure of a group is unknown: {structure}.")
    length = next((place for place, score in enumerate(scores) if not score), len(scores))
    if (written == "[1, [2, 3], 4]" and length == 1 and scores[2]) or (
        written == "[[1, 2], 3, 4]" and length == 0 and scores[1]
    ):
        length += 1
    return 100 * _CHAINS[written][length]


def _groups(records: Iterable[Record]) -> list[tuple[Record, list[int]]]:
    """Return the last record and the scores of each whole group. One with a failed sample has no score."""
    grouped = (list(rows) for _, rows in groupby(records, key=lambda record: record["video_id"]))
    return [(rows[-1], [row["score"] for row in rows]) for rows in grouped if len(rows) == _GROUP]


def _points(record: Record, scores: Sequence[int]) -> float:
    if record["group_type"] == "relevance":
        return relevance(scores)
    if record["group_type"] == "logic":
        return logic(scores, record["group_structure"])
    raise ScoreError(f"The type of a group is unknown: {record['group_type']!r}.")


def _mean(values: Sequence[float]) -> float:
    """The mean; NaN of no group, which is no value."""
    return math.fsum(values) / len(values) if values else math.nan


def total(records: list[Record]) -> float:
    """Return the mean of all groups."""
    return _mean([_points(record, scores) for record, scores in _groups(records)])


def _of_type(records: list[Record], kind: str) -> list[tuple[Record, list[int]]]:
    return [(record, scores) for record, scores in _groups(records) if record["group_type"] == kind]


def relevance_score(records: list[Record]) -> float:
    """Return the mean of the relevance groups."""
    return _mean([relevance(scores) for _, scores in _of_type(records, "relevance")])


def relevance_linear_score(records: list[Record]) -> float:
    """Return the mean of the relevance groups, each by its number of right answers."""
    return _mean([25.0 * sum(scores) for _, scores in _of_type(records, "relevance")])


def logic_score(records: list[Record]) -> float:
    """Return the mean of the logic groups."""
    return _mean([_points(record, scores) for record, scores in _of_type(records, "logic")])


def _level(records: list[Record], level: int) -> float:
    of_level = [group for group in _groups(records) if str(group[0]["level"]) not in ("None", "nan")]
    return _mean([_points(*group) for group in of_level if int(group[0]["level"]) == level])


def level_1(records: list[Record]) -> float:
    """Return the mean of the groups of level 1."""
    return _level(records, 1)


def level_2(records: list[Record]) -> float:
    """Return the mean of the groups of level 2."""
    return _level(records, 2)


def level_3(records: list[Record]) -> float:
    """Return the mean of the groups of level 3."""
    return _level(records, 3)
