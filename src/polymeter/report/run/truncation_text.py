"""Sentences on answers that rest on less than was asked or written: how many, and the option to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.truncation import EMPTY, IMAGES, LENGTH, PROMPT, Truncation
from polymeter.report.formatting import count, one_line

_WHAT = {
    LENGTH: "ended at the token limit",
    EMPTY: "{are} empty after the reasoning",
    IMAGES: "{rest} on images that the processor scaled down",
    PROMPT: "{rest} on a truncated prompt",
}


@dataclass(frozen=True, slots=True)
class TruncationSentence:
    """One sentence about one kind of truncation.

    Attributes:
        kind: The kind, of ``KINDS``.
        text: The sentence.
        is_warning: Whether the share is so large that it is a warning.
    """

    kind: str
    text: str
    is_warning: bool


def truncation_warnings(results: Mapping[str, Any]) -> list[str]:
    """The sentences of all tasks of a ``results.json`` that are warnings."""
    return [
        sentence.text
        for name, task in results.get("tasks", {}).items()
        for sentence in truncation_sentences(one_line(str(task.get("alias") or name)), task)
        if sentence.is_warning
    ]


def truncation_sentences(title: str, task: Mapping[str, Any]) -> Iterator[TruncationSentence]:
    """One sentence for each kind that some answer has.

    Args:
        title: The name under which the task is printed.
        task: The task's entry in ``results.json``.
    """
    counted = Truncation.of_task(task)
    for kind, n, is_warning in counted.found():
        share, advice = counted.share(kind), one_line(counted.advice_on(kind))
        number = count(n, "answer") if share is None else f"{n:,} of {count(counted.n_answers or 0, 'answer')}"
        what = _WHAT[kind].format(are="is" if n == 1 else "are", rest="rests" if n == 1 else "rest")
        percent = "" if share is None else f" ({share:.1%})".replace("%", " %")
        warning = "WARNING: " if is_warning else ""
        end = f": {advice}." if advice else "."
        yield TruncationSentence(kind, f"{warning}{title}: {number} {what}{percent}{end}", is_warning)
