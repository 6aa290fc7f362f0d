"""Rows as requests, and responses as what authors score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, ScoreError
from polymeter.core.generation import image_parameters
from polymeter.core.parts import Text
from polymeter.core.repeats import repeats_of
from polymeter.core.request import Generate, GenerateImage, Message, Origin, OwnPrompt, Request, Response
from polymeter.core.secrets import hide_secrets
from polymeter.core.sources import is_elsewhere
from polymeter.core.task import RolloutSteps, Sample
from polymeter.data.fetch import fetched_image
from polymeter.formats.table.items import Item, as_items, as_messages
from polymeter.formats.table.roots import fetched_root, is_offline_here

if TYPE_CHECKING:
    from pandas import Series

_CHOICES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Asking:
    """How rows of one dataset become requests.

    Attributes:
        name: The dataset.
        dataset: The instance that makes prompts.
        ask: Settings, without seeds.
        n: How many times each row is asked about.
        system_prompt: The run's own; put before a prompt that has none.
        has_own_prompts: Whether the model may have prompts of its own.
    """

    name: str
    dataset: Any
    ask: Generate | GenerateImage
    n: int = 1
    system_prompt: str = ""
    has_own_prompts: bool = False

    def messages(self, line: Series[Any]) -> tuple[Message, ...]:
        """The dataset's prompt for a row.

        Raises:
            DataError: The prompt is of no form that messages have.
        """
        prompt = self.dataset.build_prompt(line)
        if prompt is None:
            raise DataError(
                f"build_prompt of {type(self.dataset).__name__} returned nothing.",
                hint="It must return a list of {'type': …, 'value': …}.",
            )
        is_made = isinstance(prompt, (list, tuple)) and prompt and isinstance(prompt[0], Message)
        return self.with_system(
            tuple(prompt) if is_made else as_messages(self._here(item) for item in as_items(prompt))
        )

    def with_system(self, made: tuple[Message, ...]) -> tuple[Message, ...]:
        """Messages behind the run's own system prompt, where they have none."""
        needs_system = self.system_prompt and not any(message.role == "system" for message in made)
        return (Message("system", (Text(self.system_prompt),)), *made) if needs_system else made

    def rollout(self, line: Series[Any], sample: Sample, seeds: Iterable[int]) -> RolloutSteps:
        """Ask about one row, in one step; a model that may have its own prompt is asked for it first."""
        own = (yield OwnPrompt(self._origin((), sample))).messages if self.has_own_prompts else None
        messages = self.messages(line) if own is None else self.with_system(own)
        request = Request(messages, self._ask_about(line), self._origin(messages, sample))
        repeats = repeats_of(request, seeds)
        yield repeats if len(repeats) > 1 else repeats[0]

    def prediction(self, responses: Sequence[Response]) -> Any:
        """What authors score: a list of images (a list also of one), or a text (a list of texts where several answers
        were asked for).

        Raises:
            ScoreError: There is none.
        """
        outputs = [output for response in responses for output in response.outputs]
        if isinstance(self.ask, GenerateImage):
            images = [image for output in outputs for image in output.images]
            if not images:
                raise ScoreError(f"The model gave no image for a sample of {self.name!r}.")
            return images
        if not outputs:
            raise ScoreError(f"The model gave no text for a sample of {self.name!r}.")
        texts = [output.text or "" for output in outputs]
        return texts[0] if self.n == 1 else texts

    def _ask_about(self, line: Series[Any]) -> Generate | GenerateImage:
        """The settings for one row: the class may have some (``generation_settings``), the run's win over them."""
        tell = getattr(self.dataset, "generation_settings", None)
        if not isinstance(self.ask, GenerateImage) or not callable(tell):
            return self.ask
        own, _ = image_parameters(tell(line))
        return replace(self.ask, size=self.ask.size or own.size, extra={**own.extra, **self.ask.extra})

    def _here(self, item: Item) -> Item:
        """An item whose image is a file of this machine; one that lies elsewhere is fetched when it is first needed."""
        if item["type"] != "image" or not is_elsewhere(item["value"]):
            return item
        return {**item, "value": partial(_fetched, item["value"], self.name)}

    def dump_image(self, line: Any, *_: Any) -> Any:
        """The files of a row's images, for a model that makes its own prompt of them."""
        dump = getattr(self.dataset, "dump_image", None)
        return dump(line) if callable(dump) else []

    def _origin(self, messages: Sequence[Message], sample: Sample) -> Origin:
        """Where a request comes from."""
        parts = [part for message in messages if message.role == "user" for part in message.parts]
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
        metadata = {
            "task": self.name,
            "dataset": self.name,
            "doc_id": sample.index,
            "index": sample.id,
            "prompt": text,
        }
        return Origin(self.name, sample.id, "", sample.index, metadata=metadata)


def _fetched(url: str, name: str) -> Path:
    try:
        return fetched_image(url, fetched_root(name), is_offline=is_offline_here())
    except DataError as error:
        what = f"The image {hide_secrets(url)} cannot be had: {error.what}"
        raise DataError(what, where=error.where, hint=error.hint) from error


def answer_of(doc: Mapping[str, Any]) -> str:
    """What a row says is right; empty where it says nothing."""
    answer = doc.get("answer")
    return "" if answer is None else str(answer)


def choices_of(doc: Mapping[str, Any]) -> list[str] | None:
    """The texts of the choices A, B, … of a row; ``None`` where it has none."""
    found = []
    for letter in _CHOICES:
        if doc.get(letter) in (None, ""):
            break
        found.append(str(doc[letter]))
    return found or None
