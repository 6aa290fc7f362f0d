"""``TaskState``: a sample with the model's answer, as scoring sees it; and what inference may return."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from polymeter.interop.evalscope.v1.types.messages import (
    ChatMessage,
    ChatMessageUser,
    messages_pretty_str,
    messages_to_markdown,
)
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.samples import Sample


class Target(Sequence[str]):
    """The accepted answers of a sample: stripped, without blank ones and repeats, in their order."""

    def __init__(self, target: str | Iterable[str]) -> None:
        written = [target] if isinstance(target, str) else target
        self._values = tuple(dict.fromkeys(value.strip() for value in written if value.strip()))

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._values[index]

    def __len__(self) -> int:
        return len(self._values)

    @property
    def values(self) -> tuple[str, ...]:
        """All accepted answers."""
        return self._values

    def single(self) -> str:
        """Return the only accepted answer.

        Raises:
            ValueError: if there is none, or several.
        """
        if len(self) != 1:
            raise ValueError(f"Metric requires one reference answer, received {len(self)}.")
        return self._values[0]

    @property
    def display(self) -> str:
        """All accepted answers, one a line."""
        return "\n".join(self._values)

    @property
    def text(self) -> str:
        """The same as ``display``."""
        return self.display

    def compact(self) -> str:
        """All accepted answers without anything between, as letters of options are written."""
        return "".join(self._values)


@dataclass
class Choice:
    """An option: its text, whether it was chosen (``None``: not known yet), and its place in the sample's list."""

    value: str
    correct: bool | None
    original_position: int


class Choices(Sequence[Choice]):
    """The options of a sample."""

    def __init__(self, choices: Sequence[str | Choice]) -> None:
        self._choices = [
            choice if isinstance(choice, Choice) else Choice(choice, None, place)
            for place, choice in enumerate(choices)
        ]

    @overload
    def __getitem__(self, index: int) -> Choice: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Choice]: ...

    def __getitem__(self, index: int | slice) -> Choice | Sequence[Choice]:
        return self._choices[index]

    def __len__(self) -> int:
        return len(self._choices)

    def mark_choice(self, index: int, correct: bool) -> None:
        """Note whether an option was chosen."""
        self._choices[index].correct = correct

    def shuffle(self, rand: random.Random | None = None) -> None:
        """Change the order; each option keeps its place before that."""
        places = list(range(len(self._choices)))
        (rand or random.Random()).shuffle(places)
        shuffled = [self._choices[place] for place in places]
        for place, choice in zip(places, shuffled, strict=True):
            choice.original_position = place
        self._choices = shuffled


class TaskState:
    """A sample with the conversation about it and the model's answer.

    Args:
        model: The model's name.
        sample: The sample. ``metadata`` is the same dictionary.
        messages: The conversation.
        output: The answer that is scored; an empty one, unless given.
        completed: Whether inference has ended.
    """

    def __init__(
        self,
        model: str,
        sample: Sample,
        messages: list[ChatMessage] | None = None,
        output: ModelOutput | None = None,
        completed: bool = False,
    ) -> None:
        self._model = model
        self._sample = sample
        self._target = Target(sample.target)
        self._choices = Choices(sample.choices or [])
        self.metadata: dict[str, Any] = sample.metadata
        self.messages: list[ChatMessage] = messages if messages is not None else []
        self.output: ModelOutput = output or ModelOutput(model=str(model))
        self.completed = completed
        self.agent_trace: Any = None

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model

    @property
    def sample_id(self) -> Any:
        """The sample's id."""
        return self._sample.id

    @property
    def group_id(self) -> Any:
        """The id of the question of which the sample is a repeat."""
        return self._sample.group_id

    @property
    def input(self) -> str | list[ChatMessage]:
        """The sample's input."""
        return self._sample.input

    @property
    def input_text(self) -> str:
        """The input as text."""
        return self.input if isinstance(self.input, str) else messages_pretty_str(self.input)

    @property
    def input_markdown(self) -> str:
        """The input as Markdown."""
        return self.input if isinstance(self.input, str) else messages_to_markdown(self.input)

    @property
    def choices(self) -> Choices:
        """The sample's options."""
        return self._choices

    @property
    def user_prompt(self) -> ChatMessageUser:
        """The last message of the user.

        Raises:
            ValueError: if there is none.
        """
        for message in reversed(self.messages):
            if message.role == "user":
                return message
        raise ValueError("user_prompt requested from TaskState but none available")

    @property
    def messages_markdown(self) -> str:
        """The conversation as Markdown."""
        return messages_to_markdown(self.messages)

    @property
    def target_reference(self) -> Target:
        """The accepted answers."""
        return self._target

    @property
    def target_values(self) -> list[str]:
        """The accepted answers as a list."""
        return list(self._target)

    @property
    def target(self) -> str:
        """The accepted answers, one a line."""
        return self._target.display

    @target.setter
    def target(self, value: str | list[str]) -> None:
        self._target = Target(value)


@dataclass
class InferenceResult:
    """A value that ``_on_inference`` may return in place of an output.

    Attributes:
        output: The answer that is scored.
        messages: The whole conversation; ``None``: the input and the answer.
        trace: A record of the steps.
    """

    output: ModelOutput
    messages: list[ChatMessage] | None = None
    trace: Any = None


InferenceReturn = ModelOutput | InferenceResult
