"""A line of a file of samples, read no further than it is asked.

How a sample ended and its scores are found in most lines without parsing them; and what a line consists of can be
passed on as the JSON texts that stand in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from polymeter.core.json_text import as_number, may_be_bare

BEFORE_ROW = ',"doc":'
"""What stands before the row in a line."""
BEFORE_EXCHANGES = ',"exchanges":'
"""What stands before the requests with their responses, which end the line."""

_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_match_scored = re.compile(
    rf'{{"id":({_TEXT}),"index":(\d+),"subset":(\[[^\]]*\]),"cluster":(?:null|{_TEXT}),"status":"(\w+)","error":null,'
    rf'"target":(null|{_TEXT}),"answer":(null|{_TEXT}),"explanation":(null|{_TEXT}),'
    r'"scores":(\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]),"log":'
).match


class SampleTexts(NamedTuple):
    """The pieces of a line as JSON texts, of a sample that has a score and whose judges left no notes."""

    id: str
    position: str
    subset: str
    target: str
    answer: str
    explanation: str
    scores: str
    log: str
    doc: str
    exchanges: str


class SampleLine(Mapping[str, Any]):
    """A line of a file of samples."""

    __slots__ = ("_is_whole", "_line", "_scored", "_values")

    def __init__(self, line: str) -> None:
        self._line = line
        self._is_whole = False
        self._scored = found = _match_scored(line)
        if found is not None:
            self._values = {"status": found[4], "scores": read_scores(found[8])}
            return
        # Quotes within a text are escaped, so this begins a value; if it is one within another, the cut is no JSON.
        head, begins_row, _ = line.partition(BEFORE_ROW)
        try:
            self._values = read_sample(f"{head}}}")
            self._is_whole = not begins_row
        except json.JSONDecodeError:
            self._values, self._is_whole = read_sample(line), True

    def __getitem__(self, key: str) -> Any:
        if key not in self._values:
            self._read()
        return self._values[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key; as ``Mapping`` does it, each call would raise and catch nothing at some cost."""
        if key not in self._values:
            self._read()
        return self._values.get(key, default)

    def __iter__(self) -> Iterator[str]:
        self._read()
        return iter(self._values)

    def __len__(self) -> int:
        self._read()
        return len(self._values)

    def texts(self) -> SampleTexts | None:
        """The pieces of the line; ``None`` if it must be parsed to tell them apart, or if one could be written in
        another way than parsing it and writing it again would give.
        """
        found, line = self._scored, self._line
        if found is None or found[4] != "ok" or "\\u" in line or "\\/" in line or may_be_bare(line):
            return None
        if line.count(BEFORE_ROW) != 1 or line.count(BEFORE_EXCHANGES) != 1:  # also a key of the log, or of the row
            return None
        log, _, rest = line[found.end() :].partition(BEFORE_ROW)
        doc, _, exchanges = rest.partition(BEFORE_EXCHANGES)
        if '"judge_' in log:
            return None
        name, index, subset, _, target, answer, explanation, scores = found.groups()
        return SampleTexts(
            name, index, subset, target, answer, explanation, scores, log, doc, exchanges.rstrip().removesuffix("}")
        )

    def _read(self) -> None:
        if not self._is_whole:
            self._values, self._is_whole = read_sample(self._line), True


def read_sample(text: str) -> dict[str, Any]:
    """The sample behind a line, parsed as a whole."""
    sample = json.loads(text)
    return {**sample, "scores": _with_numbers(sample["scores"])}


@lru_cache(maxsize=1024)
def read_scores(text: str) -> Sequence[Mapping[str, Any]]:
    """The scores of a line. Samples have few different ones, or one short one each."""
    return _with_numbers(json.loads(text))


def _with_numbers(scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "value": as_number(one["value"])} for one in scores]
