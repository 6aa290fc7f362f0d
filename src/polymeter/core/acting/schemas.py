"""Checks by JSON Schema: tools before anything is sent, and the arguments of a call before it is enacted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from polymeter.core.acting.tools import TOOL_CHOICES, Call, Tool
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.text.codec import compact_json, jsonable

_NAME = re.compile(r"[^\s\x00-\x1f]{1,128}")
_SHOWN = 300


def check_tools(tools: Sequence[Tool], choice: str = "auto", *, where: str = "") -> None:
    """Refuse tools that no model can be offered.

    Args:
        tools: The tools of one request.
        choice: Which of them the model calls.
        where: The task or sample, for messages.

    Raises:
        PlanError: if a name is empty, has blanks or is used twice, a schema is not a JSON Schema of an object, or the
            choice names no tool.
    """
    names = [tool.name for tool in tools]
    for name in names:
        if not _NAME.fullmatch(str(name)):
            raise PlanError(
                f"The name of a tool must be 1 to 128 characters without blanks, not {name!r}.", where=where
            )
        if names.count(name) > 1:
            raise PlanError(f"Two tools have the name {name!r}.", where=where, hint="Rename one of them.")
    for tool in tools:
        fault = _fault_of(tool.schema)
        if fault:
            raise PlanError(f"The schema of the tool {tool.name!r} cannot be used: {fault}.", where=where)
    if choice not in (*TOOL_CHOICES, *names):
        hint = did_you_mean(choice, (*TOOL_CHOICES, *names)) or f"Known: {', '.join((*TOOL_CHOICES, *names))}."
        raise PlanError(f"tool_choice is {choice!r}, which names no tool.", where=where, hint=hint)


def argument_problem(tool: Tool, call: Call) -> str:
    """Return what is wrong with a call of a tool, as the end of a sentence: its own problem, or the first fault of its
    arguments by the tool's schema; empty: nothing.
    """
    if call.problem or call.arguments is None:
        return call.problem or "its arguments cannot be read"
    from jsonschema.exceptions import best_match
    from referencing.exceptions import Unresolvable

    try:
        fault = best_match(_validator(compact_json(jsonable(tool.schema))).iter_errors(jsonable(call.arguments)))
    except (Unresolvable, RecursionError) as error:
        return f"its arguments cannot be checked: {str(error)[:_SHOWN]}"
    if fault is None:
        return ""
    place = "/".join(str(part) for part in fault.absolute_path)
    return f"its arguments do not fit the schema: {fault.message[:_SHOWN]}{f' (at {place!r})' if place else ''}"


def _fault_of(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return f"it is a {type(schema).__name__} and not a mapping"
    if schema.get("type", "object") != "object":
        return f"its type is {schema['type']!r}, and arguments are an object"
    from jsonschema.exceptions import SchemaError

    plain = jsonable(schema)
    try:
        _validator(compact_json(plain)).check_schema(plain)
    except SchemaError as error:
        place = "/".join(str(part) for part in error.absolute_path)
        return f"{error.message[:_SHOWN]}{f' (at {place!r})' if place else ''}"
    return ""


# Kept for the life of the process: a task has a few tools, and checks thousands of calls against each.
@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    """The validator of a schema's text. It fetches nothing: a reference to another document is unresolvable."""
    import json

    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    read = json.loads(schema)
    return validator_for(read, default=Draft202012Validator)(read, registry=Registry())
