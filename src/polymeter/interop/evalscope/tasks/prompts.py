"""Prompts as adapters make them, the requests that they become, and what adapters get to parse of the responses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.content import Audio, Image, Part, Text, Video
from polymeter.core.errors import DataError, ScoreError
from polymeter.core.request import (
    Loglikelihood,
    Message,
    Origin,
    Output,
    Parameters,
    Request,
    Response,
    Role,
    TemplateUse,
)
from polymeter.core.text.codec import jsonable
from polymeter.interop.evalscope.tasks.constants import EvalType, OutputType

Prompt = Mapping[str, Any]
"""The value that ``gen_prompt`` returns: the fields of ``PromptData`` that are set, and ``raw_input``, the record."""

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_PAIR = 2
JSON_NOTE = "The answer is not text; this is its JSON."
"""The note of an answer in a form of its adapter's own, which ``answers_to`` gives back in that form."""


@dataclass
class PromptData:
    """A question of an adapter about one record.

    Attributes:
        data: The prompt, as a list of one text; for continuations, pairs of context and continuation.
        index: Position of the record within its subset.
        system_prompt: Put before the prompt.
        multi_choices: The choices of a question.
        id: The author's own identifier.
        messages: A whole conversation in place of the prompt, as an OpenAI endpoint takes it; or a mapping, which is a
            conversation in a form of the adapter's own.
    """

    data: list[Any]
    index: int | str | None = 0
    system_prompt: str | None = None
    multi_choices: list[str] | None = None
    id: int | str | None = None
    messages: list[dict[str, Any]] | dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are set, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class RequestForm:
    """Properties that all requests of one benchmark share.

    Attributes:
        output_type: The mode: a value of ``OutputType``.
        parameters: Their parameters, without seeds and continuations.
        n: How many times each prompt is asked for a text or an image.
        system_prompt: The run's own; put before a prompt that has none.
        has_raw_contexts: Whether log-probabilities are taken behind a prompt's text alone: without a system prompt, and
            without the model's chat template.
        counts_last_tokens: Whether a choice stands for its last token.
    """

    output_type: str
    parameters: Parameters
    n: int = 1
    system_prompt: str = ""
    has_raw_contexts: bool = False
    counts_last_tokens: bool = False


def requests_for(prompt: Prompt, form: RequestForm, origin: Origin) -> tuple[Request, ...]:
    """Return the requests for a prompt, once and without a seed: one, or one for each context of its continuations.

    Raises:
        DataError: if the prompt is not of the form that its mode needs.
    """
    template: TemplateUse = "none" if form.has_raw_contexts else "auto"
    if form.output_type == OutputType.CONTINUOUS:
        return tuple(
            Request(_context(prompt, form, context), Loglikelihood(tuple(continuations), template), origin)
            for context, continuations in by_context(prompt)
        )
    if form.output_type == OutputType.MULTIPLE_CHOICE:
        asked = Loglikelihood(tuple(choices_of(prompt)), template, form.counts_last_tokens)
        return (Request(_context(prompt, form), asked, origin),)
    return (Request(_messages(prompt, form.system_prompt), form.parameters, origin),)


def answers_to(prompt: Prompt, output_type: str, responses: Sequence[Response], image_folder: Path) -> list[Any]:
    """Return the values that adapters parse, one for each answer: text, the likeliest choice, the log-probabilities of
    all continuations, or the path of an image.

    Args:
        prompt: What was asked.
        output_type: The mode in which it was asked.
        responses: What the model gave.
        image_folder: Where images that lie in no file are written, since adapters take paths.

    Raises:
        ScoreError: if the model gave none, or not one log-probability for each continuation.
    """
    outputs = [output for response in responses for output in response.outputs]
    if output_type == OutputType.MULTIPLE_CHOICE:
        choices = choices_of(prompt)
        logprobs = _logprobs(responses, len(choices))
        return [choices[max(range(len(choices)), key=logprobs.__getitem__)]]  # the first of equally likely ones
    if output_type == OutputType.CONTINUOUS:
        if outputs and not any(output.logprobs for output in outputs):  # a user's own model gave all of them at once
            return [_as_logprobs(output.text or "") for output in outputs]
        return [_logprobs(responses, len(prompt["data"]))]
    if output_type == OutputType.IMAGE_GENERATION:
        return [_path_of(image, image_folder) for output in outputs for image in output.images]
    if not outputs:
        raise ScoreError("There is no answer to score.")
    return [_as_given(output) for output in outputs]


def choices_of(prompt: Prompt) -> list[str]:
    """The choices of a prompt.

    Raises:
        DataError: if it has none.
    """
    choices = prompt.get("multi_choices")
    if not choices:
        raise DataError(
            "This prompt is asked by choices and has none.",
            hint="Set self.choices, or give them to gen_prompt_data.",
        )
    return [str(choice) for choice in choices]


