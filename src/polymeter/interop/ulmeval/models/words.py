"""The words that ULMEvalKit's wrappers of Qwen-Image and Emu3 put after every prompt, for runs at parity with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from polymeter.core.content import Text
from polymeter.core.model import BatchModel, Model
from polymeter.core.request import Message, Request, Response

_HAN = re.compile("[\u4e00-\u9fff]")
_WORDS: Mapping[str, tuple[str, str]] = {
    "Qwen-Image": (", Ultra HD, 4K, cinematic composition.", ", 超清，4K，电影级构图."),
    "Emu3-Gen": (" masterpiece, film grained, best quality.", " masterpiece, film grained, best quality."),
}
"""For each model, the words after a prompt without and with Chinese characters."""


def adding_words(model: Model, name: str) -> Model:
    """A model of ULMEvalKit's list, which puts its wrapper's words after each prompt if the run is at parity.

    Args:
        model: The backend that runs it.
        name: Its name in the list.
    """
    if name in _WORDS and isinstance(model, BatchModel):
        model.respond = _with_words(model, model.respond, _WORDS[name])  # type: ignore[method-assign, assignment]
    return model


def _with_words(
    model: BatchModel, respond: Callable[[list[Request]], list[Response]], words: tuple[str, str]
) -> Callable[[list[Request]], list[Response]]:
    def answers(requests: list[Request]) -> list[Response]:
        if not model.parity.on("quality-words"):
            return respond(requests)
        return respond([replace(request, messages=_lengthened(request.messages, words)) for request in requests])

    return answers


def _lengthened(messages: tuple[Message, ...], words: tuple[str, str]) -> tuple[Message, ...]:
    """Messages with the words after their last text."""
    plain, chinese = words
    said = "".join(part.text for message in messages for part in message.parts if isinstance(part, Text))
    last = next(
        (
            place
            for place in reversed(range(len(messages)))
            if any(isinstance(part, Text) for part in messages[place].parts)
        ),
        None,
    )
    if last is None:
        return messages
    parts = list(messages[last].parts)
    number = max(place for place, part in enumerate(parts) if isinstance(part, Text))
    text = parts[number]
    assert isinstance(text, Text)
    parts[number] = Text(text.text + (chinese if _HAN.search(said) else plain))
    return (*messages[:last], replace(messages[last], parts=tuple(parts)), *messages[last + 1 :])
