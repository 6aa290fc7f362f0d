"""Messages, parameters, requests and responses: everything that passes between the engine and a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from polymeter.core.acting.episodes import Act, Observation
from polymeter.core.acting.tools import Call, Tool
from polymeter.core.content import Image, Media, Part, Text
from polymeter.core.errors import ErrorKind, ErrorScope, PolymeterError

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Role = Literal["system", "user", "assistant", "tool"]
Protocol = Literal["single", "multi_round", "visual_cot", "agentic"]
RequestKind = Literal["generate", "loglikelihood", "generate_image"]
Tags = tuple[tuple[str, str], ...]
"""Pairs of an opening and a closing tag around visible reasoning in answers."""
TemplateUse = Literal["auto", "chat", "none"]
"""True if a checkpoint on this machine reads a prompt in its chat template (``chat``), as its text alone (``none``), or
as is right for the model (``auto``).
"""
PROMPT_VERSION = "judge_prompt"
"""The key under which the metadata of a judge's request hold the version of its prompt; stored with the request."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    Attributes:
        role: The speaker.
        parts: What is said and shown.
        written: The message as the author of a chat prompt wrote it, if that is more than a role and a list of items.
            Wrapped models get it unchanged.
        is_listed: Whether the author wrote a list of items. An endpoint gets several texts as several items then, and
            else as one text.
        calls: The calls of tools in a turn of the assistant.
        call_id: The id of the call whose result a message of the role ``tool`` is.
        carried: What the API requires back with a turn of the assistant, from its output.
    """

    role: Role
    parts: tuple[Part, ...]
    written: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    is_listed: bool = field(default=False, repr=False, compare=False)
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    carried: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])


@dataclass(frozen=True, slots=True)
class Generate:
    """Parameters of a request for one text.

    Attributes:
        max_new_tokens: Maximum number of tokens of one answer; ``None``: as the plan or the model says.
        temperature: 0 is greedy.
        top_p: Nucleus sampling.
        stop: Stop strings that the author or user wrote. The engine applies them, even if the backend does too.
        seed: Seed for sampling; ``None``: ``repeat`` is used.
        repeat: Number of this request among otherwise equal ones, from 0. Eight repeats are eight requests, each with
            its seed, so that each answer is journaled and resumed by itself. A dispatcher joins those of one prompt
            that are still outstanding into one call if the model declares that it can (``joins_repeats``).
        extra: Further settings under their usual names (``top_k``, ``num_beams``, ``do_sample``, …).
        template: The way in which a checkpoint on this machine reads the prompt, if the request demands one of both.
        tools: The tools that the model may call. Its answer may then consist of calls.
        tool_choice: ``auto``: it may call them; ``none``; ``required``: it must call one; or the name of the tool that
            it must call.
    """

    max_new_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    repeat: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    template: TemplateUse = "auto"
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    kind: ClassVar[RequestKind] = "generate"

    def repeated(self, seed: int, repeat: int) -> Generate:
        """The same parameters for one of several repeats."""
        return replace(self, seed=seed, repeat=repeat)


@dataclass(frozen=True, slots=True)
class Loglikelihood:
    """Parameters of a request for the log-probability of each continuation of one context.

    Continuations that share a context travel in one request, so a backend computes the shared prefix once.

    Attributes:
        continuations: The texts.
        template: How a checkpoint on this machine reads the context, if the request demands one of both ways; ``auto``:
            as the model's own setting says.
        is_last_token: Each continuation stands for the last token of its own text, right behind the context as it is
            written; else the tokens that it adds to the context count, all of them.
        is_rolling: Each continuation is a text of any length, read from its first token without a context, as
            perplexities are computed: where it is longer than the model's window, in windows that follow each other, so
            that each of its tokens is scored once.
    """

    continuations: tuple[str, ...]
    template: TemplateUse = "auto"
    is_last_token: bool = False
    is_rolling: bool = False
    kind: ClassVar[RequestKind] = "loglikelihood"


@dataclass(frozen=True, slots=True)
class GenerateImage:
    """Parameters of a request for one image.

    Attributes:
        size: Width and height in pixels; ``None``: the model's own.
        seed: As for ``Generate``.
        repeat: As for ``Generate``.
        extra: Further settings under their usual names (``negative_prompt``, ``guidance_scale``, …).
    """

    size: tuple[int, int] | None = None
    seed: int | None = None
    repeat: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    kind: ClassVar[RequestKind] = "generate_image"

    def repeated(self, seed: int, repeat: int) -> GenerateImage:
        """The same parameters for one of several repeats."""
        return GenerateImage(self.size, seed, repeat, self.extra)


Parameters = Generate | Loglikelihood | GenerateImage


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a request: provenance, not identity.

    Attributes:
        task: Name of the task.
        sample: Id of the sample.
        split: Dataset split.
        index: Row number within the split.
        protocol: Who drives the rounds, and how.
        generation_kwargs: The task's generation arguments as its author wrote them, with the defaults that the format
            injects.
        metadata: What the task says about itself.
        prompt: The prompt in the benchmark's native form, as plain data, if it has one.
        reasoning_tags: The tags around visible reasoning in its answers, in which stop strings do not count; ``None``:
            those that are known.
    """

    task: str
    sample: str
    split: str = ""
    index: int = 0
    protocol: Protocol = "single"
    generation_kwargs: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    prompt: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    reasoning_tags: Tags | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """Messages and exactly one set of parameters. Their type is the kind of answer that is requested. Plain data: it
    names its task and row and carries no live code.
    """

    messages: tuple[Message, ...]
    parameters: Parameters
    origin: Origin | None = field(default=None, compare=False)

    def media(self) -> Iterator[Media]:
        """All media of all messages, in order."""
        for message in self.messages:
            for part in message.parts:
                if not isinstance(part, Text):
                    yield part

    def images(self) -> Iterator[Image]:
        """All images of all messages, in order."""
        return (part for part in self.media() if isinstance(part, Image))

    @property
    def text(self) -> str:
        """All text of all messages, separated by empty lines: for simple models and for estimates of length."""
        return "\n\n".join([text for message in self.messages if (text := message.text)])


