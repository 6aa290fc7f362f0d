r"""Stop strings: the end of an answer that continues after one.

They act on the answer, but not on its reasoning or on white space before it. With the stop string ``"\n\n"``, the blank
line after ``</think>`` ends nothing, and an answer that begins with a line break is not empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polymeter.core.request import Tags
from polymeter.reading.reasoning import answer_stretches


def cut_at_stop(text: str, stops: Sequence[str], tags: Tags | None = None, *, is_whole: bool = False) -> str:
    """Return the text up to the first stop string in its answer; reasoning before it stays.

    Args:
        text: The model's answer.
        stops: The stop strings; empty ones are ignored.
        tags: As for ``without_reasoning``.
        is_whole: Whether stop strings count from the first character on, reasoning and white space included, as in
            systems that treat neither specially.
    """
    if not any(stop in text for stop in stops if stop):  # in most answers
        return text
    if is_whole:
        return _cut(text, stops, [(0, len(text))])
    left = _cut(text, stops, answer_stretches(text, tags))
    # If nothing of the answer is left after the reasoning, the text before the reasoning counts as the answer.
    return left if left == text else _cut(left, stops, answer_stretches(left, tags))


def _cut(text: str, stops: Sequence[str], stretches: Iterable[tuple[int, int]]) -> str:
    """Return the text up to the first stop string that begins in one of the stretches."""
    for start, limit in stretches:
        found = [place for stop in stops if stop and 0 <= (place := text.find(stop, start)) < limit]
        if found:
            return text[: min(found)]
    return text
