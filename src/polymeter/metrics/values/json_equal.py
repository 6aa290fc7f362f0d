"""Equality of JSON values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.metric import Metric
from polymeter.metrics.arguments import check_flag
from polymeter.metrics.bounded import bounded
from polymeter.metrics.references import one_prediction
from polymeter.reading.text import compared, with_folded_case

_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_UNREADABLE = (ValueError, RecursionError)


def json_equal(
    references: Sequence[Any],
    predictions: Sequence[Any],
    ignore_case: bool = False,
    keys: Sequence[str] | str | None = None,
) -> float:
    """Return 1 if the answer is the same JSON value as a reference, else 0.

    Equality is that of JSON Schema (draft 2020-12, section 4.2.2): the order of an object's keys does not count, the
    order of an array does, and numbers are equal by value (``1`` is ``1.0``, and not ``true`` or ``"1"``). Texts are
    read by ``compared``. The answer is JSON as a whole, or its only fenced block is. Any other answer is wrong.

    Args:
        references: The references: texts with JSON, or the values themselves.
        predictions: The answer.
        ignore_case: Fold letter case in texts and keys.
        keys: The only keys of the outermost object to compare.

    Raises:
        ScoreError: if a reference is not JSON, or has none of ``keys``.
    """
    answer = str(one_prediction(references, predictions))
    only = (keys,) if isinstance(keys, str) else None if keys is None else tuple(keys)
    expected = [_read_reference(reference, only) for reference in references]
    return _share_equal(expected, answer, ignore_case, only)


def check_json(ignore_case: Any = False, keys: Any = None) -> None:
    """Check the arguments.

    Raises:
        PlanError: if one has no such value.
    """
    check_flag("json_equal", "ignore_case", ignore_case)
    listed = [keys] if isinstance(keys, str) else keys
    is_list = isinstance(listed, (list, tuple)) and bool(listed) and all(isinstance(key, str) for key in listed)
    if keys is not None and not is_list:
        raise PlanError(f"Metric 'json_equal' has the keys {keys!r}.", hint="Give a list of names: keys: [name, total]")


def _read_reference(reference: Any, only: Sequence[str] | None) -> Any:
    value = reference
    if isinstance(reference, str):
        try:
            value = _parsed(reference)
        except _UNREADABLE as error:
            raise ScoreError(
                f"The reference {reference[:80]!r} is not JSON: {error}.",
                hint="Correct it in the row. Write a text with its quotes, and a list of texts in a list.",
            ) from None
    if only is not None and not (isinstance(value, Mapping) and set(only) & set(value)):
        raise ScoreError(f"The reference {str(reference)[:80]!r} has no key {' or '.join(map(repr, only))}.")
    return value


@bounded
def _share_equal(expected: list[Any], answer: str, ignore_case: bool, only: tuple[str, ...] | None) -> float:
    try:
        actual = _in_one_form(_parsed(_json_part(answer)), ignore_case, only)
        return float(any(_in_one_form(value, ignore_case, only) == actual for value in expected))
    except _UNREADABLE:
        return 0.0


def _json_part(answer: str) -> str:
    blocks = _FENCE.findall(answer)
    return str(blocks[0]) if len(blocks) == 1 else answer


def _parsed(text: str) -> Any:
    return json.loads(compared(text), parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _in_one_form(value: Any, ignore_case: bool, only: Sequence[str] | None = None) -> Any:
    """Return a value so that equal ones are equal in Python, where ``True == 1``."""

    def folded(text: Any) -> str:
        text = compared(str(text))
        return with_folded_case(text) if ignore_case else text

    if isinstance(value, Mapping):
        return "object", {
            folded(key): _in_one_form(item, ignore_case) for key, item in value.items() if only is None or key in only
        }
    if isinstance(value, (list, tuple)):
        return "array", [_in_one_form(item, ignore_case) for item in value]
    if isinstance(value, str):
        return "text", folded(value)
    if isinstance(value, bool) or value is None:
        return "constant", value
    if isinstance(value, float) and not math.isfinite(value):
        return "text", str(value)
    return "number", value


JSON_EQUAL = Metric(
    "json_equal",
    score=json_equal,
    values={"generate_until": "1 if equal JSON"},
    bounds=(0.0, 1.0),
    check=check_json,
    only_computed=True,
)
