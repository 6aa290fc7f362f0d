"""The columns of an index that plots of choices need: the labels of target and answer, and the model's confidence."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import Any

from polymeter.report.content.choices import logprob_value, matching, probabilities
from polymeter.report.formatting import one_line
from polymeter.viewer.plots.columns import LABEL

MOST_LABELS = 200
"""The most labels that a column keeps: a column with more is not one of labels."""
_LONGEST_LABEL = 60
_NONE, _OTHER = -1, -2
_YES_NO = re.compile(r"(yes|no)[.!,]?", re.IGNORECASE)
_LETTER = re.compile(r"\(?([A-Za-z])[).:]?")


class _LabelColumn:
    """A column of labels as codes: -1 for a sample without one, -2 for one that is not kept."""

    def __init__(self) -> None:
        self.codes = array("i")
        self.places: dict[str, int] = {}

    def add(self, label: str | None) -> None:
        """One more sample."""
        if label is None:
            self.codes.append(_NONE)
        elif label in self.places or len(self.places) < MOST_LABELS:
            self.codes.append(self.places.setdefault(label, len(self.places)))
        else:
            self.codes.append(_OTHER)


class ChoiceColumns:
    """Labels and confidences of samples that are added one after the other."""

    def __init__(self) -> None:
        self._columns = {name: _LabelColumn() for name in ("target", "answer", "target_place", "answer_place")}
        self._confidence = array("d")
        self._has_confidence = False

    def add(self, sample: Mapping[str, Any]) -> None:
        """One more sample, as ``samples/<task>.jsonl`` has it."""
        target, answer = sample.get("target"), sample.get("answer")
        self._columns["target"].add(label_of(target))
        self._columns["answer"].add(label_of(answer))
        texts, values = _likelihoods(sample)
        right, taken = matching(target, texts), matching(answer, texts)
        self._columns["target_place"].add(None if right is None else f"choice {right + 1}")
        self._columns["answer_place"].add(None if taken is None else f"choice {taken + 1}")
        is_sure = taken is not None and len(values) > 1
        self._confidence.append(probabilities(values)[taken] if is_sure and taken is not None else float("nan"))
        self._has_confidence = self._has_confidence or is_sure

    def arrays(self) -> dict[str, array[Any]]:
        """The columns by name."""
        labels = {LABEL + name: column.codes for name, column in self._columns.items()}
        return {**labels, **({"confidence": self._confidence} if self._has_confidence else {})}

    def facts(self) -> dict[str, Any]:
        """The labels that the codes of the columns stand for."""
        labels = {name: [*column.places] for name, column in self._columns.items()}
        return {"labels": labels, **({"confidence": True} if self._has_confidence else {})}


def label_of(value: Any) -> str | None:
    """A target or answer as a label: on one line; a single letter without brackets and in upper case; yes and no
    without a full stop; ``None``: it is none, or too long to be one.
    """
    if not isinstance(value, (str, int)):
        return None
    text = str(value)[: 4 * _LONGEST_LABEL].strip()
    letter = _LETTER.fullmatch(text)
    if letter:
        return letter[1].upper()
    yes_no = _YES_NO.fullmatch(text)
    if yes_no:
        return yes_no[1].lower()
    return one_line(text).encode("utf-8", "replace").decode() if 0 < len(text) <= _LONGEST_LABEL else None


def _likelihoods(sample: Mapping[str, Any]) -> tuple[list[str], list[float]]:
    """The choices of the first request for log-probabilities, and their values; empty if there is none."""
    for exchange in sample["exchanges"]:
        if exchange["role"] != "model":
            continue
        for output in exchange["response"].get("outputs") or ():
            logprobs = output.get("logprobs")
            if logprobs:
                ask = (exchange.get("request") or {}).get("ask") or {}
                texts = [str(text) for text in ask.get("continuations") or ()]
                values = [logprob_value(one) for one in logprobs]
                return (texts, values) if len(texts) == len(values) else ([], [])
    return [], []
