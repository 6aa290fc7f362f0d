"""lm-eval's request object: tasks make it, filters and scoring read it, wrapped models are called with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Instance:
    """One call of a model for one row, in the shape that lm-eval's authors know.

    Attributes:
        request_type: ``loglikelihood``, ``loglikelihood_rolling``, ``generate_until`` or ``multiple_choice``.
        doc: The row.
        arguments: ``(context, continuation)``, ``(text,)`` or ``(context, settings)``; with media, a mapping with
            ``visual`` or ``audio`` follows.
        idx: Its position among the requests of its row.
        metadata: ``(task, number of the row, repeats)``.
        resps: The raw answers, one for each repeat: texts, ``(logprob, is_greedy)`` pairs, or log-likelihoods.
        filtered_resps: What each chain of filters made of them, by the name of the chain.
        task_name: The first of ``metadata``.
        doc_id: The second.
        repeats: The third.
    """

    request_type: str
    doc: Any
    arguments: Any
    idx: int
    metadata: Any = (None, None, None)
    resps: list[Any] = field(default_factory=list)
    filtered_resps: dict[str, Any] = field(default_factory=dict)
    task_name: str | None = None
    doc_id: int | None = None
    repeats: int | None = None

    def __post_init__(self) -> None:
        self.task_name, self.doc_id, self.repeats = self.metadata

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments, always as a tuple."""
        return self.arguments if isinstance(self.arguments, tuple) else (self.arguments,)
