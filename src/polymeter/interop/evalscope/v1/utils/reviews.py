"""``ReviewResult``: a line of the reviews of an earlier run, which benchmarks that compare runs read."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from polymeter.interop.evalscope.v1.types.messages import ChatMessage, messages_pretty_str, messages_to_markdown
from polymeter.interop.evalscope.v1.types.scores import SampleScore
from polymeter.interop.evalscope.v1.types.state import Target, TaskState


class ReviewResult(BaseModel):
    """A scored answer.

    Attributes:
        index: The sample's place in its subset.
        target: The accepted answers.
        messages: The conversation.
        agent_trace: The steps of an agent.
        sample_score: The score.
    """

    model_config = ConfigDict(extra="ignore")

    index: int
    target: list[str] | None = None
    messages: list[ChatMessage] = Field(default_factory=list)
    agent_trace: Any = None
    sample_score: SampleScore

    @model_validator(mode="before")
    @classmethod
    def read_earlier_forms(cls, data: Any) -> Any:
        """Read lines with one target as text, and with the prompt in place of a conversation.

        Raises:
            ValueError: if the target is an empty list.
        """
        if not isinstance(data, dict):
            return data
        fields = dict(data)
        target = fields.get("target")
        if target is not None:
            fields["target"] = list(Target(target)) or None
            if fields["target"] is None and not isinstance(target, str):
                raise ValueError("A review has an empty list of targets.")
        prompt = fields.pop("input", None)
        if prompt and not fields.get("messages"):
            fields["messages"] = [{"role": "user", "content": prompt}]
        return fields

    @classmethod
    def from_cache_item(cls, data: Any) -> ReviewResult:
        """A review from its line."""
        return cls.model_validate(data)

    @classmethod
    def from_score_state(cls, sample_score: SampleScore, state: TaskState, save_metadata: bool = True) -> ReviewResult:
        """A review of a score and its sample.

        Args:
            sample_score: The score.
            state: The sample with its answer.
            save_metadata: Whether the sample's metadata stays.
        """
        kept = sample_score if save_metadata else sample_score.model_copy(update={"sample_metadata": None})
        return cls(
            index=state.sample_id,
            target=state.target_values or None,
            messages=state.messages,
            agent_trace=state.agent_trace,
            sample_score=kept,
        )

    @property
    def messages_markdown(self) -> str:
        """The conversation as Markdown."""
        return messages_to_markdown(self.messages)

    @property
    def messages_text(self) -> str:
        """The conversation as text."""
        return messages_pretty_str(self.messages)

    def to_sample_score(self) -> SampleScore:
        """The score."""
        return self.sample_score
