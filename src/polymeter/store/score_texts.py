"""Stored scores taken apart as text.

Most scores are a few numbers and short texts. One regular expression cuts such a one into its pieces, which are written
to other files as they are; parsing the score and writing it again would take several times as long.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Escapes that Python's encoder has other ways to write are left to the parser, and so is what is no finite number.
_STRING = r'"[^"\\]*(?:\\[^u/][^"\\]*)*"'
_PLAIN = rf"(?:-?\d+(?:\.\d+)?(?:e[-+]\d+)?|true|false|null|{_STRING})"
_VALUE = rf"\[({_STRING}),({_STRING}),({_PLAIN}|\[(?:{_PLAIN}(?:,{_PLAIN})*)?\])\]"
_VALUES = re.sub(r"\((?!\?)", "(?:", rf"{_VALUE}(?:,{_VALUE})*")
_match = re.compile(
    rf'\{{"values":\[((?:{_VALUES})?)\]'
    rf'(?:,"target":({_STRING}))?(?:,"answer":({_STRING}))?(?:,"explanation":({_STRING}))?(?:,"log":(\{{.*\}}))?\}}'
).fullmatch
_find_values = re.compile(_VALUE).findall

_NOT_AS_WRITTEN = re.compile(r"\\u|\\/|NaN|Infinity|__polymeter__").search
"""What may stand for something else in a log, which is not looked at any closer."""

ScoreTexts = tuple[str, "str | None", "str | None", "str | None", "str | None"]
"""The values, without the brackets around them, then target, answer, explanation and log: JSON texts, ``None`` where
the score has none.
"""


def score_texts(body: str) -> ScoreTexts | None:
    """The pieces of a score; ``None`` if it has others than these, or one that must be parsed.

    Args:
        body: As ``polymeter.store.wire.write_score`` writes it.
    """
    found = _match(body)
    if found is None or (found[5] is not None and _NOT_AS_WRITTEN(found[5])):
        return None
    return found.groups()  # type: ignore[return-value]


@lru_cache(maxsize=1024)
def listed_values(values: str) -> str:
    """The values of a score as files of samples list them. Samples have few different ones, or one short one each."""
    return ",".join(
        f'{{"metric":{metric},"filter":{name},"value":{value}}}' for metric, name, value in _find_values(values)
    )
