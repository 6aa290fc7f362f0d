"""What holds for the answers of all providers: a broken answer is an error, and only a model that ended its turn by
itself may have said nothing.

*transient*
    The answer is incomplete, as servers and proxies in trouble send it: no message, no end, an image that cannot be
    read. The same request may well be answered next time.
*permanent*
    The answer is whole, but not what was asked for: another type, only tool calls, log-probabilities that are none.
    The same request would be answered in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import ModelError

_NAMED_SETTINGS = frozenset({"tools", "functions", "toolConfig", "tool_config", "mcp_servers", "web_search_options"})


def incomplete(what: str, *, where: str) -> ModelError:
    """The error for an answer that lacks something; another attempt may bring it."""
    return ModelError(f"The endpoint's answer is incomplete: {what}.", kind="transient", where=where)


def malformed(what: str, *, where: str) -> ModelError:
    """The error for an answer of another form than the API's; another attempt brings the same."""
    return ModelError(
        f"The endpoint's answer is malformed: {what}.", where=where, hint="Is this the API that the endpoint speaks?"
    )


def only_calls(*, where: str) -> ModelError:
    """The error for tool calls in place of an answer, where the model was offered no tools."""
    return ModelError(
        "The model answered with tool calls only, and it was offered no tools.",
        where=where,
        hint="Switch tool calls off at the server.",
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


def logprob(value: Any, *, where: str) -> float:
    """A log-probability; a tiny excess over 0 is rounding, as servers have it.

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
