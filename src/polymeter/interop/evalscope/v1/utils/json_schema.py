"""JSON schemas of Python's types."""

from __future__ import annotations

import copy
import logging
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time
from enum import EnumMeta
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel

from polymeter.interop.evalscope.v1.types.json_schema import JSONSchema, JSONType, python_type_to_json_type

__all__ = [
    "JSONSchema",
    "JSONType",
    "cls_json_schema",
    "json_schema",
    "python_type_to_json_type",
    "resolve_schema_references",
    "resolve_type_hints",
]

logger = logging.getLogger("polymeter.benchmarks")

_PLAIN: Mapping[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    time: {"type": "string", "format": "time"},
}
_DEFINITIONS = "#/$defs/"


def resolve_type_hints(obj: Any) -> dict[str, Any]:
    """The types of a class's fields or a function's parameters; none, with a warning, if one cannot be found."""
    try:
        return get_type_hints(obj)
    except (NameError, TypeError) as error:
        logger.warning("The types of %s cannot be read: %s", obj, error)
        return {}


def json_schema(t: Any) -> JSONSchema:
    """The schema of a type; an empty one of a type that JSON does not have.

    Args:
        t: The type, not its name as text.
    """
    origin, args = get_origin(t), get_args(t)
    if t in (list, set) or origin in (list, set, tuple):
        return JSONSchema(type="array", items=json_schema(args[0]) if args else JSONSchema())
    if t is dict or origin is dict:
        return JSONSchema(type="object", additionalProperties=json_schema(args[1]) if len(args) > 1 else JSONSchema())
    if origin in (Union, types.UnionType):
        return JSONSchema(anyOf=[json_schema(arg) for arg in args])
    if origin is Literal:
        return JSONSchema(enum=list(args))
    if origin is not None:
        return JSONSchema()
    if isinstance(t, EnumMeta):
        return JSONSchema(enum=[item.value for item in t])  # type: ignore[var-annotated]
    if is_dataclass(t) or is_typeddict(t) or (isinstance(t, type) and issubclass(t, BaseModel)):
        return cls_json_schema(t)
    return JSONSchema(**_PLAIN.get(t, {}))


def cls_json_schema(cls: Any) -> JSONSchema:
    """The schema of a data class, a typed dictionary or a model of pydantic."""
    properties: dict[str, JSONSchema] = {}
    required: list[str] = []
    if is_dataclass(cls):
        hints = resolve_type_hints(cls)
        for each in fields(cls):
            properties[each.name] = json_schema(hints.get(each.name, each.type))
            if each.default is each.default_factory:
                required.append(each.name)
    elif is_typeddict(cls):
        hints = resolve_type_hints(cls) or getattr(cls, "__annotations__", {})
        properties = {name: json_schema(hint) for name, hint in hints.items()}
        required = [name for name in hints if name in cls.__required_keys__]
    else:
        schema = resolve_schema_references(cls.model_json_schema())
        properties = {name: JSONSchema(**each) for name, each in schema.get("properties", {}).items()}
        required = schema.get("required", [])
    return JSONSchema(type="object", properties=properties, required=required or None, additionalProperties=False)


def resolve_schema_references(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with its definitions in the places that name them; what stands beside a name wins."""
    whole = copy.deepcopy(schema)
    definitions = whole.pop("$defs", {})

    def resolved(value: Any) -> Any:
        if isinstance(value, list):
            return [resolved(each) for each in value]
        if not isinstance(value, dict):
            return value
        name = str(value.get("$ref", ""))
        if name.startswith(_DEFINITIONS) and name.rsplit("/", maxsplit=1)[-1] in definitions:
            own = {key: each for key, each in value.items() if key != "$ref"}
            return resolved(copy.deepcopy(definitions[name.rsplit("/", maxsplit=1)[-1]])) | own
        return {key: resolved(each) for key, each in value.items()}

    inlined: dict[str, Any] = resolved(whole)
    return inlined
