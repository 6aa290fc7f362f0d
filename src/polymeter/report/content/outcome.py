"""The outcome of a sample: its scores, its target beside its answer, and the reason for its score or for none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.content.text import ShownText, Span, visible
from polymeter.report.content.view import Block, BlockView, as_text, entry, objects
from polymeter.report.formatting import as_float, number, one_line

ORDER = 10
_WORDS = re.compile(r"\s+|\w+|.", re.DOTALL)
_MOST_WORDS = 4_000
_ALIKE = 0.2
"""Texts that share less than this are shown without marks: everything would be marked."""


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A value of the sample: its name, its text, and its place between 0 and 1 in hundredths if it lies there."""

    name: str
    text: str
    share: int | None


@dataclass(frozen=True, slots=True)
class ShownOutcome:
    """The outcome of the sample.

    Attributes:
        status: Its status.
        kind: The kind of its error; may be empty.
        error: The reason why it has no score; ``None`` if it has one.
        scores: Its values.
        target: The target; ``None``: nothing is stored.
        answer: The answer; ``None``: no text.
        verdict: The comparison of the two in a few words; may be empty.
        has_marks: Whether differences are marked.
        explanation: The explanation of the score; ``None``: nothing is stored.
    """

    status: str
    kind: str
    error: ShownText | None
    scores: tuple[ShownScore, ...]
    target: ShownText | None
    answer: ShownText | None
    verdict: str
    has_marks: bool
    explanation: ShownText | None


def make(view: BlockView) -> Block:
    """Every sample has one."""
    sample = view.sample
    status = one_line(str(sample.get("status") or "unknown"))
    error = entry(sample, "error")
    target, answer = view.target, view.answer
    missed, added, verdict = compare(target, answer) if target is not None and answer is not None else ((), (), "")
    explanation = as_text(sample.get("explanation"))
    message = as_text(error.get("message")) or "No message was recorded."
    data = ShownOutcome(
        status,
        one_line(str(error.get("kind") or "")),
        visible(message) if status != "ok" or error else None,
        tuple(_score(score) for score in objects(sample.get("scores"))),
        None if target is None else visible(target, missed),
        None if answer is None else visible(answer, added),
        verdict,
        bool(missed or added),
        None if not explanation else visible(explanation),
    )
    return Block("outcome", "", "content/outcome.html", data)


def compare(target: str, answer: str) -> tuple[tuple[Span, ...], tuple[Span, ...], str]:
    """Return the parts of the target missing from the answer, the parts only in the answer, and a verdict; no spans if
    they would not help.

    White space separates words and is itself never a difference.
    """
    if target == answer:
        return (), (), "identical"
    if target.split() == answer.split():
        return (), (), "equal but for white space"
    verdict = "equal but for letter case" if target.lower().split() == answer.lower().split() else ""
    left, right = ([*_WORDS.finditer(text)] for text in (target, answer))
    if max(len(left), len(right)) > _MOST_WORDS:
        return (), (), verdict or "too long to mark the differences"
    from rapidfuzz.distance import Indel

    words = [[" " if match[0].isspace() else match[0] for match in side] for side in (left, right)]
    missed, added = [], []
    n_shared = 0
    for step in Indel.opcodes(*words):
        if step.tag == "equal":
            n_shared += sum(len(word) for word in words[0][step.src_start : step.src_end] if word != " ")
        if step.tag in ("delete", "replace"):
            missed += [(match.start(), match.end(), "missed") for match in left[step.src_start : step.src_end]]
        if step.tag in ("insert", "replace"):
            added += [(match.start(), match.end(), "added") for match in right[step.dest_start : step.dest_end]]
    total = sum(len("".join(text.split())) for text in (target, answer))
    if 2 * n_shared < _ALIKE * total:
        return (), (), verdict
    return _joined(target, missed), _joined(answer, added), verdict


def _joined(text: str, spans: list[Span]) -> tuple[Span, ...]:
    """Neighbouring spans as one; those of white space alone are none."""
    joined: list[Span] = []
    for start, stop, change in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], stop, change)
        else:
            joined.append((start, stop, change))
    return tuple(span for span in joined if text[span[0] : span[1]].strip())


def _score(score: Mapping[str, Any]) -> ShownScore:
    name, of_filter = one_line(str(score.get("metric"))), one_line(str(score.get("filter") or "none"))
    value = score.get("value")
    plain = as_float(value)
    share = round(100 * plain) if plain is not None and 0 <= plain <= 1 and not isinstance(value, bool) else None
    return ShownScore(name if of_filter == "none" else f"{name} · {of_filter}", number(value), share)
