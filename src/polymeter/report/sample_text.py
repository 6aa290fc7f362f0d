"""The JSON text of a sample in an HTML report, put together from the texts of its line in the file of samples.

Most samples are shown as they are stored. Parsing them, cutting what is too long (nothing is) and writing them again
would take most of the time that a report takes.
"""

from __future__ import annotations

import re
from functools import lru_cache

from polymeter.report.extract import (
    DOC_TEXT_LENGTH,
    LIST_LENGTH,
    MAX_DEPTH,
    TEXT_LENGTH,
    sample_scores,
    script_json,
    script_text,
)
from polymeter.report.scales import MainMetric
from polymeter.store.sample_line import SampleTexts, read_scores

_EMPTY = frozenset({"null", "[]", "{}", '""'})
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_STRUCTURE = dict.fromkeys(code for code in range(128) if chr(code) not in "[]{},")
"""What ``str.translate`` leaves out of a JSON text without strings, which is ASCII, to get its brackets and commas."""


def unchanged_text(texts: SampleTexts, task: int, main: MainMetric | None) -> str | None:
    """The text for a sample; ``None`` if it shows media, or anything in it must be cut.

    Args:
        texts: What its line consists of.
        task: Number of its task in the report.
        main: The metric that orders the samples.
    """
    said = (texts.id, texts.target, texts.answer, texts.explanation, texts.exchanges)
    if max(map(len, said)) > TEXT_LENGTH or max(len(texts.doc), len(texts.log)) > DOC_TEXT_LENGTH:
        return None
    for text in (texts.doc, texts.log, texts.exchanges):
        if '"file":' in text or '"images":' in text:  # the keys under which media are named
            return None
        # Most rows are too small to be searched for brackets and commas that stand in no string.
        is_small = text.count("[") + text.count("{") <= MAX_DEPTH and text.count(",") < LIST_LENGTH
        if not is_small and not _is_shown_whole(_structure(text)):
            return None
    return script_text(
        f'{{"task":{task},"id":{texts.id},"index":{texts.position}{_member("subset", texts.subset)},"status":"ok"'
        f'{_member("target", texts.target)},"answer":{texts.answer}{_member("explanation", texts.explanation)}'
        f"{_scores(texts.scores, main)}"
        f"{_member('doc', texts.doc)}{_member('log', texts.log)}{_member('exchanges', texts.exchanges)}}}"
    )


def _member(name: str, text: str) -> str:
    """A member of the object; nothing for an empty value."""
    return "" if text in _EMPTY else f',"{name}":{text}'


@lru_cache(maxsize=1024)
def _scores(text: str, main: MainMetric | None) -> str:
    """The members that scores give. Samples have few different ones, or one short one each."""
    members = script_json(sample_scores({"status": "ok", "scores": read_scores(text)}, main))
    return f",{members[1:-1]}" if len(members) > 2 else ""


def _structure(text: str) -> str:
    """The brackets and commas of a JSON text, without those within strings."""
    has_escapes = '\\"' in text or "\\\\" in text  # else every quote begins or ends a string
    bare = _STRING.sub("", text) if has_escapes else "".join(text.split('"')[::2])
    return bare.translate(_NO_STRUCTURE)


@lru_cache(maxsize=4096)
def _is_shown_whole(structure: str) -> bool:
    """Whether nothing is left out of a value for its depth or the length of a list, by its brackets and commas."""
    depth = deepest = 0
    for character in structure:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest <= MAX_DEPTH and structure.count(",") < LIST_LENGTH
