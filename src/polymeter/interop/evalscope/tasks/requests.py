"""Prompts as requests, and responses as what adapters parse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, ScoreError
from polymeter.core.parts import Audio, Image, Part, Text, Video
from polymeter.core.request import (
    Loglikelihood,
    Message,
    Origin,
    Parameters,
    Request,
    Response,
    Role,
)
from polymeter.interop.evalscope.tasks.constants import OutputType

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Asking:
    """How prompts of one benchmark become requests.

    Attributes:
        output_type: The mode.
        ask: Settings, without seeds and continuations.
        n: How many times each prompt is asked.
        system_prompt: The run's own; put before a prompt that has none.
        images: Where generated images are put, so that adapters can be given a path.
    """

    output_type: str
    ask: Parameters
    n: int
    system_prompt: str
    images: Path

    def requests(self, prompt: Mapping[str, Any], origin: Origin) -> tuple[Request, ...]:
        """What the model is asked for a prompt, once and without a seed: one request, or one for each context of its
        continuations.

        Raises:
            DataError: The prompt is not of the form that its mode needs.
        """
        if self.output_type == OutputType.CONTINUOUS:
            return tuple(
                Request(self._messages(prompt, context), Loglikelihood(tuple(continuations)), origin)
                for context, continuations in by_context(prompt)
            )
        messages = self._messages(prompt, None)
        if self.output_type == OutputType.MULTIPLE_CHOICE:
            return (Request(messages, Loglikelihood(tuple(choices_of(prompt))), origin),)
        return (Request(messages, self.ask, origin),)

    def contents(self, prompt: Mapping[str, Any], responses: Sequence[Response]) -> list[Any]:
        """What adapters parse, one for each answer: text, the likeliest choice, the log-probabilities of all
        continuations, or the path of an image.

        Raises:
            ScoreError: The model gave none, or not one log-probability for each continuation.
        """
        outputs = [output for response in responses for output in response.outputs]
        if self.output_type == OutputType.MULTIPLE_CHOICE:
            choices = choices_of(prompt)
            logprobs = _logprobs(responses, len(choices))
            return [choices[max(range(len(choices)), key=lambda place: logprobs[place])]]
        if self.output_type == OutputType.CONTINUOUS:
            return [_logprobs(responses, len(prompt["data"]))]
        if self.output_type == OutputType.IMAGE_GENERATION:
            return [self._put(image) for output in outputs for image in output.images]
        if not outputs:
            raise ScoreError("There is no answer to score.")
        return [output.text or "" for output in outputs]

    def _messages(self, prompt: Mapping[str, Any], context: str | None) -> tuple[Message, ...]:
        if context is None and prompt.get("messages"):
            made = tuple(_message(item) for item in prompt["messages"])
            needs_system = self.system_prompt and not any(message.role == "system" for message in made)
            return (Message("system", (Text(self.system_prompt),)), *made) if needs_system else made
        text = _text(prompt) if context is None else context
        system = prompt.get("system_prompt") or self.system_prompt
        user = Message("user", (Text(text),))
        return (Message("system", (Text(str(system)),)), user) if system else (user,)

    def _put(self, picture: Any) -> str:
        """The path of an image: the run's own file if it has one, else one that is named by what the image shows."""
        stored = getattr(picture, "path", None)
        if isinstance(stored, Path):
            return str(stored)
        image = Image(picture)
        place = self.images / f"{image.content_hash()}.png"
        if not place.is_file():
            self.images.mkdir(parents=True, exist_ok=True)
            image.open().save(place, format="PNG")
        return str(place)


def choices_of(prompt: Mapping[str, Any]) -> list[str]:
    """The choices of a prompt.

    Raises:
        DataError: It has none.
    """
    choices = prompt.get("multi_choices")
    if not choices:
        raise DataError(
            "This prompt is asked by choices and has none.",
            hint="Set self.choices, or give them to gen_prompt_data.",
        )
    return [str(choice) for choice in choices]


