"""What samples have in common that makes a number doubtful."""

from __future__ import annotations

import pytest

from polymeter.core.records.spread import UNBOUNDED
from polymeter.core.task import Result, Score
from polymeter.run.finish.patterns import ScorePatterns

CAPITALS = ["Paris", "Tokyo", "Lima", "Nairobi"]


def notes(samples, *, higher=True, bounds=UNBOUNDED, metric="acc"):
    """The notes about samples, each ``(target, answer, value)``."""
    patterns = ScorePatterns()
    for target, answer, value in samples:
        values = value if isinstance(value, dict) else {(metric, "none"): value}
        patterns.add(Score(values, target, answer))
    names = {key for _, _, value in samples if isinstance(value, dict) for key in value} or {(metric, "none")}
    results = [Result(*key, 0.5, len(samples), higher_is_better=higher, bounds=bounds) for key in names]
    return [*patterns.notes("t", results)]


def table(n, answer, value=lambda i: float(i % 2), targets=CAPITALS):
    return [
        (targets[i % len(targets)], answer(i) if callable(answer) else answer, value(i) if callable(value) else value)
        for i in range(n)
    ]


def other(i):
    return f"answer {i}"


FOUND = {
    "empty": (table(3, ""), "all 3 answers that were scored are empty"),
    "blank": (table(12, lambda i: " " * i), "all 12 answers that were scored are empty"),
    "equal": (
        table(10, "I cannot see an image."),
        "all 10 answers that were scored are the same, 'I cannot see an image.'",
    ),
    "equal without references": ([(None, "x", float(i % 2)) for i in range(10)], "are the same, 'x'"),
    "one letter": (
        table(40, lambda i: "C" if i == 7 else "(B) because" if i % 3 else "B", targets="ABCD"),
        "39 of 40 answers are option B, and 25% of the references",
    ),
    "one word": (
        table(40, lambda i: "no" if i in (7, 9) else "Yes.", targets=["yes", "no"]),
        "38 of 40 answers are 'yes', and 50% of the references",
    ),
    "all wrong": (table(10, other, 0.0), "all 10 samples score the same, acc 0, whatever the answer"),
    "all right but other": (
        table(10, other, 1.0),
        "score the same, acc 1, with answers that are not their references",
    ),
    "all in between": (table(12, other, 0.25), "all 12 samples score the same, acc 0.25"),
    "several metrics": (
        table(12, other, {("acc", "none"): 0.0, ("f", "none"): 0.5}),
        "all 12 samples score the same, acc 0, f 0.5",
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_a_pattern_is_told_once(case):
    samples, words = FOUND[case]
    (note,) = notes(samples)
    assert note.startswith("Task 't': ")
    assert words in note


QUIET = {
    "usual": table(40, other),
    "few": table(9, "x", 0.0),
    "two empty": table(2, ""),
    "some empty": table(40, lambda i: "" if i % 2 else "x"),
    "a reference model": table(40, lambda i: CAPITALS[i % 4], 1.0),
    "a reference model of several references": table(40, lambda i: "Rome", 1.0, targets=["Rome | Roma", "rome"]),
    "a model that is right in sentences": table(40, lambda i: f"It is {CAPITALS[i % 4]}.", 1.0),
    "one reference": table(40, "yes", targets=["yes"]),
    "mostly one reference": table(40, lambda i: "no" if i == 1 else "yes", targets=["yes"] * 19 + ["no"]),
    "one metric varies": [("a", other(i), {("acc", "none"): 0.0, ("f", "none"): i / 40}) for i in range(40)],
    "no numbers": table(40, other, lambda i: {("acc", "none"): "text"}),
    "no value": table(40, other, float("nan")),
    "images": [(None, None, float(i)) for i in range(40)],
    "a letter below nine in ten": table(40, lambda i: "B" if i % 4 else "C", targets="ABCD"),
    "sentences that begin with a letter": table(40, lambda i: f"A man {i}", targets="ABCD"),
}


@pytest.mark.parametrize("case", QUIET)
def test_what_may_well_be_is_not_told(case):
    assert notes(QUIET[case]) == []


def test_the_best_value_is_that_of_the_metric():
    perfect = [(None, None, 100.0) for _ in range(20)]
    assert notes(perfect, bounds=(0.0, 100.0)) == []
    assert notes([(None, None, 0.0) for _ in range(20)], higher=False) == []
    assert notes([(None, None, 1.0) for _ in range(20)], higher=False) != []
    assert notes(perfect, bounds=(0.0, 200.0)) != []


def test_values_that_nobody_calls_better_are_left_alone():
    assert notes(table(20, other, 1.0), higher=None) == []


def test_what_is_kept_does_not_grow():
    patterns = ScorePatterns()
    for number in range(5000):
        patterns.add(Score({("acc", "none"): float(number)}, f"target {number}", f"answer {number}"))
    assert len(patterns._answers.counts) == len(patterns._targets.counts) == 64
