"""Differences from lm-eval that are deliberate, by the row of docs/differences.md that states them.

Most are told by the case: whether its examples come from the measured rows or repeat one of them, whether an answer has
a stop string in its reasoning. So a difference in any other case has no row.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet

from conformance.comparing import Expected
from conformance.lm_eval.cases import Case

EXAMPLES = "examples that ask the same question"
DRAWS = "functions that draw at random"
REASONING = "stop strings in visible reasoning"
KEPT = "visible reasoning before filters and metrics"
WRITTEN = "`exact_match`"
NO_TARGET = "a row without a target, for generated answers"
FUNCTION = "a function as `metric` of a group"
_REASONING = re.compile(r"^.*</think>\s*", re.S)  # and the white space behind it, which may be a stop string too

EXPECTED: tuple[Expected, ...] = (
    Expected(NO_TARGET, names="failure", here="no target"),
    # Their options are shuffled with Python's own generator, which other code has used before.
    Expected(DRAWS, tasks="gpqa_*", stays=True),
    Expected(DRAWS, tasks="*gpqa*", stays=True),
    Expected(DRAWS, tasks="metabench_*_permute*", stays=True),
    # `langdetect` guesses the language of a short text with a generator that nobody seeds.
    Expected(DRAWS, tasks="*ifeval*", stays=True),
)
EXPECTED_OF_GROUPS: tuple[Expected, ...] = (
    Expected(FUNCTION, tasks="code2text", stays=True),
    # Members whose rows have other columns than those of their neighbours: the cells of a target are empty there.
    Expected(NO_TARGET, tasks="flores_*", names="value:* facts"),
    Expected(NO_TARGET, tasks="afrimgsm*", names="value:* facts"),
    # Of its members, those of GPQA shuffle their options.
    Expected(DRAWS, tasks="leaderboard", names="value:leaderboard_gpqa *", stays=True),
    Expected(DRAWS, tasks="leaderboard", names="value:leaderboard acc_norm*", stays=True),
)
ROWS = (EXAMPLES, DRAWS, REASONING, KEPT, WRITTEN, NO_TARGET, FUNCTION)


def expected_of(cases: Sequence[Case], book: Mapping[str, Mapping[str, Any]], rows: Path) -> Iterator[Expected]:
    """The differences that some cases have.

    Args:
        cases: The cases.
        book: What `prepare` wrote about their tasks.
        rows: The folder of their rows.
    """
    yield from EXPECTED
    for case in cases:
        entry = book[case.task]
        shots = case.way.shots if case.way.shots is not None else entry["shots"]
        is_from_measured = shots and entry["shots"] != 0 and entry["draws_from_measured"]
        if is_from_measured or (shots != 0 and _is_repeated(rows / case.task.replace("/", "_"))):
            yield Expected(EXAMPLES, tasks=glob.escape(case.name))
        said = entry.get("answers", {}).get("messy", {}).values()
        if any(_is_cut_short(answer, entry["until"]) for answers in said for answer in answers):
            yield Expected(REASONING, tasks=glob.escape(case.name), models="messy")
        elif any(_REASONING.match(answer) for answers in said for answer in answers):
            yield Expected(KEPT, tasks=glob.escape(case.name), models="messy")
        if any("$" in answer for answers in said for answer in answers):  # a symbol here, there punctuation
            yield Expected(WRITTEN, tasks=glob.escape(case.name), names="*exact_match*", models="messy")


def _is_repeated(folder: Path) -> bool:
    """Whether two splits have a text in common at the same place of a row."""
    seen: set[tuple[str, ...]] = set()
    for file in sorted(folder.glob("*.parquet")):
        texts = {place for row in pyarrow.parquet.read_table(file).to_pylist() for place in _texts(row)}
        if texts & seen:
            return True
        seen |= texts
    return False


def _texts(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The texts of a row, each behind the keys that lead to it."""
    if isinstance(value, str):
        yield (*place, value)
    for key, item in value.items() if isinstance(value, dict) else ():
        yield from _texts(item, (*place, key))


def _is_cut_short(answer: str, stops: Sequence[str]) -> bool:
    """Whether an answer has a stop string in its reasoning."""
    reasoning = _REASONING.match(answer)
    return reasoning is not None and any(stop in reasoning[0] for stop in stops)