@dataclass(frozen=True, slots=True)
class OwnPrompt:
    """Asks a loaded model for its own prompt for a row. A rollout yields it before its request if the model's traits
    say that it may have one; the answer has ``messages``, or none if the benchmark's prompt is to be used.

    The answer is journaled with its media, so that a rollout can be replayed without the model.

    Attributes:
        origin: The row.
    """

    origin: Origin
    messages: ClassVar[tuple[Message, ...]] = ()
    text: ClassVar[str] = ""

    def media(self) -> Iterator[Media]:
        """None yet."""
        return iter(())

    def images(self) -> Iterator[Image]:
        """None yet."""
        return iter(())


Step = Request | OwnPrompt | Act
"""One thing that a rollout asks for."""


@dataclass(frozen=True, slots=True)
class ChoiceLogprob:
    """One continuation: sum of token log-probabilities (natural log, higher is likelier), whether greedy decoding
    would give it, and its length in tokens.
    """

    logprob: float
    is_greedy: bool
    n_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one answer, without padding, and its price. ``None``: the backend does not say.

    ``reasoning_tokens`` and ``image_output_tokens`` (of images that were made) are part of ``output_tokens``;
    ``cached_tokens`` (read from a prefix cache), ``cache_write_tokens`` (written to it), ``audio_tokens`` and
    ``image_tokens`` are part of ``input_tokens``. ``cost`` is what the provider states that the answer costs, in US
    dollars, and ``service_tier`` the class of service by which it charges.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    audio_tokens: int | None = None
    image_tokens: int | None = None
    image_output_tokens: int | None = None
    cost: float | None = None
    service_tier: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """One answer: text, images or log-probabilities, and what the backend says about it. ``note``: what a reader should
    know about how it was made (how log-probabilities were obtained). ``messages``: the model's own prompt, in the
    answer to an ``OwnPrompt``. ``cut``: what the model was not shown whole, by the backend's own statement: ``images``
    (a processor scaled some down), ``prompt`` (it was truncated), each with what avoids it, or an empty text.
    ``calls``: the tools that the model called; the text beside them may be empty. ``carried``: what its API requires
    back with this turn (signed reasoning), as plain data that only the backend reads. ``observation``: what came of an
    act, in the answer to one.
    """

    text: str | None = None
    images: tuple[PILImage, ...] = ()
    logprobs: tuple[ChoiceLogprob, ...] = ()
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    note: str | None = None
    messages: tuple[Message, ...] | None = None
    cut: Mapping[str, str] | None = None
    carried: Mapping[str, Any] | None = field(default=None, repr=False)
    observation: Observation | None = None

    def as_turn(self) -> Message:
        """Return the turn of the assistant that this answer is in a conversation that continues: its text and calls,
        without reasoning.
        """
        parts = (Text(self.text),) if self.text else ()
        return Message("assistant", parts, calls=self.calls, carried=self.carried)


@dataclass(frozen=True, slots=True)
class Error:
    """The reason why there is no answer. ``is_unpaid``: the request was certainly declined before any work on it."""

    kind: ErrorKind
    message: str
    retryable: bool = False
    retry_after_s: float | None = None
    scope: ErrorScope = "request"
    is_unpaid: bool = False

    @classmethod
    def from_exception(cls, error: PolymeterError, kind: ErrorKind = "permanent") -> Error:
        """The error as data. ``kind`` is used if the exception itself has none."""
        own: ErrorKind = getattr(error, "kind", kind)
        waits = getattr(error, "retry_after_s", None)
        scope: ErrorScope = getattr(error, "scope", "request")
        is_unpaid: bool = getattr(error, "is_unpaid", False)
        return cls(own, str(error), own in ("rate_limit", "transient"), waits, scope, is_unpaid)


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request: its outputs, or an error.

    Attributes:
        outputs: One; if the model drives a protocol of several rounds, one per round.
        error: Set if and only if there is no answer.
        latency_ms: Time spent in the model; for a batch, the batch's time divided by its size.
        is_cached: Whether the answer comes from a store and not from the model.
        is_joined: Whether it came with another one, which has the usage of the call.
    """

    outputs: tuple[Output, ...] = ()
    error: Error | None = None
    latency_ms: float | None = None
    is_cached: bool = field(default=False, compare=False)
    is_joined: bool = field(default=False, compare=False)

    @property
    def text(self) -> str:
        """The first output's text.

        Raises:
            ValueError: if the response has no text.
        """
        if not self.outputs or self.outputs[0].text is None:
            why = self.error.message if self.error else "it answers another kind of request"
            raise ValueError(f"This response has no text: {why}")
        return self.outputs[0].text

    @property
    def messages(self) -> tuple[Message, ...] | None:
        """The model's own prompt; ``None`` if the benchmark's is to be used."""
        return self.outputs[0].messages if self.outputs else None

    @classmethod
    def of_text(cls, *texts: str, **fields: Any) -> Response:
        """A response of plain texts."""
        return cls(tuple(Output(text=text, finish_reason="stop") for text in texts), **fields)

    @classmethod
    def failed(cls, error: PolymeterError, kind: ErrorKind = "permanent") -> Response:
        """A response that is an error."""
        return cls(error=Error.from_exception(error, kind))
