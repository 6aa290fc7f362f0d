"""``Sample``: one question of a benchmark; ``FieldSpec``: the names of its fields in a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from polymeter.interop.evalscope.v1.types.messages import ChatMessage, messages_to_markdown
from polymeter.interop.evalscope.v1.types.tools import ToolInfo


class Sample(BaseModel):
    """One question.

    Attributes:
        input: The question, or a conversation.
        choices: The options, without their letters.
        target: The reference; a list where several are accepted.
        id: Its position in its subset.
        group_id: The position of the question of which it is a repeat.
        tools: Tools that the model may call.
        subset_key: The subset that it belongs to, where a dataset is split by rows.
        metadata: Whatever the author needs for scoring.
        sandbox: A kind of container.
        files: Files to copy into it.
        setup: A script to run in it.
    """

    input: str | list[ChatMessage]
    choices: list[str] | None = None
    target: str | list[str] = ""
    id: int | None = None
    group_id: int | None = None
    tools: list[ToolInfo] | None = None
    subset_key: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    sandbox: str | None = None
    files: dict[str, str] | None = None
    setup: str | None = None

    def pretty_print(self, max_length: int | None = 50) -> str:
        """Write the id, the beginning of the question and the reference."""
        if not isinstance(self.input, str):
            text = messages_to_markdown(self.input, max_length=max_length)
        elif max_length is not None and len(self.input) > max_length:
            text = self.input[:max_length] + "..."
        else:
            text = self.input
        return f"Sample ID: {self.id}\nInput: {text}\nTarget: {self.target}"


@dataclass
class FieldSpec:
    """The names under which a record holds the fields of a sample."""

    input: str = "input"
    target: str = "target"
    choices: str = "choices"
    id: Any = 0
    metadata: list[str] | None = None
    sandbox: str = "sandbox"
    files: str = "files"
    setup: str = "setup"
