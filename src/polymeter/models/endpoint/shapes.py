"""Rules for the answers of all providers: a broken answer is an error, and an answer may be empty only if the model
ended its turn by itself.

*transient*
    The answer is incomplete, as servers and proxies in trouble send it: no message, no end, an image that cannot be
    read. The same request may be answered next time.
*permanent*
    The answer is complete, but not what was requested: another type, only tool calls, invalid log-probabilities. The
    same request would get the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import ModelError

_NAMED_SETTINGS = frozenset({"tools", "functions", "toolConfig", "tool_config", "mcp_servers", "web_search_options"})


def incomplete(what: str, *, where: str) -> ModelError:
    """Return the error for an incomplete answer; another attempt may complete it."""
    return ModelError(f"The endpoint's answer is incomplete: {what}.", kind="transient", where=where)


def malformed(what: str, *, where: str) -> ModelError:
    """Return the error for an answer that is not in the API's form; another attempt would return the same."""
    return ModelError(
        f"The endpoint's answer is malformed: {what}.", where=where, hint="Does the endpoint use this API?"
    )


def only_calls(*, where: str) -> ModelError:
    """Return the error for tool calls instead of an answer, if the model was offered no tools."""
    return ModelError(
        "The model answered with tool calls only, although it was offered no tools.",
        where=where,
        hint="Switch off tool calls at the server.",
    )


def offers_tools(*settings: Mapping[str, Any]) -> bool:
    """Return whether a request offers tools to the model, so that an answer may consist of calls."""
    return any(given[name] for given in settings for name in _NAMED_SETTINGS & given.keys())


def count(counts: Any, *names: str) -> int | None:
    """The first of these entries that is a number of tokens; ``None`` if the endpoint does not count them."""
    if not isinstance(counts, Mapping):
        return None
    for name in names:
        value = counts.get(name)
        if type(value) is int and value >= 0:
            return value
    return None


def amount(value: Any) -> float | None:
    """An amount of money that the endpoint states; ``None`` if it is not one."""
    is_number = type(value) in (int, float)
    return float(value) if is_number and math.isfinite(value) and value >= 0 else None


def logprob(value: Any, *, where: str) -> float:
    """Check a log-probability. A tiny excess over 0 is a server's rounding and becomes 0.

    Raises:
        ModelError: if it is not a number, NaN, or clearly positive.
    """
    if type(value) not in (int, float) or math.isnan(value) or value > _ROUNDING:
        raise malformed(f"{value!r} is not a log-probability", where=where)
    return float(value)


def kind_of(value: Any) -> str:
    """The JSON type of a value, for messages."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


_ROUNDING = 1e-2
