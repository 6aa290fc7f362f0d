"""``FunctionCallAdapter``: whether the model calls tools, and calls them rightly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.interop.evalscope.v1.adapters.agents import AgentAdapter
from polymeter.interop.evalscope.v1.types.content import ContentReasoning
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.tools import ToolCall


class FunctionCallAdapter(AgentAdapter):
    """A benchmark of calls of tools. A request that fails is no answer: its sample has no score."""

    is_refused = False  # it asks once, and needs no loop

    @staticmethod
    def validate_tool_call(tool_calls: Sequence[ToolCall], tools: Sequence[Mapping[str, Any]]) -> tuple[bool, str]:
        """Return whether the arguments of all calls fit their tools' schemas, and why not.

        Args:
            tool_calls: The calls.
            tools: The tools, as chat endpoints take them.
        """
        import jsonschema

        schemas: dict[str, Any] = {}
        try:
            for tool in tools:
                schemas.setdefault(tool["function"]["name"], tool["function"]["parameters"])
        except KeyError as error:
            return False, f"Tool call format error, missing field: {error}"
        for call in tool_calls:
            name, arguments = call.function.name, call.function.arguments
            if not schemas.get(name):
                return False, f"No schema found for tool '{name}'"
            try:
                jsonschema.validate(arguments, schemas[name])
            except jsonschema.ValidationError as error:
                return False, f"Schema validation failed for tool '{name}': {error.message}"
            except jsonschema.SchemaError as error:
                return False, f"Unexpected error during validation: {error}"
        return True, ""

    @staticmethod
    def detect_error_only_reasoning(model_output: ModelOutput) -> bool:
        """Return whether an answer is reasoning alone, without a text and without a call."""
        if model_output.empty:
            return False
        message = model_output.message
        parts = message.content if isinstance(message.content, list) else []
        has_reasoning = any(isinstance(part, ContentReasoning) for part in parts)
        return has_reasoning and not message.text and not message.tool_calls
