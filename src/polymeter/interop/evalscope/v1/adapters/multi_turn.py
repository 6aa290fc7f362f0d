"""``MultiTurnAdapter``: a conversation, one question of the user after the other."""

from __future__ import annotations

import logging
from typing import Any

from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.types.messages import ChatMessage, ChatMessageUser
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.state import TaskState

_LOG = logging.getLogger("polymeter")


class MultiTurnAdapter(DefaultDataAdapter):
    """A benchmark of conversations. Authors set ``max_turns`` and write ``build_turn_prompt``.

    Attributes:
        max_turns: How often the user speaks at most.
    """

    max_turns: int = 1

    def build_turn_prompt(
        self, sample: Sample, history: list[ChatMessage], turn_index: int
    ) -> str | ChatMessage | None:
        """Return what the user says next; ``None`` ends the conversation. Authors write it.

        Args:
            sample: The sample.
            history: The conversation so far.
            turn_index: Number of the turn, from 0.

        Raises:
            NotImplementedError: if the author has not.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no build_turn_prompt.")

    def on_turn_complete(
        self, sample: Sample, turn_index: int, model_output: ModelOutput, history: list[ChatMessage]
    ) -> None:
        """Called after each answer."""

    def get_max_turns(self, sample: Sample) -> int:
        """Return how often the user speaks at most about a sample."""
        return self.max_turns

    def initialize_history(self, sample: Sample) -> list[ChatMessage]:
        """Return the conversation before the first turn."""
        return []

    def build_final_output(
        self, model: Any, sample: Sample, history: list[ChatMessage], last_output: ModelOutput | None
    ) -> ModelOutput:
        """Return the output that is scored: the last one."""
        if last_output is not None:
            return last_output
        _LOG.warning("Sample %s of %s has no turn, so it has no answer.", sample.id, self.name)
        return ModelOutput(model=model.name)

    def run_inference(self, model: Any, sample: Sample, output_dir: str, **kwargs: Any) -> TaskState:
        """Lead the conversation about a sample."""
        history = self.initialize_history(sample)
        last: ModelOutput | None = None
        for turn in range(self.get_max_turns(sample)):
            said = self.build_turn_prompt(sample, history, turn)
            if said is None:
                break
            history.append(ChatMessageUser(content=said) if isinstance(said, str) else said)
            answer: ModelOutput = model.generate(input=history, tools=sample.tools)
            last = answer
            history.append(answer.message)
            self.on_turn_complete(sample, turn, answer, history)
        output = self.build_final_output(model, sample, history, last)
        return TaskState(model=model.name, sample=sample, messages=history, output=output, completed=True)
