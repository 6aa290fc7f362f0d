"""The outcome of a sample: its target beside its answer, its scores, and the reason for its score or for none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.attempts import own_filter
from polymeter.core.records.stored_samples import named
from polymeter.report.content.text import ShownText, Span, visible
from polymeter.report.content.view import Block, BlockView, as_text, entry, objects, outputs_of
from polymeter.report.formatting import one_line
from polymeter.report.sample_values import sample_value
from polymeter.report.scales import axis, number_of
from polymeter.report.table import bounds_of
from polymeter.report.value_step import value_step

ORDER = 10
_WORDS = re.compile(r"\s+|\w+|.", re.DOTALL)
_MOST_WORDS = 4_000
_REASONED = "</think>"
_ALIKE = 0.2
"""Texts that share less than this are shown without marks: everything would be marked."""


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A value of the sample: its name, its text, and its step on the colour scale of its metric, if it has one."""

    name: str
    text: str
    step: int | None


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
        read_as: The part of the answer that was scored, such as a letter; ``None``: the whole answer.
        verdict: The comparison of the two in a few words; may be empty.
        has_marks: Whether differences are marked.
        explanation: The explanation of the score; ``None``: nothing is stored.
        is_by_judge: Whether the explanation is the verdict of the sample's only judge call.
    """

    status: str
    kind: str
    error: ShownText | None
    scores: tuple[ShownScore, ...]
    target: ShownText | None
    answer: ShownText | None
    read_as: ShownText | None
    verdict: str
    has_marks: bool
    explanation: ShownText | None
    is_by_judge: bool


def make(view: BlockView) -> Block:
    """Every sample has one."""
    sample = view.sample
    status = one_line(str(sample.get("status") or "unknown"))
    error = entry(sample, "error")
    target, answer = view.target, view.answer
    missed, added, verdict = compare(target, answer) if target is not None and answer is not None else ((), (), "")
    written = _written(view)
    explanation = as_text(sample.get("explanation"))
    verdict_text = None if explanation else _only_verdict(view)
    message = as_text(error.get("message")) or "No message was recorded."
    data = ShownOutcome(
        status,
        one_line(str(error.get("kind") or "")),
        visible(message) if status != "ok" or error else None,
        tuple(_score(view, score) for score in objects(sample.get("scores"))),
        None if target is None else visible(target, missed),
        visible(written) if written is not None else None if answer is None else visible(answer, added),
        visible(answer or "", added) if written is not None else None,
        verdict,
        bool(missed or added),
        visible(explanation) if explanation else visible(verdict_text) if verdict_text else None,
        bool(verdict_text),
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


def _written(view: BlockView) -> str | None:
    """Return the text of the model if another one was read from it and scored, such as the letter of a choice."""
    scored = view.sample.get("answer")
    outputs = [*view.outputs()]
    text = outputs[0].get("text") if len(outputs) == 1 else None
    if not isinstance(scored, str) or not isinstance(text, str) or not text.strip() or _REASONED in text:
        return None
    return None if text.split() == scored.split() else text


def _only_verdict(view: BlockView) -> str | None:
    """Return the text of the only call of a judge."""
    calls = view.exchanges(is_judge=True)
    outputs = outputs_of(calls[0]) if len(calls) == 1 else []
    text = outputs[0].get("text") if len(outputs) == 1 else None
    return text if isinstance(text, str) else None


def _score(view: BlockView, score: Mapping[str, Any]) -> ShownScore:
    name, of_filter = one_line(str(score.get("metric"))), one_line(str(score.get("filter") or "none"))
    label = name if of_filter == "none" else f"{name} · {of_filter}"
    return ShownScore(label, sample_value(str(score.get("metric")), score.get("value")), _step(view, score))


def _step(view: BlockView, score: Mapping[str, Any]) -> int | None:
    metric, of_filter = str(score.get("metric")), own_filter(str(score.get("filter") or "none"))
    for result in objects(view.results.get("results")):
        is_own = result.get("metric") == metric and str(result.get("filter") or "none") == of_filter
        if is_own and not result.get("subset"):
            extents = view.extents.get(named(metric, of_filter)) or view.extents.get(f"{metric}/score") or ()
            is_higher_better = result.get("higher_is_better")
            is_lower_better = None if is_higher_better is None else not is_higher_better
            return value_step(number_of(score), axis(bounds_of(result), extents), is_lower_better=is_lower_better)
    return None
