"""Calls of tools in the text of a model: what models on this machine write, and servers without a parser let through.

========  =================================================================================================
family    how a model writes a call
========  =================================================================================================
hermes    ``<tool_call>{"name": "crop", "arguments": {"left": 3}}</tool_call>`` (Hermes, Qwen2.5, Qwen3)
qwen_xml  ``<tool_call><function=crop><parameter=left>3</parameter></function></tool_call>`` (Qwen3-Coder)
========  =================================================================================================

A call whose text cannot be read is a call with a problem. Calls inside reasoning are thoughts and no calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.acting.tools import Call, Tool, read_call
from polymeter.core.request import Output, Tags
from polymeter.reading.reasoning import answer_stretches

_BEGIN = "<tool_call>"
_BLOCK = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]*)"')
_FUNCTION = re.compile(r"<function=([^>\s]*)>")
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
PARSER_HINT = (
    "Start the server with its parser: enable_auto_tool_choice=true and tool_call_parser=hermes for vLLM, "
    "tool_call_parser=qwen for SGLang, jinja=true for llama.cpp, in --server-args where Polymeter starts it."
)
"""The advice about a server that does not read its model's calls."""
CALL_TAGS: Tags = ((_BEGIN, "</tool_call>"),)
"""The tags around a call, which some tokenizers keep as special tokens."""


def shows_tools(template: str) -> bool:
    """Return whether a chat template shows tools to the model."""
    return re.search(r"\btools\b", template) is not None


def family_of(template: Any) -> str:
    """Return the name of the family whose calls a chat template asks for; empty: it shows no tools, or in a form that
    is not read here.
    """
    if not isinstance(template, str) or not shows_tools(template) or _BEGIN not in template:
        return ""
    return "qwen_xml" if "<function=" in template and "<parameter=" in template else "hermes"


def with_calls(output: Output, family: str, tools: Sequence[Tool], tags: Tags | None) -> Output:
    """Return an output whose calls are read from its text, which loses them.

    Args:
        output: The output.
        family: Its family.
        tools: The tools that were offered; their schemas say which arguments are texts.
        tags: The tags around reasoning.
    """
    text = output.text or ""
    if _BEGIN not in text:
        return output
    calls: list[Call] = []
    read = READERS[family]

    def taken(block: re.Match[str]) -> str:
        calls.append(read(block[1], tools))
        return ""

    pieces, place = [], 0
    for start, end in answer_stretches(text, tags):
        pieces += [text[place:start], _BLOCK.sub(taken, text[start:end]).rstrip()]
        place = end
    if not calls:
        return output
    reason = "tool_calls" if output.finish_reason in (None, "stop") else output.finish_reason
    return replace(output, text="".join((*pieces, text[place:])), calls=tuple(calls), finish_reason=reason)


def looks_unread(text: str) -> bool:
    """Return whether a text of a server holds a call that can be read: the server has no parser for its model's calls.
    One that cannot be read may have been let through by a parser.
    """
    return any(not _from_block(block[1], ()).problem for block in _BLOCK.finditer(text) if block[0].endswith(">"))


def from_leftover(output: Output) -> Output:
    """Return an output of a server with the calls that its parser let through because they are malformed."""
    text = output.text or ""
    return with_calls(output, "qwen_xml" if _FUNCTION.search(text) else "hermes", (), None)


def _from_block(written: str, tools: Sequence[Tool]) -> Call:
    return (_qwen_xml if _FUNCTION.search(written) else _hermes)(written, tools)


def _hermes(written: str, tools: Sequence[Tool]) -> Call:
    try:
        body = json.loads(written)
    except (ValueError, RecursionError):
        name = _NAME.search(written)
        return read_call("", name[1] if name else "", written or "{")
    if not isinstance(body, Mapping):
        return read_call("", "", written)
    arguments = next((body[key] for key in ("arguments", "parameters") if key in body), None)
    # Read from text once more, which refuses numbers that JSON does not have.
    given = {} if arguments is None else arguments
    return read_call("", body.get("name"), given if isinstance(given, str) else json.dumps(given))


def _qwen_xml(written: str, tools: Sequence[Tool]) -> Call:
    name = _FUNCTION.search(written)
    if name is None:
        return read_call("", "", written or "{")
    typed: Mapping[str, Any] = next((tool.schema.get("properties", {}) for tool in tools if tool.name == name[1]), {})
    given = {key: _typed(value, typed.get(key, {})) for key, value in _PARAMETER.findall(written)}
    call = read_call("", name[1], given)
    return call if "</function>" in written else replace(call, arguments=None, raw=written, problem="it has no end")


def _typed(written: str, schema: Any) -> Any:
    """The value of an argument: a text, unless its schema names another type and the text is a value of JSON."""
    kind = schema.get("type", "string") if isinstance(schema, Mapping) else "string"
    if kind == "string" or (isinstance(kind, list) and "string" in kind):
        return written
    try:
        return json.loads(written, parse_constant=str)
    except (ValueError, RecursionError):
        return written


READERS: Mapping[str, Callable[[str, Sequence[Tool]], Call]] = {"hermes": _hermes, "qwen_xml": _qwen_xml}
"""The reader of one call of each family."""
