"""Tools that a model may call, and its calls."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from pydantic import BaseModel, Field, JsonValue, field_validator

from polymeter.interop.evalscope.v1.types.json_schema import JSONSchema

logger = logging.getLogger("polymeter.benchmarks")
ToolParam = JSONSchema
_DESCRIPTION = "__TOOL_DESCRIPTION__"


class ToolFunction(BaseModel):
    """A function by name, with its arguments: a dictionary, or the JSON text of one."""

    name: str
    arguments: dict[str, Any]

    @field_validator("arguments", mode="before")
    @classmethod
    def parse_arguments(cls, v: Any) -> Any:
        """Read arguments that are JSON text.

        Raises:
            ValueError: if they are no dictionary.
        """
        if isinstance(v, str):
            try:
                v = json.loads(v)
            except ValueError as error:
                raise ValueError(f"arguments field string is not valid JSON: {error}") from error
        if not isinstance(v, dict):
            raise ValueError("arguments must be a dict or a JSON string representing a dict")
        return v


class ToolCallContent(BaseModel):
    """A text by which a call can be shown."""

    title: str | None = None
    format: Literal["text", "markdown"]
    content: str


class ToolCallView(BaseModel):
    """A call as it can be shown, and what surrounds it."""

    context: ToolCallContent | None = None
    call: ToolCallContent | None = None


class ToolCall(BaseModel):
    """A model's call of a tool; ``parse_error`` where its arguments could not be read."""

    id: str
    function: ToolFunction
    internal: JsonValue | None = None
    parse_error: str | None = None
    view: ToolCallContent | None = None
    type: str | None = None


class ToolCallError(BaseModel):
    """A failure of a tool."""

    type: Literal[
        "parsing",
        "timeout",
        "unicode_decode",
        "permission",
        "file_not_found",
        "is_a_directory",
        "limit",
        "approval",
        "unknown",
    ]
    message: str


ToolChoice = Literal["auto", "any", "none"] | ToolFunction


class Tool:
    """A function that a model may call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class ToolParams(BaseModel):
    """The parameters of a tool, as a JSON Schema of an object."""

    type: Literal["object"] = "object"
    properties: dict[str, JSONSchema] = Field(default_factory=dict)
    required: list[str] = Field(default_factory=list)
    additionalProperties: bool = False


@dataclass
class ToolDescription:
    """The description that an author attached to a function."""

    name: str | None = None
    description: str | None = None
    parameters: ToolParams | None = None


class ToolInfo(BaseModel):
    """A tool as a model receives it."""

    name: str
    description: str
    parameters: ToolParams = Field(default_factory=ToolParams)
    options: dict[str, object] | None = None


def tool_description(tool: Any) -> ToolDescription:
    """Return the description attached to a function; an empty one if there is none."""
    found = getattr(tool, _DESCRIPTION, None)
    return found if found is not None else ToolDescription()


def set_tool_description(tool: Any, description: ToolDescription) -> None:
    """Attach a description to a function."""
    setattr(tool, _DESCRIPTION, description)


def parse_tool_info(func: Callable[..., Any]) -> ToolInfo:
    """Describe a function as a tool: by its attached description, else by its signature and Google-style docstring."""
    from polymeter.interop.evalscope.v1.utils.json_schema import json_schema, resolve_type_hints

    attached = tool_description(func)
    if attached.name and attached.description and attached.parameters is not None:
        return ToolInfo(name=attached.name, description=attached.description, parameters=attached.parameters)
    docstring = inspect.getdoc(func) or ""
    of_parameters = _parameters_of(docstring)
    hints = resolve_type_hints(func)
    info = ToolInfo(name=func.__name__, description=re.split(r"\n\s*(?:Args|Arguments|Returns):", docstring)[0].strip())
    for name, parameter in inspect.signature(func).parameters.items():
        schema = json_schema(hints[name]) if name in hints else JSONSchema()
        if parameter.default is parameter.empty:
            info.parameters.required.append(name)
        else:
            schema.default = parameter.default
        schema.description = of_parameters.get(name, schema.description)
        info.parameters.properties[name] = schema
    return info


def _parameters_of(docstring: str) -> dict[str, str]:
    """The descriptions of parameters in the section ``Args`` of a docstring."""
    section = re.search(r"^(?:Args|Arguments):\n((?:[ \t]+.*\n?|\n)+)", docstring, re.MULTILINE)
    found = re.findall(r"^\s+(\w+)\s*(?:\([^)]*\))?:\s*(.+)$", section.group(1), re.MULTILINE) if section else []
    return {name: text.strip() for name, text in found}


def parse_tool_call(id: str, function: str, arguments: str, tools: Sequence[ToolInfo] | None = None) -> ToolCall:
    """Read a call whose arguments are text: a JSON object, or a plain value for the tool's first parameter."""
    error: str | None = None
    read: dict[str, Any] = {}
    arguments = arguments.strip()
    if arguments.startswith("{"):
        try:
            read = json.loads(arguments)
        except ValueError as reason:
            error = tool_parse_error_message(arguments, reason)
            logger.info(error)
    elif function and tools:
        named = [tool for tool in tools if tool.name == function and tool.parameters.properties]
        if named:
            first = next(iter(named[0].parameters.properties))
            try:
                read[first] = yaml.safe_load(arguments)
            except yaml.YAMLError:
                read[first] = arguments
    return ToolCall(id=id, function=ToolFunction(name=function, arguments=read), parse_error=error)


def tool_parse_error_message(arguments: str, ex: Exception) -> str:
    """Return the message about arguments that cannot be read."""
    return f"Error parsing the following tool call arguments:\n\n{arguments}\n\nError details: {ex}"


def validate_tool_arguments(call: ToolCall, tool: ToolInfo) -> str | None:
    """Return the first fault of a call's arguments by the tool's schema; ``None`` if there is none, or if the schema
    itself is broken.
    """
    import jsonschema

    try:
        jsonschema.validate(call.function.arguments, tool.parameters.model_dump(exclude_none=True))
    except jsonschema.ValidationError as error:
        path = "/".join(str(part) for part in error.absolute_path)
        return f"{error.message} (at {path!r})" if path else str(error.message)
    except jsonschema.SchemaError:
        return None
    return None