def by_context(prompt: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The continuations of a prompt, those that follow one another and share a context together. A context ends
    before its last blanks: they belong to the first token of what comes.

    Raises:
        DataError: The prompt is no list of pairs.
    """
    groups: list[tuple[str, list[str]]] = []
    for pair in prompt.get("data") or ():
        if not isinstance(pair, (list, tuple)) or len(pair) != _PAIR:
            raise DataError(
                f"This prompt is asked by continuations, and {str(pair)[:80]!r} is no pair of context and continuation."
            )
        whole, continuation = str(pair[0]), str(pair[1])
        context = whole.rstrip()
        continuation = whole[len(context) :] + continuation
        if groups and groups[-1][0] == context:
            groups[-1][1].append(continuation)
        else:
            groups.append((context, [continuation]))
    if not groups:
        raise DataError("This prompt is asked by continuations and has none.")
    return groups


def shape_problem(prompt: Any, output_type: str) -> str:
    """Why a prompt cannot be asked in a mode; empty when it can."""
    if not isinstance(prompt, Mapping):
        return f"gen_prompt gave a {type(prompt).__name__}; it must return what self.gen_prompt_data gives."
    if "raw_input" not in prompt:
        return "gen_prompts gave a prompt without 'raw_input', the record that it is made from."
    try:
        if output_type == OutputType.CONTINUOUS:
            by_context(prompt)
        elif output_type == OutputType.MULTIPLE_CHOICE:
            choices_of(prompt)
        if not prompt.get("messages") and not prompt.get("data"):
            return "gen_prompt gave a prompt with neither 'data' nor 'messages'."
    except DataError as error:
        return f"{error.what} {error.hint}".strip()
    return ""


def _text(prompt: Mapping[str, Any]) -> str:
    """The first text; a list of pairs becomes lines."""
    data = prompt["data"]
    if isinstance(data, str):
        return data
    if isinstance(data[0], (tuple, list)):
        return "\n".join("".join(str(piece) for piece in pair) for pair in data)
    return str(data[0])


def _logprobs(responses: Sequence[Response], n: int) -> list[float]:
    found = [choice.logprob for response in responses for output in response.outputs for choice in output.logprobs]
    if len(found) != n:
        raise ScoreError(f"The model gave {len(found)} log-probabilities for {n} continuations.")
    return found


def _message(item: Any) -> Message:
    """One message of an OpenAI conversation.

    Raises:
        DataError: Its role or one of its parts is of a kind that cannot be shown.
    """
    if not isinstance(item, Mapping) or "role" not in item:
        raise DataError(f"{str(item)[:80]!r} is no message.", hint="Give mappings with 'role' and 'content'.")
    role = _ROLES.get(str(item["role"]))
    if role is None:
        raise DataError(f"A message has the role {item['role']!r}.", hint=f"Known: {', '.join(_ROLES)}.")
    content = item.get("content") or ""
    if isinstance(content, str):
        return Message(role, (Text(content),))
    return Message(role, tuple(_part(piece) for piece in content))


def _part(piece: Any) -> Part:
    if isinstance(piece, str):
        return Text(piece)
    kind = str(piece.get("type", "")) if isinstance(piece, Mapping) else type(piece).__name__
    if kind == "text":
        return Text(str(piece["text"]))
    if kind in ("image_url", "image"):
        return Image(_source(piece[kind]))
    if kind in ("video_url", "video"):
        return Video(_source(piece[kind]))
    if kind in ("audio_url", "audio"):
        return Audio(_source(piece[kind]))
    if kind == "input_audio":
        sound = piece["input_audio"]
        return Audio(f"data:audio/{sound.get('format', 'wav')};base64,{sound['data']}")
    raise DataError(
        f"A message has a part of the kind {kind!r}.", hint="Known: text, image_url, video_url, input_audio."
    )


def _source(value: Any) -> Any:
    return value["url"] if isinstance(value, Mapping) and "url" in value else value
