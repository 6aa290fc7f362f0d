"""Requests from rows: the dataset's prompt or the model's own, with a row's own settings for generating its image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.content import Text
from polymeter.core.errors import DataError
from polymeter.core.media.sources import is_elsewhere
from polymeter.core.request import Generate, GenerateImage, Message, Origin, OwnPrompt, Request, RequestKind
from polymeter.core.settings.generation import image_parameters, text_parameters
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import RolloutSteps, Sample
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.fetch import fetched_image
from polymeter.tasks.table.dataset import Dataset
from polymeter.tasks.table.files.roots import fetched_root, is_offline_here
from polymeter.tasks.table.items import Item, as_items, as_messages
from polymeter.tasks.table.turns import CONVERSATION, converse, is_conversation, turns_of

_TOKENS, _TOKENS_OF_ENDPOINTS = 512, 2048


@dataclass(frozen=True, slots=True)
class Prompting:
    """The rules that turn rows of one dataset into requests.

    Attributes:
        dataset: The dataset.
        parameters: The parameters of its requests, without seeds.
        n: The number of requests for each row.
        system_prompt: The run's system prompt, for prompts that have none.
        has_own_prompts: Whether the model may have its own prompts.
    """

    dataset: Dataset
    parameters: Generate | GenerateImage
    n: int = 1
    system_prompt: str = ""
    has_own_prompts: bool = False


def parameters_for(
    kind: RequestKind, settings: Any, *, n_images: int, n: int | None, is_endpoint: bool
) -> tuple[Generate | GenerateImage, int]:
    """Return the parameters of a dataset's requests, without seeds, and the number of requests for each row.

    Args:
        kind: ``generate`` or ``generate_image``.
        settings: The plan's generation settings; they win.
        n_images: The number of images that the benchmark needs for each prompt.
        n: The number of answers of either kind that the run requests instead; ``None``: unset.
        is_endpoint: Whether an endpoint answers; it may need tokens for reasoning first.
    """
    if kind == "generate_image":
        return image_parameters(settings, n or n_images)
    usual = {"max_new_tokens": _TOKENS_OF_ENDPOINTS if is_endpoint else _TOKENS, "do_sample": False}
    return text_parameters(settings, usual | ({"n": n} if n else {}))


def ask_about(prompting: Prompting, line: Any, sample: Sample, seeds: Sequence[int]) -> RolloutSteps:
    """The rollout of one row: a model that may have its own prompt is asked for it first, then all requests are made at
    once, or those of a conversation one after the other.
    """
    dataset = prompting.dataset
    own = (yield OwnPrompt(_origin(dataset, (), sample))).messages if prompting.has_own_prompts else None
    messages = messages_about(prompting, line) if own is None else _with_system(prompting, own)
    if dataset.is_conversation:
        assert isinstance(prompting.parameters, Generate)
        yield from converse(messages, prompting.parameters, seeds[0], _origin(dataset, messages, sample))
        return
    request = Request(messages, _parameters_about(prompting, line), _origin(dataset, messages, sample))
    repeats = repeats_of(request, seeds)
    yield repeats if len(repeats) > 1 else repeats[0]


def messages_about(prompting: Prompting, line: Any) -> tuple[Message, ...]:
    """The dataset's prompt for a row: of a conversation, all turns that are not the model's.

    Raises:
        DataError: if the prompt has none of the forms of a message, or one that its TYPE does not announce.
    """
    dataset = prompting.dataset
    prompt = dataset.build_prompt(line)
    if prompt is None:
        raise DataError(
            f"build_prompt of {dataset.class_name} returned nothing.",
            hint="It must return a list of {'type': …, 'value': …}.",
        )
    if is_conversation(prompt):
        if not dataset.is_conversation:
            raise DataError(
                f"build_prompt of {dataset.class_name} returned a conversation.",
                hint=f"Write TYPE = {CONVERSATION!r} in the class: each of the user's turns is then asked.",
            )
        return _with_system(prompting, turns_of(prompt, partial(_reachable, name=dataset.name)))
    are_messages = isinstance(prompt, (list, tuple)) and prompt and isinstance(prompt[0], Message)
    items = () if are_messages else as_items(prompt)
    return _with_system(
        prompting, tuple(prompt) if are_messages else as_messages(_reachable(item, dataset.name) for item in items)
    )


def _with_system(prompting: Prompting, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages, after the run's system prompt if they have none of their own."""
    needs_system = prompting.system_prompt and not any(message.role == "system" for message in messages)
    return (Message("system", (Text(prompting.system_prompt),)), *messages) if needs_system else messages


def _parameters_about(prompting: Prompting, line: Any) -> Generate | GenerateImage:
    """The parameters for one row: the dataset may have settings for it, over which the run's win."""
    parameters, settings = prompting.parameters, prompting.dataset.generation_settings
    if not isinstance(parameters, GenerateImage) or settings is None:
        return parameters
    own, _ = image_parameters(settings(line))
    return replace(parameters, size=parameters.size or own.size, extra={**own.extra, **parameters.extra})


def _origin(dataset: Dataset, messages: Sequence[Message], sample: Sample) -> Origin:
    parts = [part for message in messages if message.role == "user" for part in message.parts]
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    name, own = dataset.name, dataset.dataset_name or dataset.name
    metadata = {"task": name, "dataset": own, "doc_id": sample.index, "index": sample.id, "prompt": text}
    return Origin(name, sample.id, "", sample.index, metadata=metadata)


def _reachable(item: Item, name: str) -> Item:
    """An item whose image is a local file, or one that is fetched when it is first needed."""
    if item["type"] != "image" or not is_elsewhere(item["value"]):
        return item
    return {**item, "value": partial(_fetched, item["value"], name)}


def _fetched(url: str, name: str) -> Path:
    try:
        return fetched_image(url, fetched_root(name), is_offline=is_offline_here())
    except DataError as error:
        what = f"The image {hide_secrets(url)} is not available: {error.what}"
        raise DataError(what, where=error.where, hint=error.hint) from error
