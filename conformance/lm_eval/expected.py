"""Differences from lm-eval that are deliberate, by the row of docs/differences.md that states them.

Most are told by the case: whether its examples come from the measured rows, whether an answer has a stop string in its
reasoning. So a difference in any other case has no row.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.comparing import Expected
from conformance.lm_eval.cases import Case

EXAMPLES = "examples from the measured rows, where the task names no split for them"
DRAWS = "functions that draw at random (`process_docs`, `doc_to_text`, `process_results`)"
REASONING = "stop strings in visible reasoning (`<think>…</think>`)"
FUNCTION = "a function as `metric` of a group"
_REASONING = re.compile(r"^.*</think>", re.S)

EXPECTED: tuple[Expected, ...] = (
    # Their options are shuffled with Python's own generator, which other code has used before.
    Expected(DRAWS, tasks="gpqa_*", stays=True),
    Expected(DRAWS, tasks="*gpqa*", stays=True),
    Expected(DRAWS, tasks="metabench_*_permute*", stays=True),
    # `langdetect` guesses the language of a short text with a generator that nobody seeds.
    Expected(DRAWS, tasks="*ifeval*", stays=True),
)
EXPECTED_OF_GROUPS: tuple[Expected, ...] = (
    Expected(FUNCTION, tasks="code2text", stays=True),
    # Of its members, those of GPQA shuffle their options.
    Expected(DRAWS, tasks="leaderboard", names="value:leaderboard_gpqa *", stays=True),
    Expected(DRAWS, tasks="leaderboard", names="value:leaderboard acc_norm*", stays=True),
)
ROWS = (EXAMPLES, DRAWS, REASONING, FUNCTION)


def expected_of(cases: Sequence[Case], book: Mapping[str, Mapping[str, Any]]) -> Iterator[Expected]:
    """The differences that some cases have.

    Args:
        cases: The cases.
        book: What `prepare` wrote about their tasks.
    """
    yield from EXPECTED
    for case in cases:
        entry = book[case.task]
        shots = case.way.shots if case.way.shots is not None else entry["shots"]
        if shots and entry["shots"] != 0 and entry["draws_from_measured"]:
            yield Expected(EXAMPLES, tasks=glob.escape(case.name))
        said = entry.get("answers", {}).get("messy", {}).values()
        if any(_is_cut_short(answer, entry["until"]) for answers in said for answer in answers):
            yield Expected(REASONING, tasks=glob.escape(case.name), models="messy")


def _is_cut_short(answer: str, stops: Sequence[str]) -> bool:
    """Whether an answer has a stop string in its reasoning."""
    reasoning = _REASONING.match(answer)
    return reasoning is not None and any(stop in reasoning[0] for stop in stops)
