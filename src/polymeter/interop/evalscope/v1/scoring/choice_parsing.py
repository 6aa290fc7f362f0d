"""The options that a model's text chooses.

Every marker (``ANSWER:``, in Chinese ``答案：``) is tried from the last one to the first: the labels that follow it are
the answer. Text without a labelled marker is answered by its last capital letter, if that is an option.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

from polymeter.interop.evalscope.v1.scoring.choice_templates import answer_character
from polymeter.metrics.bounded import bounded

_MARKER = re.compile(r"(?i)ANSWER\s*:\s*\**\s*")
_CHINESE_MARKER = re.compile(r"答案\s*[:：]\s*\**\s*")
# Only what has the shape of a label: prose in brackets and a repeated "[LETTER]" are none.
_BRACKETED = re.compile(r"[(\[（【]\s*([A-Za-z\d](?:\s*[,，/、]\s*[A-Za-z\d])*)\s*[)\]）】]")
_PLAIN = re.compile(r"([A-Za-z\d][A-Za-z\d ,，/、]*)")
_CHINESE_PLAIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9 ,，/、]*)")
# $B$, \(B\), \boxed{B}, $\boxed{\text{B}}$.
_TYPESETTING = re.compile(r"(?:(?:\$+|\\\(|\\(?:boxed|fbox|text|textbf|mathbf|mathrm)\s*\{)\s*)*")
_WORD = re.compile(r"[A-Za-z\d]+")
_CONNECTORS = ("and", "or")
_CONNECTOR = re.compile(r"\s+(?:and|or)\s+", re.IGNORECASE)
_SEPARATORS = str.maketrans({"，": ",", "、": ",", "/": ",", " ": None})


def parse_answers(state: Any, multiple_correct: bool = False, completion: str | None = None) -> set[str]:
    """The labels that an English text chooses; empty where it chooses none.

    Args:
        state: The state: its ``choices``, and its answer where no text is given.
        multiple_correct: Whether several may be chosen.
        completion: The text; default: the model's whole answer.
    """
    options = _options(state)
    text = state.output.completion if completion is None else completion
    labels = _labelled(text, options, is_chinese=False)
    if labels is None:
        return _last_capital(text, options)
    if not multiple_correct:
        return {labels} & options
    listed = _CONNECTOR.sub(",", labels).translate(_SEPARATORS)
    for answers in ({*listed.split(",")}, {*listed.replace(",", "")}):
        if answers <= options:
            return answers
    return set()


def parse_answers_zh(state: Any, multiple_correct: bool = False, completion: str | None = None) -> set[str]:
    """The labels that a Chinese text chooses; see ``parse_answers``."""
    options = _options(state)
    text = state.output.completion if completion is None else completion
    labels = _labelled(text, options, is_chinese=True)
    if labels is None:
        return _last_capital(text, options)
    if not multiple_correct:
        return {labels} & options
    listed = labels.translate(_SEPARATORS)
    answers = {*listed.split(",")} if "," in listed else {*listed}
    return answers if answers <= options else set()


def extract_answer_line(text: str | None) -> str | None:
    """The rest of the line after the last ``ANSWER:``, without asterisks around it; ``None`` without such a marker."""
    markers = list(_MARKER.finditer(text or ""))
    if not text or not markers:
        return None
    return text[markers[-1].end() :].split("\n", 1)[0].strip().strip("*").strip()


def _options(state: Any) -> set[str]:
    return {answer_character(at) for at in range(len(state.choices))}


@bounded
def _labelled(text: str, options: Set[str], *, is_chinese: bool) -> str | None:
    """Return the labels behind the last marker that has any, as they are written, or ``None``."""
    marker = _CHINESE_MARKER if is_chinese else _MARKER
    plain = _CHINESE_PLAIN if is_chinese else _PLAIN
    for found in reversed([*marker.finditer(text)]):
        typesetting = _TYPESETTING.match(text, found.end())
        start = typesetting.end() if typesetting else found.end()
        for shape in (_BRACKETED, plain):
            written = shape.match(text, start)
            labels = _leading_labels(written.group(1), options) if written else ""
            if labels:
                return labels
    return None


def _leading_labels(written: str, options: Set[str]) -> str:
    """Return the part before the first word that is no label: "B, not C" is "B". A connector between two labels does
    not end it.
    """
    words = [*_WORD.finditer(written)]
    is_label = [word.group() in options or options >= {*word.group()} for word in words]
    end = 0
    for at, word in enumerate(words):
        if is_label[at]:
            end = word.end()
        elif not (end and is_label[at + 1 : at + 2] == [True] and word.group().lower() in _CONNECTORS):
            break
    return written[:end]


def _last_capital(text: str, options: Set[str]) -> set[str]:
    last = next((letter for letter in reversed(text) if letter.isupper()), "")
    return {last} & options
