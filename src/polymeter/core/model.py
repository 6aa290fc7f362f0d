"""Models: what answers requests, and what planning knows about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from polymeter.core.content import Modality
from polymeter.core.errors import PlanError
from polymeter.core.media.showing import Showing
from polymeter.core.names.parity import NO_PARITY, Parity

if TYPE_CHECKING:
    from polymeter.core.content import Media
    from polymeter.core.request import Generate, Message, Origin, Parameters, Request, RequestKind, Response, Tags
    from polymeter.core.rows import RowAccess

ALL_READY: Final = "all_ready"
"""Batch hint of a wrapper that has its own scheduler: it accepts every request that is ready."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """Facts about a model that planning uses.

    Attributes:
        family: The name by which formats choose prompts.
        kind: ``chat`` models take messages; ``simple`` ones a text and the media.
        requests: For each kind of request, whether the model answers it. If it is absent, a probe finds out.
        modalities: For each modality, whether the model accepts it; absent: unknown.
        requires: Modalities that every request must contain: a model that only edits needs an image.
        drives_rounds: Whether it runs multi-round protocols itself.
        drives_stages: Whether it runs the stages of a visual chain of thought itself.
        is_endpoint: Whether it answers over a network; formats may have other defaults for such models.
        is_completion: Whether it continues text and does not follow a chat template, so that injected stop strings
            matter to it.
        is_foreign: Whether its outputs are used unchanged (stop strings are not applied unless the plan asks).
        has_own_prompts: Whether it may have its own prompts for rows (``BatchModel.own_prompt``).
        whole_videos: Whether it takes videos as such, and not as frames; ``None``: if it is known to accept videos.
        calls_tools: Whether it may be offered tools and can be sent their results.
        tool_parser: The name of the reader of calls in its text; empty: its API returns calls.
        no_tools: Why it can be offered none, as the end of a sentence, where that is known.
        tool_media: The place of media in a tool's result: ``inline``, in the result itself, or ``after``, in a message
            of the user right behind (``polymeter.core.acting.results``).
        reasoning_tags: Tags around reasoning that its chat template has besides those that are known.
        ignores_text: Why it does not read the text of prompts, as the end of a sentence; empty: it does.
    """

    family: str
    kind: Literal["chat", "simple"] = "chat"
    requests: Mapping[RequestKind, bool] = field(default_factory=dict)
    modalities: Mapping[Modality, bool] = field(default_factory=dict)
    requires: tuple[Modality, ...] = ()
    drives_rounds: bool = False
    drives_stages: bool = False
    is_endpoint: bool = False
    is_completion: bool = False
    is_foreign: bool = False
    has_own_prompts: bool = False
    whole_videos: bool | None = None
    calls_tools: bool = False
    tool_parser: str = ""
    no_tools: str = ""
    tool_media: Literal["inline", "after"] = "after"
    reasoning_tags: Tags = ()
    ignores_text: str = ""

    @property
    def takes_whole_videos(self) -> bool:
        """True if it takes videos as such."""
        return bool(self.modalities.get("video")) if self.whole_videos is None else self.whole_videos


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as pure data: which backend, which weights, which arguments.

    Attributes:
        backend: Name in the model registry (``ocr``, ``hf``, ``openai``, …).
        name: What follows the colon: hub id, path, endpoint model; may be empty.
        args: Arguments of the backend.
        path: A file or package that defines the model, for wrappers that are guests.
    """

    backend: str
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""

    def __str__(self) -> str:
        return f"{self.backend}:{self.name}" if self.name else self.backend


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Settings of a run for a model that starts programs of its own.

    Attributes:
        log_folder: Where the logs of these programs are kept; made when it is first needed.
        tell: Called with a sentence about what the run waits for; an empty one when it waits no longer.
    """

    log_folder: Path
    tell: Callable[[str], None]


class _BaseModel(ABC):
    """The base of local models and endpoints.

    Attributes:
        traits: What planning knows about it.
        made_from: The spec that it was made from, for the record of a run; ``None`` for a model that its author's code
            made.
        opened_sources: Files that the code of a wrapper has opened while it was loaded. They are not part of its
            identity, by which answers are found; a run continues only if they are unchanged.
        rows: Leads from a request to its task's row; the run sets it while it uses the model.
        parity: Whose values are wanted where Polymeter differs from another system; the run sets it.
        reasoning_tags: The tags around reasoning that the run names; ``None``: it names none. The run sets it.
        address: The address of an endpoint, for the record of the run; ``None`` for a model on this machine. It is not
            part of the identity, because the same model may be served elsewhere; a run that continues at another
            address reports it.
    """

    traits: ModelTraits
    address: str | None = None
    made_from: ModelSpec | None = None
    opened_sources: tuple[Path, ...] = ()
    rows: RowAccess | None = None
    parity: Parity = NO_PARITY
    reasoning_tags: Tags | None = None

    @property
    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """Everything about the model that can change an answer, as plain data: weights, revision, versions, settings.
        Runtime settings (batch size, timeouts, addresses) are not part of it.
        """

    @property
    def joins_repeats(self) -> bool:
        """True if the repeats of one prompt that are still to be answered reach it in one call. A batch model gets them
        next to each other in one ``respond`` (``group_repeats`` finds them), where they count as one in its batch
        size; an endpoint gets them in ``respond_repeats``.
        """
        return False

    def text_tokens(self, text: str) -> int | None:
        """The number of tokens of a text by the model's own tokenizer, without special tokens; ``None``: the tokenizer
        is not on this machine. Called before loading.
        """
        return None

    def token_limit(self, parameters: Generate) -> int | None:
        """The maximum number of tokens of one answer, reasoning included, as this model is asked; ``None``: there is no
        limit. Caps on costs and tokens reserve so many.
        """
        return parameters.max_new_tokens

    @property
    def reads_rows(self) -> bool:
        """True if an answer may rest on more of a row than its request holds: a wrapper is handed the row itself, and a
        model of a user's own may ask for it (``rows``). Another run reuses such an answer for the same row alone.
        """
        return True

    @property
    def may_move(self) -> bool:
        """True if other weights may answer under the same identity later, as behind the name of a hosted model."""
        return False

    @property
    def served(self) -> str:
        """The model and version that the endpoint states to have answered with; empty if it states none, or if it has
        stated several.
        """
        return ""

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """The settings among some parameters that this model cannot honour, each with the reason. They are shown once,
        when the run is planned, and again in the report.
        """
        return {}

    def unfollowed(self, showing: Showing) -> Mapping[str, str]:
        """The settings among a task's rules for showing media that this model does not follow (``video.audio``), each
        with the reason. They are shown once, when the run is planned, and again in the report.
        """
        if self.traits.is_foreign:
            names = [f"{kind}.{name}" for kind, rule in showing.stated().items() for name in rule]
            return dict.fromkeys(names, "the wrapper gets media as the task gives them")
        has_track = showing.video is not None and showing.video.audio == "track"
        is_deaf = has_track and self.traits.modalities.get("audio") is False
        return {"video.audio": "it accepts no audio, so videos are silent"} if is_deaf else {}

    def decodes(self, medium: Media) -> bool:
        """Return whether it shows this medium by Polymeter's own functions (``shown_image``, ``shown_video``,
        ``shown_audio``), which decode it. Planning then checks that the packages for that are installed.
        """
        return False

    @property
    def shows_subtitles(self) -> frozenset[str]:
        """The ways in which this model can be shown the subtitles of a video: ``whole``, ``at_frames``,
        ``interleaved``. A model that uses ``ShownVideo.subtitles`` names them. A task that states another is refused.
        """
        return frozenset()

    @property
    def subtitles_hint(self) -> str:
        """Another way to be shown them, as a sentence with a blank in front; empty: there is none."""
        return ""

    @property
    def own_showing(self) -> Mapping[str, Any]:
        """The settings of ``VideoRule`` by which a wrapper shows videos itself, as far as they are known."""
        return {}

    def plan_showing(self, showings: Sequence[Showing]) -> None:
        """Note what the tasks of the run that may show videos state to be shown of media, each or nothing, for a model
        that must know when it loads. Called before ``unfollowed`` and ``load``.
        """
        return None

    def known_settings(self) -> frozenset[str] | None:
        """The names of generation settings that this model accepts or gives a reason to ignore (``ignores``), besides
        those that Polymeter reads itself (``max_new_tokens``, ``temperature``, …). A user's setting of another name is
        refused. ``None``: unknown.
        """
        return None

    def load(self) -> None:
        """Do the expensive part of starting: read weights, warm up. Called once, before the first request. The
        constructor stays cheap, so that a plan can be checked without loading the model.
        """
        return None

    def close(self) -> None:
        """Free what the model holds. Called once, also after a failure."""
        return None


class BatchModel(_BaseModel):
    """A local model. Never called concurrently; the engine owns batching.

    Attributes:
        batch_hint: How many requests it prefers at a time, or ``ALL_READY``. The plan's batch size wins.
        planned_batch_size: The plan's batch size, for models that use it when they load; ``None``: the plan
            sets none, or the run finds one by trying.
        at_once: Where several batches come in one call (``batches_at_once``): how many of its requests are computed at
            a time. The engine sets it before the call; ``None``: all.
    """

    batch_hint: int | Literal["all_ready"] = 1
    planned_batch_size: int | None = None
    at_once: int | None = None

    @abstractmethod
    def respond(self, requests: list[Request]) -> list[Response]:
        """Answer every request, in order. If one fails, its response holds an ``Error``; an exception fails the whole
        batch.
        """

    def batches_at_once(self, request: Request) -> int:
        """The number of batches of requests like this one in one ``respond``. A model with more than one computes
        no more than ``at_once`` of the requests at a time, and takes up the next when one is answered.
        """
        return 1

    def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
        """The model's own prompt for a row; ``None``: the benchmark's is used. Called after loading, and only if the
        traits say ``has_own_prompts``; ``self.rows`` leads to the row.
        """
        return None

    def relieve(self) -> None:
        """Free what memory can be freed. Called after a batch ran out of memory, before smaller ones are tried."""
        return None

    def group_key(self, request: Request) -> Hashable:
        """Requests with different keys never share a batch. The engine already separates different parameters."""
        return None


class AsyncModel(_BaseModel):
    """An endpoint. Awaited concurrently; the engine owns concurrency, deadlines and retries.

    Attributes:
        surroundings: Settings of the run for a model that starts its server; the run sets it before ``load``.
        sends_stops: Whether stop strings are sent with chat requests. A model that reasons in the text of its answers
            would be stopped inside its reasoning, and what a server did not send cannot be read later; so its answers
            are cut when they are read instead. ``None``: not
            decided, or not up to the model. The preflight request decides it once; a run that is resumed sets it to
            what the run began with.
    """

    surroundings: ServerContext | None = None
    sends_stops: bool | None = None

    @abstractmethod
    async def respond(self, request: Request) -> Response:
        """Answer one request. A failure is an ``Error`` in the response or a ``ModelError``."""

    def prepare(self, request: Request) -> Any:
        """Do ahead of time what should not happen on the event loop: encode media, write the body. Called once per
        request, on a decoding thread; its result is handed to ``respond_prepared`` at every attempt.

        Raises:
            PolymeterError: if the request can never be sent.
        """
        return None

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        """Answer one request with the result of ``prepare``. Backends that prepare nothing leave this alone."""
        return await self.respond(request)

    async def respond_repeats(self, requests: Sequence[Request], prepared: Any) -> list[Response]:
        """Answer repeats of one prompt in one call, where the model ``joins_repeats``.

        Args:
            requests: Two or more that differ only in seed and number. After an attempt that answered some of them, the
                next call holds only the others.
            prepared: The result of ``prepare`` for the first of them.
        """
        raise NotImplementedError(f"{type(self).__name__} does not join repeats.")

    async def preflight(self) -> None:
        """Send one small request that shows whether the endpoint is there, accepts the key and knows the model. Awaited
        once, before any dataset is opened, on a separate event loop.

        Raises:
            PlanError: if the endpoint cannot be reached, rejects the key or does not know the model.
        """
        return None

    @property
    def place(self) -> str:
        """The place of the endpoint, for messages: its host, usually after the model's name."""
        return ""

    async def probe(self) -> bool:
        """Ask for as little as possible, without a retry, to check in the middle of a run whether the endpoint answers.
        A model without such a request leaves this alone, and one of the run's own is used.

        Returns:
            Whether the model itself was asked. A list of models, in its place, says nothing of the model's limits.

        Raises:
            ModelError: if it does not answer, or answers with an error.
        """
        return False

    async def aclose(self) -> None:
        """Close connections, on the event loop that used them."""
        return None

    @property
    def instances(self) -> Sequence[AsyncModel]:
        """The same model at each address where it is served, each with the ``prepare`` of this one. The engine sends
        each request to one of them: it never asks the whole. Empty before ``load`` if that makes them.
        """
        return (self,)

    def plan_replicas(self, n: int | Literal["auto"], gpus_per_replica: float | None) -> None:
        """Note how many servers ``load`` is to start, in place of one.

        Args:
            n: The number; ``auto``: as many as the GPUs of this machine allow.
            gpus_per_replica: GPUs for each; ``None``: what its arguments ask for.

        Raises:
            PlanError: if others run the endpoint, or the machine has too few GPUs.
        """
        raise PlanError(
            "An endpoint that somebody else runs has no replicas to start.",
            where="--replicas",
            hint="Name several addresses of the model, separated by commas: --base-url A,B,C.",
        )

    def interrupt(self) -> None:
        """Make a ``load`` that is running on another thread raise soon."""
        return None

    @property
    def is_dead(self) -> bool:
        """True if it can never answer again, as it knows without asking: the server that it started has ended."""
        return False

    @property
    def last_words(self) -> str:
        """Return the last output of the server that it started, for the message that it is down; empty if it started
        none.
        """
        return ""

    @property
    def record(self) -> Mapping[str, Any]:
        """Return how it was served, for the record of the run: programs, versions, GPUs. Nothing is compared."""
        return {}


Model = BatchModel | AsyncModel
