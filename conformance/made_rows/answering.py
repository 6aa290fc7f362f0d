"""Answers to a task's rows for the three scripted models: what its scoring reads, right, wrong and messy.

What a task expects is not always what its scoring reads (a letter, a boxed number, JSON). Candidates are scored by the
original's own code, bare and in the usual dresses, until right ones and wrong ones get different numbers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.answers import known, scripted
from conformance.frame import MODELS, plain

ENOUGH_SECONDS = 5
"""Of this process: a busy machine changes no answer."""
# How the expected text is dressed where the bare text is not what a task's scoring reads.
DRESSES = (
    "{0}", "Answer: {0}", "({0})", "\\boxed{{{0}}}", "<answer>{0}</answer>", "The answer is {0}.",
    "{0}.",
    "{{\"answer\": \"{0}\"}}", "```json\n{{\"answer\": \"{0}\"}}\n```", "[{0}]", "[[{0}]]",
    "Final Answer: {0}", "Score: {0}", "#### {0}", "Program: {0}",
)  # fmt: skip
_NAMES = (
    "answer",
    "label",
    "gt",
    "target",
    "solution",
    "correct_answer",
    "ground_truth",
    "Answer",
    "answers",
)


def candidates(doc: Any, target: Any, choices: Sequence[Any] | None) -> list[str]:
    """Texts that a row may expect; never empty.

    Args:
        doc: The row.
        target: What the task says it expects.
        choices: The task's choices, if it has some.
    """
    found: list[str] = []
    if isinstance(target, int) and choices is not None:
        found.append(str(choices[target]))
    for one in target if isinstance(target, list) else [target]:
        if isinstance(one, (str, int, float)) and not isinstance(one, bool):
            found.append(str(one))
    if isinstance(target, (dict, list)):
        found.append(json.dumps(plain(target)))
    for name in _NAMES:
        value = doc.get(name) if isinstance(doc, dict) else None
        if isinstance(value, (str, int, float)):
            found.append(str(value))
        if isinstance(value, int) and 0 <= value < 26:
            found.append("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value])
    # Where options stand in a list, the letter of what is expected.
    expected = set(found)
    for options in doc.values():
        if isinstance(options, list):
            found += ["ABCDEFGHIJ"[i] for i, one in enumerate(options[:10]) if isinstance(one, str) and one in expected]
    found += [str(value) for value in doc.values() if isinstance(value, (str, int)) and len(str(value)) < 40]
    return found[:12] or ["yes"]


@dataclass(frozen=True)
class Chosen:
    """What the rows of a task are answered with.

    Attributes:
        column: The expected text of each row.
        dress: What is put around it.
        gap: How far apart right and wrong answers are in the task's numbers, from 0 to 1.
        is_slow: Whether the search took longer than is worth while.
    """

    column: Sequence[str]
    dress: str
    gap: float
    is_slow: bool


def choose(targets: Sequence[Sequence[str]], gap_of: Callable[[Sequence[str], str], float | None]) -> Chosen:
    """Find the candidate and the dress that a task's scoring reads.

    Args:
        targets: `candidates` of each row.
        gap_of: How far apart right and wrong answers are for one text of each row in one dress; nothing if scoring
            fails.
    """
    width = min(map(len, targets))
    best: tuple[float, int, str] | None = None
    started = time.process_time()
    # The bare text of every candidate first, then the first candidates in other dress.
    tries = [(which, DRESSES[0]) for which in range(width)]
    tries += [(which, dress) for which in range(min(width, 3)) for dress in DRESSES[1:]]
    for which, dress in tries:
        column = [one[which] for one in targets]
        if len(set(column)) < 2:
            continue
        if (best is not None and best[0] > 0.5) or time.process_time() - started > ENOUGH_SECONDS:
            break
        gap = gap_of(column, dress)
        if gap is not None and (best is None or gap > best[0] + 0.05):
            best = (gap, which, dress)
    if best is None:
        # No aggregated number is needed to run: a judge may decide, or nothing depends on the answer.
        best = (0.0, 0, "{0}")
    gap, which, dress = best
    return Chosen([one[which] for one in targets], dress, gap, time.process_time() - started > ENOUGH_SECONDS)


def largest_gap(right: Mapping[str, Any], wrong: Mapping[str, Any]) -> float | None:
    """How far apart two sets of numbers are, relative to their size; nothing if they share no number."""
    gaps = [
        abs(float(value) - float(wrong[name])) / max(1.0, abs(float(value)), abs(float(wrong[name])))
        for name, value in right.items()
        if isinstance(value, (int, float)) and isinstance(wrong.get(name), (int, float))
    ]
    return max((gap for gap in gaps if gap == gap), default=None)


def others(column: Sequence[str], number: int) -> list[str]:
    """Answers that are wrong for one row; never empty."""
    target = column[number]
    found = [one for one in dict.fromkeys(column) if one != target]
    if len(target) == 1 and target in "ABCDE":
        found += [one for one in "ABCD" if one != target]
    return found or ["something else"]


def scripted_answers(chosen: Chosen, repeats: int, key: Sequence[object]) -> dict[str, dict[int, list[str]]]:
    """What each scripted model says: model → row → one text for each repeat.

    Args:
        chosen: What the rows expect.
        repeats: How often each row is asked.
        key: What the answers depend on beside that: seed, benchmark.
    """
    answers: dict[str, dict[int, list[str]]] = {model: {} for model in MODELS}
    knows = {model: known(model, len(chosen.column), key) for model in MODELS}
    for model in MODELS:
        for number, target in enumerate(chosen.column):
            rest = [chosen.dress.format(one) for one in others(chosen.column, number)]
            is_known = number in knows[model]
            is_bare = sorted(knows[model]).index(number) % 2 == 0 if is_known else False
            answers[model][number] = [
                scripted(
                    model,
                    chosen.dress.format(target),
                    rest,
                    (*key, number, again),
                    is_known=is_known,
                    is_bare=is_bare,
                )
                for again in range(repeats)
            ]
    return answers
