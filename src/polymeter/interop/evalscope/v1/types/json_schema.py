"""``JSONSchema``: the type of a tool's parameter."""

from __future__ import annotations

import copy
from typing import Any, Literal, get_args

from pydantic import BaseModel, model_validator

JSONType = Literal["string", "integer", "number", "boolean", "array", "object", "null"]
_OF_PYTHON: dict[str, JSONType] = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "None": "null",
}


class JSONSchema(BaseModel):
    """A part of a JSON Schema. ``type`` may be given under its Python name (``str``, ``int``, …)."""

    type: JSONType | None = None
    format: str | None = None
    description: str | None = None
    default: Any = None
    enum: list[Any] | None = None
    items: JSONSchema | None = None
    properties: dict[str, JSONSchema] | None = None
    additionalProperties: JSONSchema | bool | None = None
    anyOf: list[JSONSchema] | None = None
    required: list[str] | None = None

    @model_validator(mode="before")
    @classmethod
    def convert_type_before_validation(cls, values: Any) -> Any:
        """Write the JSON name of a Python type, without changing what was passed."""
        values = copy.deepcopy(values)
        if isinstance(values, dict) and isinstance(values.get("type"), str):
            values["type"] = _OF_PYTHON.get(values["type"], values["type"])
        return values


def python_type_to_json_type(python_type: str | None) -> JSONType:
    """Return the JSON name of a type that is named as in Python or in JSON; ``string`` for ``None``.

    Raises:
        ValueError: if there is no such type in JSON.
    """
    if python_type is None:
        return "string"
    if python_type in get_args(JSONType):
        return python_type  # type: ignore[return-value]
    if python_type not in _OF_PYTHON:
        raise ValueError(f"Unsupported type: {python_type} for Python to JSON conversion.")
    return _OF_PYTHON[python_type]
