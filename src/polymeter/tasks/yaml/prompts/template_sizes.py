"""Sizes of the results of a template's operations, computed in advance: text that is too long is refused.

Templates are data (``polymeter.tasks.yaml.prompts.sandbox``), so one short operation may ask for any amount of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sized
from string import Formatter
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.utils import Namespace

MAX_TEXT = 10_000_000
"""The longest text that a template may make, in characters; a list counts its items too."""
MAX_MADE = 10 * MAX_TEXT
"""The most characters that all operations of one rendering may make together."""
_MAX_BITS = 100_000
_WIDEST = 100_000
"""A field of a format that is as wide is refused."""
_MOST_DIGITS = 1_000
_PERCENT = re.compile(r"[%)]([-#0 +]*[\d*]*(?:\.[\d*]*)?)")
"""A field of a ``%`` layout. The name in its parentheses may hold others, so what follows any of these counts."""
_WIDTH = re.compile(r"\d+|\*")
_DIGITS = re.compile(r"\d+")
SIZED = (str, bytes, list, tuple, dict)
"""The types of values whose sizes count."""
_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_CONTAINERS: tuple[type[Any], ...] = (list, tuple, set, frozenset, dict, *_VIEWS)
_OPENED: tuple[type[Any], ...] = (*_CONTAINERS, Namespace)
_LONG: tuple[type[Any], ...] = (str, bytes, *_OPENED)


def check_printed(value: Any) -> int:
    """The least length of a value's text. A container may hold one long text many times.

    Raises:
        SecurityError: if it is huge, or a namespace, which may hold anything.
    """
    if not isinstance(value, _OPENED):
        return len(value) if isinstance(value, (str, bytes)) else 1
    left: list[Any] = [value]
    length = 1
    while left and length <= MAX_TEXT:
        items = left.pop()
        if isinstance(items, Namespace):
            raise SecurityError("it writes a namespace")
        items = [*items, *items.values()] if isinstance(items, dict) else items
        long = [each for each in items if isinstance(each, _LONG)]
        length += len(items) + sum(len(each) for each in long if not isinstance(each, Namespace))
        left += [each for each in long if not isinstance(each, (str, bytes))]
    check_length(length)
    return length


def check_product(left: Any, right: Any) -> None:
    """Refuse ``left * right`` if it would be huge.

    Raises:
        SecurityError: if it would.
    """
    for one, other in ((left, right), (right, left)):
        if isinstance(one, SIZED) and isinstance(other, int):
            check_length(len(one) * other)
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _MAX_BITS:
        raise SecurityError("it computes a number with too many digits")


def check_power(left: Any, right: Any) -> None:
    """Refuse ``left ** right`` if it would be huge.

    Raises:
        SecurityError: if it would.
    """
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > _MAX_BITS:
        raise SecurityError("it computes a number with too many digits")


def check_percent(layout: Any, values: Any) -> None:
    """Refuse ``layout % values`` with wide fields, or one that would write a value too many times.

    Raises:
        SecurityError: if it has.
    """
    text = layout.decode("latin-1") if isinstance(layout, bytes) else str(layout)
    _check_widths([width for spec in _PERCENT.findall(text) for width in _WIDTH.findall(spec)])
    _check_times(text.count("%"), check_printed(values))


def check_length(length: int) -> None:
    """Refuse text of a length.

    Raises:
        SecurityError: if it is too long.
    """
    if length > MAX_TEXT:
        raise SecurityError(f"it asks for more than {MAX_TEXT:,} characters")


def _check_times(times: int, length: int) -> None:
    if times * length > MAX_MADE:
        raise SecurityError(f"it could make more than {MAX_TEXT:,} characters")


def check_call(name: str, value: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    """Refuse a filter, or a method of a text or number, that would make something huge.

    Args:
        name: The filter or method; ``%`` for the filter ``format``.
        value: The value that it is applied to.
        args: Its arguments.
        named: Its named arguments.

    Raises:
        SecurityError: if it would.
    """
    given = (*args, *named.values())
    for each in given:
        if not isinstance(each, (str, int)):
            check_printed(each)
    check = _CHECKS.get(name)
    if check is not None:
        check(value, *args, **named)


def _check_size(value: Any, *args: Any, **named: Any) -> None:
    check_length(max((abs(each) for each in (*args, *named.values()) if _is_int(each)), default=0))


def _check_replaced(text: Any, old: Any = "", new: Any = "", count: Any = None) -> None:
    text, old, new = (each if isinstance(each, (str, bytes)) else str(each) for each in (text, old, new))
    check_length(len(text) + text.count(old) * (len(new) - len(old)))


def _check_pattern(text: Any, pattern: str = "", repl: str = "", count: Any = None) -> None:
    times = check_printed(text) + 1
    is_overlapping = "\\" in repl and ("(?=" in pattern or "(?<=" in pattern)  # groups outside of the match
    _check_times(times**2 if is_overlapping else times, len(repl))


def _check_joined(one: Any, other: Any = "", attribute: Any = None) -> None:
    _check_times(len(one), len(other) if isinstance(other, Sized) else 1)


def _check_translated(text: str, table: Any = ()) -> None:
    new = table.values() if isinstance(table, dict) else table
    _check_times(len(text), max((len(each) for each in new if isinstance(each, str)), default=1))


def _check_inserted(value: Any, *args: Any, **named: Any) -> None:
    """Refuse long texts that stand at each line, word or link."""
    texts = (each for each in (*args, *named.values()) if isinstance(each, str))
    _check_times(check_printed(value), max(map(len, texts), default=0))


def _check_indented(value: Any, *args: Any, **named: Any) -> None:
    """Refuse wide indents. Lists within lists are indented once for each."""
    lines = value.count("\n") + 1 if isinstance(value, str) else check_printed(value)
    widths = (each if _is_int(each) else check_printed(each) for each in (*args, *named.values()))
    _check_times(lines * _depth(value), max([1, *widths]))


def _depth(value: Any) -> int:
    depth, level = 1, [value] if isinstance(value, _CONTAINERS) else []
    while level:
        depth += 1
        items = (item.values() if isinstance(item, dict) else item for item in level)
        level = [each for item in items for each in item if isinstance(each, _CONTAINERS)]
    return depth


def _check_tabs(text: Any, *args: Any, **named: Any) -> None:
    tabs = text.count("\t" if isinstance(text, str) else b"\t")
    check_length(len(text) + tabs * max([8, *filter(_is_int, (*args, *named.values()))]))


def _check_digits(value: Any, precision: Any = 0, method: Any = None) -> None:
    if _is_int(precision) and abs(precision) > _MOST_DIGITS:
        raise SecurityError(f"it rounds to more than {_MOST_DIGITS:,} digits")


def _check_fields(layout: Any, *args: Any, **named: Any) -> None:
    """Refuse ``str.format`` with wide fields: their widths may be written out, or stand among the arguments. It may
    also write one argument many times.
    """
    given = (*args, *named.values())
    specs = [spec for _, _, spec, _ in Formatter().parse(layout) if spec]
    _check_widths(_DIGITS.findall(" ".join(specs)))
    if any("{" in spec for spec in specs):
        if not all(isinstance(each, (str, int, float)) for each in given):
            raise SecurityError("it reads the widths of fields from a container")
        _check_widths(_DIGITS.findall(" ".join(map(str, given))), layout.count("{"))
    _check_times(layout.count("{"), max(map(check_printed, given), default=0))


def _check_widths(written: list[str], times: int = 1) -> None:
    widths = [_WIDEST if width == "*" else int(width) for width in written]
    if sum(widths) * times > MAX_TEXT or any(width >= _WIDEST for width in widths):
        raise SecurityError("it asks for very wide fields")


def _is_int(value: Any) -> bool:
    return isinstance(value, int)


_CHECKS: Mapping[str, Callable[..., None]] = {
    "%": lambda layout, *args, **named: check_percent(layout, named or args),
    **dict.fromkeys(("batch", "center", "ljust", "rjust", "slice", "to_bytes", "zfill"), _check_size),
    "expandtabs": _check_tabs,
    "format": _check_fields,
    "format_map": _check_fields,
    "indent": _check_indented,
    "join": _check_joined,
    "pprint": _check_indented,
    "regex_replace": _check_pattern,
    "replace": _check_replaced,
    "round": _check_digits,
    "tojson": _check_indented,
    "translate": _check_translated,
    "urlize": _check_inserted,
    "wordwrap": _check_inserted,
}
"""The size of the result of each filter or method that can make many times its input."""
