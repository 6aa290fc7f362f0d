"""Tools that a model may call, and its calls. Plain data in one shape, whichever backend sends and reads them.

A call is what a model wrote, so nothing about it is certain: it may name no tool, and its arguments may be no JSON.
Such a call has a ``problem`` and is never an exception. Nothing in it is ever evaluated as code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn

from polymeter.core.text.codec import compact_json, jsonable

Effect = Literal["pure", "local", "outside"]
"""The effect of calling a tool: ``pure`` returns the same for the same arguments, ``local`` changes an episode that can
be opened anew, ``outside`` changes or reads what cannot.
"""
TOOL_CHOICES = ("auto", "none", "required")
"""The words for which tools a model calls; any other choice is the name of the tool that it must call."""
_SHOWN = 80


def _no_parameters() -> Mapping[str, Any]:
    return {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call.

    Attributes:
        name: The name by which the model calls it.
        description: What the model reads about it.
        schema: The JSON Schema of its arguments, which are an object.
        effect: What calling it changes. It changes no answer, so it is not part of the identity of a request.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=_no_parameters)
    effect: Effect = "pure"

    def as_function(self) -> dict[str, Any]:
        """Return the tool as chat templates and most APIs describe one."""
        return {"name": self.name, "description": self.description, "parameters": self.schema}


@dataclass(frozen=True, slots=True)
class Call:
    """A model's call of a tool.

    Attributes:
        id: The id by which its result names it; unique in a conversation.
        name: The tool, as the model wrote it.
        arguments: Its arguments; ``None``: they could not be read.
        raw: The arguments as text, as the model wrote them.
        problem: What is wrong with the call, as the end of a sentence (``its arguments are not JSON``); empty: nothing.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw: str
    problem: str = ""

    @property
    def sent_name(self) -> str:
        """The name by which an API is sent the call again. APIs accept no empty one."""
        return self.name.strip() or "unnamed"

    @property
    def sent_arguments(self) -> Mapping[str, Any]:
        """The arguments with which an API is sent the call again. APIs accept only an object, so arguments that could
        not be read stand in one.
        """
        return {"unreadable": self.raw} if self.arguments is None else self.arguments

    @property
    def sent_text(self) -> str:
        """``sent_arguments`` as text: what the model wrote, if that could be read."""
        is_whole = self.arguments is not None and self.raw.strip()
        return self.raw if is_whole else compact_json(self.sent_arguments)


def read_call(call_id: Any, name: Any, written: Any) -> Call:
    """Read a call as a model or a server wrote it. Never raises.

    Args:
        call_id: Its id; nothing, if it has none.
        name: The name of the tool.
        written: The arguments: the text of a JSON object, or an object. An empty text or nothing means none.
    """
    own = name if isinstance(name, str) else ""
    arguments, problem = _read_arguments(written)
    raw = written if isinstance(written, str) else compact_json({} if written is None else jsonable(written))
    problem = problem if own.strip() else "it names no tool"
    return Call(call_id if isinstance(call_id, str) else "", own, arguments, raw, problem)


def with_ids(calls: Sequence[Call], taken: Collection[str] = ()) -> tuple[Call, ...]:
    """Return calls that each have an id of their own. One that has none, or another call's, gets the first free of
    ``call_1``, ``call_2``, … so that its result can name it.

    Args:
        calls: The calls of one turn.
        taken: The ids of earlier calls of the conversation.
    """
    used, named = set(taken), []
    own = {call.id for call in calls}
    for call in calls:
        name = call.id
        if not name or name in used:
            name = next(free for n in range(1, len(used) + len(own) + 2) if (free := f"call_{n}") not in used | own)
        used.add(name)
        named.append(call if name == call.id else replace(call, id=name))
    return tuple(named)


def write_call(call: Call) -> dict[str, Any]:
    """Return a call as plain data, for the journal. The text of its arguments is left out where it says no more."""
    body: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": call.arguments}
    if call.arguments is None or call.raw != compact_json(call.arguments):
        body["raw"] = call.raw
    if call.problem:
        body["problem"] = call.problem
    return body


def stored_call(body: Mapping[str, Any]) -> Call:
    """Return the call in data of ``write_call``, or in those of earlier versions, which kept calls as the API of
    OpenAI, Anthropic or Gemini writes them.
    """
    if "raw" in body or "problem" in body:
        name, arguments = str(body.get("name") or ""), body.get("arguments")
        raw = body["raw"] if isinstance(body.get("raw"), str) else compact_json(arguments)
        read = arguments if isinstance(arguments, Mapping) else None
        return Call(str(body.get("id") or ""), name, read, raw, str(body.get("problem") or ""))
    function = next((body[key] for key in ("function", "functionCall") if isinstance(body.get(key), Mapping)), body)
    given = next((function[key] for key in ("arguments", "input", "args") if key in function), None)
    return read_call(body.get("id"), function.get("name"), given)


def stored_calls(listed: Any) -> tuple[Call, ...]:
    """Return the calls in a list as the journal holds it; what is not a call is left out."""
    return tuple(stored_call(one) for one in listed if isinstance(one, Mapping)) if isinstance(listed, list) else ()


def logged_call(call_id: Any, name: Any, arguments: Any, fault: Any = None) -> Call:
    """Return a call of another tool's log, whose arguments are an object, or empty with a fault if they could not be
    read.
    """
    call = read_call(call_id, name, arguments)
    return replace(call, arguments=None, problem=" ".join(str(fault).split())) if fault else call


def tools_identity(tools: Iterable[Tool], choice: str) -> list[Any]:
    """Return what can change an answer: names, descriptions and schemas in their order, and the choice. The order of
    keys counts, because a model reads them in it.
    """
    return [[[tool.name, tool.description, jsonable(tool.schema)] for tool in tools], choice]


def _read_arguments(written: Any) -> tuple[Mapping[str, Any] | None, str]:
    """Return the arguments, or ``None`` and why they cannot be read."""
    if written is None or (isinstance(written, str) and not written.strip()):
        return {}, ""
    try:
        if not isinstance(written, str):
            json.dumps(written, allow_nan=False)  # what an API sent as an object is sent back to it as JSON
            return _as_object(written)
        return _as_object(json.loads(written, parse_constant=_refuse, parse_float=_finite))
    except RecursionError:
        return None, "its arguments are nested too deeply"
    except (ValueError, TypeError) as error:
        return None, f"its arguments are not JSON: {str(error)[:_SHOWN]}"


def _as_object(value: Any) -> tuple[Mapping[str, Any] | None, str]:
    if isinstance(value, Mapping):
        return dict(value), ""
    kinds = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return None, f"its arguments are {kinds.get(type(value), 'a number')} and not an object"


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:_SHOWN]} is too large")
    return number
