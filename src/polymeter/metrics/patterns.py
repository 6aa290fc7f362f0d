"""Safe use of regular expressions from files: a pattern that backtracks without end must not hang a run.

The engine is Python's ``re``, for which published patterns were written. Engines with time limits differ from it in
syntax and in the characters that count as letters or white space. So a pattern that may take long runs in a process
that can be killed (``bounded``). Nearly all patterns are quick for a text of ordinary length and run in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Concatenate, ParamSpec, TypeVar

from polymeter.metrics.bounded import named_in_process

P = ParamSpec("P")
T = TypeVar("T")

_MOST_STEPS = 10**8
"""The number of steps that the engine makes in about a second."""
_ESCAPED = re.compile(r"\\(\d|.)", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_EXACT = re.compile(r"\{\d+\}")
_LAZY_OR_POSSESSIVE = re.compile(r"([*+?}])[?+]")
_REPEATED_GROUP = re.compile(r"\)[*+{]")


def applied(
    function: Callable[Concatenate[re.Pattern[str], str, P], T],
    pattern: re.Pattern[str],
    text: str,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Apply a pattern to a text by a function of Polymeter, in a process if that may take long.

    Args:
        function: The function. It receives the pattern, the text and the further arguments.
        pattern: The pattern.
        text: The text.
        *args: Further arguments.
        **kwargs: Further arguments.

    Raises:
        UnscoredError: if it takes longer than scoring a sample may take.
    """
    if is_quick(pattern.pattern, len(text)):
        return function(pattern, text, *args, **kwargs)
    return named_in_process(f"the regular expression {pattern.pattern!r}", function, pattern, text, *args, **kwargs)


def is_quick(pattern: str, length: int) -> bool:
    """Check whether a pattern is always quick for a text of some length, even if it backtracks.

    A repeated group can need exponential time. Otherwise each repetition can begin and end anywhere, and each optional
    item doubles the number of ways.
    """
    unbounded, optional, has_repeated_group = _shape(pattern)
    return not has_repeated_group and max(length, 2) ** (1 + unbounded) * 2**optional <= _MOST_STEPS


def pick(pattern: re.Pattern[str], text: str, number: int) -> str:
    """Return one match of a pattern, or its first group that matched something; empty without a match."""
    matches = pattern.findall(text)
    if not -len(matches) <= number < len(matches):
        return ""
    chosen = matches[number]
    if isinstance(chosen, tuple):
        chosen = next((group for group in chosen if group), "")
    return str(chosen).strip()


def first_match(pattern: re.Pattern[str], text: str) -> str:
    """Return the whole first match of a pattern; empty without a match."""
    match = pattern.search(text)
    return match[0] if match else ""


def group_of_first(pattern: re.Pattern[str], text: str, group: int) -> str | None:
    """Return a group of the first match of a pattern, or ``None`` without a match. A group that took no part in the
    match is empty.
    """
    match = pattern.search(text)
    return (match.group(group) or "") if match else None


def replaced(pattern: re.Pattern[str], text: str, replacement: str, count: int = 0) -> str:
    """Return a text with the matches of a pattern replaced."""
    return pattern.sub(replacement, text, count=count)


def without_matches(text: str, patterns: Iterable[str]) -> str:
    """Delete the matches of patterns from a text, one pattern after the other.

    Raises:
        UnscoredError: if it takes longer than scoring a sample may take.
    """
    for pattern in patterns:
        text = applied(replaced, re.compile(pattern), text, "")
    return text


# Kept for the life of the process: a constant of the pattern, which each answer needs.
@lru_cache(maxsize=1024)
def _shape(pattern: str) -> tuple[int, int, bool]:
    """Return the numbers of repetitions and optional items of a pattern, and whether it repeats a group."""
    text = _ESCAPED.sub(lambda match: "x*" if match[1] in "123456789" else "x", pattern)  # \1 may match at any length
    text = _LAZY_OR_POSSESSIVE.sub(r"\1", _CLASS.sub("x", text).replace("(?", "("))
    repeats_group = bool(_REPEATED_GROUP.search(text))
    text = _EXACT.sub("", text)
    return sum(map(text.count, "*+{")), text.count("?"), repeats_group
