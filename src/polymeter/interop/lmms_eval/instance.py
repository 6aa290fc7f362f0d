"""lmms-eval's request object: tasks that construct their own requests make it, model wrappers read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Instance:
    """One call of a model for one row, in the shape that lmms-eval's authors know.

    Attributes:
        request_type: ``generate_until``, ``loglikelihood``, ``multiple_choice``, …
        arguments: The argument tuple; its layout depends on the request type and on whether the task is a chat task.
        idx: The request's position among those of its row.
        metadata: ``task``, ``doc_id``, ``repeats``, ``split``, and the metadata of the task's configuration.
        resps: Raw answers, one for each repeat.
        filtered_resps: Filtered answers by filter name.
        task_name: Taken from ``metadata`` where that has it; so are ``doc_id`` and ``repeats``.
        doc_id: Number of the row.
        repeats: How many times the model answers.
        doc: The row, if task code has set it.
    """

    request_type: str
    arguments: Any
    idx: int
    metadata: Any = field(default_factory=dict)
    resps: list[Any] = field(default_factory=list)
    filtered_resps: dict[str, Any] = field(default_factory=dict)
    raw_filtered_resps: dict[str, Any] = field(default_factory=dict)
    token_counts: list[Any] = field(default_factory=list)
    task_name: str | None = None
    doc_id: int | str | None = None
    repeats: int | None = None
    doc: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.metadata, dict):
            self.task_name = self.metadata.get("task", self.task_name)
            self.doc_id = self.metadata.get("doc_id", self.doc_id)
            self.repeats = self.metadata.get("repeats", self.repeats)
        elif isinstance(self.metadata, (list, tuple)) and len(self.metadata) == 3:
            self.task_name, self.doc_id, self.repeats = self.metadata

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments, always as a tuple."""
        return self.arguments if isinstance(self.arguments, tuple) else (self.arguments,)
