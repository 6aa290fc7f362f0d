"""Models: what answers requests, and what planning knows of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from polymeter.core.parts import Modality

if TYPE_CHECKING:
    from polymeter.core.request import Message, Origin, Parameters, Request, RequestKind, Response
    from polymeter.core.rows import RowAccess

ALL_READY: Final = "all_ready"
"""Batch hint of a wrapper with a scheduler of its own: it wants everything that is ready."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """What planning knows of a model.

    Attributes:
        family: The name by which dialects choose prompts.
        kind: ``chat`` models take messages; ``simple`` ones a text and the media.
        requests: For each kind of request whether the model answers it; absent: unknown, settled by a probe.
        modalities: For each modality whether the model takes it; absent: unknown.
        requires: Modalities that every request must show it: a model that only edits needs an image.
        drives_rounds: Whether it runs multi-round protocols itself.
        drives_stages: Whether it runs the stages of a visual chain of thought itself.
        is_endpoint: Whether it answers from elsewhere; dialects may have other defaults for such models.
        is_completion: Whether it continues text and does not follow a chat template, so that injected stop strings
            matter to it.
        is_foreign: Whether its outputs are used as they are (stop strings are not applied unless the plan asks).
        has_own_prompts: Whether it may have prompts of its own for rows (``BatchModel.own_prompt``).
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


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as pure data: which backend, which weights, which arguments.

    Attributes:
        backend: Name in the model registry (``ocr``, ``hf``, ``openai``, …).
        name: What follows the colon: hub id, path, endpoint model; may be empty.
        args: Arguments for the backend.
        path: A file or package that defines the model, for foreign interfaces.
    """

    backend: str
    name: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    path: str = ""

    def __str__(self) -> str:
        return f"{self.backend}:{self.name}" if self.name else self.backend


class _BaseModel(ABC):
    """What both shapes of model share.

    Attributes:
        traits: What planning knows of it.
        made_from: What makes it again, for the record of a run; ``None`` for a model that its author's code made.
        rows: Leads from a request to its task's row; set by the run that uses the model, for as long as it does.
    """

    traits: ModelTraits
    made_from: ModelSpec | None = None
    rows: RowAccess | None = None

    @property
    @abstractmethod
    def identity(self) -> Mapping[str, Any]:
        """Everything about the model that can change an answer, as plain data: weights, revision, versions, settings.
        Runtime settings (batch size, timeouts, addresses) stay out.
        """

    @property
    def joins_repeats(self) -> bool:
        """Whether it wants the repeats of one prompt that are still owed together, as one call: a batch model in one
        ``respond``, next to each other (``group_repeats`` finds them) and counted as one in its batch size; an endpoint
        in ``respond_repeats``.
        """
        return False

    def ignores(self, ask: Parameters) -> Mapping[str, str]:
        """Settings of an ask that this model cannot honour, each with the reason. The user is told once, when the run
        is planned, and the report repeats it.
        """
        return {}

    def load(self) -> None:
        """Do the heavy part of starting: read weights, warm up. Called once, before the first request; the constructor
        stays light so that a plan can be checked without it.
        """
        return None

    def close(self) -> None:
        """Free what the model holds. Called once, also after a failure."""
        return None


class BatchModel(_BaseModel):
    """A local model. Never called concurrently; the engine owns batching.

    Attributes:
        batch_hint: How many requests it likes at a time, or ``ALL_READY``. The plan's batch size wins.
        planned_batch_size: The plan's batch size, for models that want to know it when they load; ``None``: none is
            planned, or it is found by trying.
    """

    batch_hint: int | Literal["all_ready"] = 1
    planned_batch_size: int | None = None

    @abstractmethod
    def respond(self, requests: list[Request]) -> list[Response]:
        """Answer every request, in order. A failure of one is an ``Error`` in its response; an exception concerns them
        all.
        """

    def own_prompt(self, origin: Origin) -> tuple[Message, ...] | None:
        """Its own prompt for a row, made when it is loaded; ``None``: the benchmark's is used. Called where its traits
        say ``has_own_prompts``; ``self.rows`` leads to the row.
        """
        return None

    def relieve(self) -> None:
        """Let go of what memory can be let go of. Called after a batch did not fit, before smaller ones are tried."""
        return None

    def group_key(self, request: Request) -> Hashable:
        """Requests with different keys never share a batch. The engine separates asks and settings already."""
        return None


class AsyncModel(_BaseModel):
    """An endpoint. Awaited concurrently; the engine owns concurrency, deadlines and retries."""

    @abstractmethod
    async def respond(self, request: Request) -> Response:
        """Answer one request. A failure is an ``Error`` in the response or a ``ModelError``."""

    def prepare(self, request: Request) -> Any:
        """Do ahead of time what should not happen on the event loop: encode media, write the body. Called once for a
        request, on a decoding thread; what it gives is handed to ``respond_prepared`` at every try.

        Raises:
            PolymeterError: The request can never be sent.
        """
        return None

    async def respond_prepared(self, request: Request, prepared: Any) -> Response:
        """Answer one request with what ``prepare`` made of it. Backends that need no preparation leave this alone."""
        return await self.respond(request)

    async def respond_repeats(self, requests: Sequence[Request], prepared: Any) -> list[Response]:
        """Answer repeats of one prompt in one call, where the model ``joins_repeats``.

        Args:
            requests: Two or more, equal but for seed and number. Of some that an earlier try left without an answer
                only these are asked again.
            prepared: What ``prepare`` made of the first of them.
        """
        raise NotImplementedError(f"{type(self).__name__} does not join repeats.")

    async def preflight(self) -> None:
        """Ask the endpoint one small thing that shows whether it is there, takes the key and knows the model. Awaited
        once, before any dataset is opened, on an event loop of its own.

        Raises:
            PlanError: It is not, does not, or does not.
        """
        return None

    async def aclose(self) -> None:
        """Close connections, on the event loop that used them."""
        return None


Model = BatchModel | AsyncModel