def by_context(prompt: Prompt) -> list[tuple[str, list[str]]]:
    """The continuations of a prompt, those that follow one another and share a context together. A context ends
    before its trailing spaces: they belong to the first token of what comes.

    Raises:
        DataError: if the prompt is not a list of pairs.
    """
    groups: list[tuple[str, list[str]]] = []
    for pair in prompt.get("data") or ():
        if not isinstance(pair, (list, tuple)) or len(pair) != _PAIR:
            raise DataError(
                f"This prompt is asked by continuations, and {str(pair)[:80]!r} is not a (context, continuation) pair."
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


def is_own_form(prompt: Prompt) -> bool:
    """Return whether a prompt is a conversation in a form of its adapter's own: a mapping, and no list of messages."""
    return isinstance(prompt.get("messages"), Mapping)


def prompt_problem(prompt: Any, output_type: str, eval_type: str) -> str:
    """Return the reason why a prompt cannot be asked in a mode of such a model; empty if it can."""
    if not isinstance(prompt, Mapping):
        return f"gen_prompt gave a {type(prompt).__name__}; it must return what self.gen_prompt_data gives."
    if "raw_input" not in prompt:
        return "gen_prompts gave a prompt without 'raw_input', the record that it is made from."
    if is_own_form(prompt) and eval_type != EvalType.CUSTOM:
        return (
            "gen_prompt gave a conversation in a form of its own, as for calls of tools in several turns: "
            "only a model of your own (CustomModel) can be asked."
        )
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


def _context(prompt: Prompt, form: RequestForm, context: str | None = None) -> tuple[Message, ...]:
    """Return the context before the continuations."""
    if form.has_raw_contexts:
        return (Message("user", (Text(_prompt_text(prompt) if context is None else context),)),)
    return _messages(prompt, form.system_prompt, context)


def _messages(prompt: Prompt, run_system_prompt: str, context: str | None = None) -> tuple[Message, ...]:
    """The conversation that a prompt is; with ``context``, that one in place of its text."""
    if context is None and is_own_form(prompt):
        # Only a user's own model reads it, from the prompt itself. The request has all of it, so that no other answers.
        return (Message("user", (Text(json.dumps(jsonable(prompt["messages"]), ensure_ascii=False)),)),)
    if context is None and prompt.get("messages"):
        messages = tuple(_chat_message(item) for item in prompt["messages"])
        needs_system = run_system_prompt and not any(message.role == "system" for message in messages)
        return (Message("system", (Text(run_system_prompt),)), *messages) if needs_system else messages
    text = _prompt_text(prompt) if context is None else context
    system = prompt.get("system_prompt") or run_system_prompt
    user = Message("user", (Text(text),))
    return (Message("system", (Text(str(system)),)), user) if system else (user,)


def _prompt_text(prompt: Prompt) -> str:
    """The first text; a list of pairs becomes lines."""
    data = prompt["data"]
    if isinstance(data, str):
        return data
    if isinstance(data[0], (tuple, list)):
        return "\n".join("".join(str(piece) for piece in pair) for pair in data)
    return str(data[0])


def _chat_message(item: Any) -> Message:
    """One message of an OpenAI conversation.

    Raises:
        DataError: if its role or one of its parts is of a kind that cannot be shown.
    """
    if not isinstance(item, Mapping) or "role" not in item:
        raise DataError(f"{str(item)[:80]!r} is not a message.", hint="Give mappings with 'role' and 'content'.")
    role = _ROLES.get(str(item["role"]))
    if role is None:
        raise DataError(f"A message has the role {item['role']!r}.", hint=f"Known: {', '.join(_ROLES)}.")
    content = item.get("content") or ""
    if isinstance(content, str):
        return Message(role, (Text(content),))
    return Message(role, tuple(_prompt_part(piece) for piece in content), is_listed=True)


def _prompt_part(piece: Any) -> Part:
    if isinstance(piece, str):
        return Text(piece)
    kind = str(piece.get("type", "")) if isinstance(piece, Mapping) else type(piece).__name__
    if kind == "text":
        return Text(str(piece["text"]))
    if kind in ("image_url", "image"):
        return Image(_media_source(piece[kind]))
    if kind in ("video_url", "video"):
        return Video(_media_source(piece[kind]))
    if kind in ("audio_url", "audio"):
        return Audio(_media_source(piece[kind]))
    if kind == "input_audio":
        audio = piece["input_audio"]
        return Audio(f"data:audio/{audio.get('format', 'wav')};base64,{audio['data']}")
    raise DataError(
        f"A message has a part of the kind {kind!r}.", hint="Known: text, image_url, video_url, input_audio."
    )


def _media_source(value: Any) -> Any:
    return value["url"] if isinstance(value, Mapping) and "url" in value else value


def _logprobs(responses: Sequence[Response], n: int) -> list[float]:
    logprobs = [choice.logprob for response in responses for output in response.outputs for choice in output.logprobs]
    if len(logprobs) != n:
        raise ScoreError(f"The model gave {len(logprobs)} log-probabilities for {n} continuations.")
    return logprobs


def _as_given(output: Output) -> Any:
    """An answer as the model gave it: text, or what its text is the JSON of."""
    return json.loads(output.text or "") if output.note == JSON_NOTE else output.text or ""


def _as_logprobs(text: str) -> Any:
    """Return the log-probabilities in an answer that lists them; any other text unchanged."""
    try:
        numbers = json.loads(text)
    except ValueError:
        return text
    return numbers if isinstance(numbers, list) else text


def _path_of(image: Any, folder: Path) -> str:
    """The path of an image: the run's own file if it has one, else one that is named by what the image shows."""
    stored = getattr(image, "path", None)
    if isinstance(stored, Path):
        return str(stored)
    part = Image(image)
    file = folder / f"{part.content_hash()}.png"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        part.open().save(file, format="PNG")
    return str(file)
