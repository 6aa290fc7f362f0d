"""Conversion of English number words to digits: "two hundred and five" is 205."""

from __future__ import annotations

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SCALES = {"billion": 10**9, "million": 10**6, "thousand": 10**3}
_VALUES = {
    **{word: value for value, word in enumerate(_SMALL.split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), 2)},
    "hundred": 100,
    **_SCALES,
}
_POINT = "point"
_MOST_DIGITS = 4300
"""Python refuses to read longer integers."""


def number_in_words(text: str, *, repeats_last_scale: bool = False) -> int | float | None:
    """Return the number that the number words of a text form, ignoring all other words, or ``None``.

    The rules are those of the package ``word2number``: other words are skipped, hyphens separate words, "point" begins
    the decimals, and a text of digits is its number. At most four words count below each scale: ``a · b + c + d``.

    Args:
        text: The text.
        repeats_last_scale: Count a scale at the end a second time, below the scale before it, like that package: "one
            million two thousand" is then 1,003,002.
    """
    text = text.replace("-", " ").lower()
    if text.isdecimal():
        return int(text) if len(text) < _MOST_DIGITS else None
    words = [word for word in text.split() if word in _VALUES or word == _POINT]
    scales = [word for word in words if word in _SCALES]
    if not words or words.count(_POINT) > 1:
        return None
    if len(set(scales)) < len(scales):
        return None
    head, tail = words, []
    if _POINT in words:
        point = words.index(_POINT)
        head, tail = words[:point], words[point + 1 :]
    whole = _whole(head)
    if whole is not None and repeats_last_scale and len(head) > 1 and head[-1] in _SCALES:
        before = max((at for at, word in enumerate(head[:-1]) if word in _SCALES), default=None)
        whole += 0 if before is None else _below_scale(head[before + 1 :])
    if whole is None:
        return None
    return whole + _decimals(tail) if tail else whole


def _whole(words: list[str]) -> int | None:
    """Return the number before the point, or ``None`` if the scales are out of order or one has nothing before it."""
    if len(words) <= 1:
        return _VALUES[words[0]] if words else 0
    total, remaining = 0, words
    for scale, size in _SCALES.items():
        if scale in remaining:
            position = remaining.index(scale)
            if position == 0 or set(remaining[:position]) & set(_SCALES):
                return None
            total += size * _below_scale(remaining[:position])
            remaining = remaining[position + 1 :]
    if set(remaining) & set(_SCALES):
        return None
    return total + (_below_scale(remaining) if remaining else 0)


def _below_scale(words: list[str]) -> int:
    values = [_VALUES[word] for word in words]
    if len(values) == 2 and 100 not in values:
        return sum(values)
    if len(values) in (2, 3, 4):
        return values[0] * values[1] + sum(values[2:])
    return values[0]


def _decimals(words: list[str]) -> float:
    digits = [_VALUES[word] for word in words]
    return float("0." + "".join(map(str, digits))) if max(digits) < 10 else 0
