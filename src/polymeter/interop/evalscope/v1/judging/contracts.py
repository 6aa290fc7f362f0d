"""The JSON object that a judge's reply must hold: the sentence that asks for it, and its reading.

Both come from one pydantic model, so they cannot differ. A reply that breaks the contract is no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

_ASKING = (
    "\n\nReply with a single JSON object and no other text, containing these required keys "
    "(additional keys are allowed):\n"
)
_KINDS = {bool: "true or false", int: "an integer", float: "a number"}


class ParseResult(BaseModel):
    """A reply as it was read.

    Attributes:
        ok: Whether it is a verdict.
        value: The verdict: an object of the contract's model.
        error: Why it is none.
    """

    model_config = ConfigDict(frozen=True)

    ok: bool
    value: Any = None
    error: str | None = None

    @classmethod
    def success(cls, value: Any) -> ParseResult:
        """Return the result of a reply that is a verdict."""
        return cls(ok=True, value=value)

    @classmethod
    def failure(cls, error: str) -> ParseResult:
        """Return the result of a reply that is none."""
        return cls(ok=False, error=error)


class OutputContract(BaseModel):
    """The reply that a judge must give.

    Attributes:
        schema_model: The fields of the JSON object.
    """

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    schema_model: type[BaseModel]

    def instruction(self) -> str:
        """Return the text that asks for the reply, to be put behind a prompt."""
        fields = self.schema_model.model_fields.items()
        return _ASKING + "\n".join(f'- "{field.alias or name}": {_asked(field)}' for name, field in fields)

    def parse(self, response: str) -> ParseResult:
        """Read a reply: exactly one JSON object somewhere in it, valid in every field."""
        if not response:
            return ParseResult.failure("the reply is empty")
        found = list(_objects(response))
        if len(found) != 1:
            return ParseResult.failure(f"the reply holds {len(found)} JSON objects and not one")
        try:
            return ParseResult.success(self.schema_model.model_validate(json.loads(found[0])))
        except json.JSONDecodeError as error:
            return ParseResult.failure(f"the reply is no JSON: {error}")
        except (
            ValidationError,
            ValueError,
            TypeError,
            AssertionError,
        ) as error:  # a model's validators may raise these
            return ParseResult.failure(f"the reply is no {self.schema_model.__name__}: {error}")


def _objects(text: str) -> Iterator[str]:
    """The outermost ``{…}`` of a text. Braces within double quotes do not count, and quotes count outside of objects,
    too.
    """
    depth = start = 0
    is_quoted = is_escaped = False
    for place, char in enumerate(text):
        if is_quoted:
            if is_escaped or char == "\\":
                is_escaped = not is_escaped
            elif char == '"':
                is_quoted = False
        elif char == '"':
            is_quoted = True
        elif char == "{":
            start = start if depth else place
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if not depth:
                yield text[start : place + 1]


def _asked(field: FieldInfo) -> str:
    kind: Any = field.annotation
    if get_origin(kind) is Literal:
        return "exactly one of " + " or ".join(f'"{value}"' for value in get_args(kind))
    bounds = [bound for rule in field.metadata if (bound := _bound(rule))]
    name = (
        "a list"
        if get_origin(kind) is list
        else next((text for own, text in _KINDS.items() if own is kind), "a string")
    )
    if bounds:
        return f"{name} {' and '.join(bounds)}"
    return f"{name} ({field.description})" if field.description else name


def _bound(rule: Any) -> str:
    least, most = getattr(rule, "ge", None), getattr(rule, "le", None)
    return f">= {least}" if least is not None else f"<= {most}" if most is not None else ""
