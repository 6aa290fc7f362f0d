"""Settings of a run for code that receives no arguments from it: scoring that asks a judge deep inside a benchmark, a
metric that reads weights, a hook that opens a dataset.

This is the only ContextVar of Polymeter. A thread that a guest starts does not inherit it, but has the process's
default, which is that of the script under ``polymeter python``: read what is needed before starting one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.machine.environment import WEIGHTS_VARIABLE, named_places
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.role_client import RoleClient, TakesReadings, TakesRefusals, TakesScorers, no_role_client
from polymeter.core.settings.scoring_limits import ScoringLimits

if TYPE_CHECKING:
    from polymeter.core.request import Tags

MOST_PIXELS = 178_956_970
"""Most pixels of an image unless the run says otherwise: what Pillow refuses by itself, 0.7 GB once it is decoded."""


@dataclass(frozen=True, slots=True)
class GuestContext:
    """The settings that apply while a guest is called.

    Attributes:
        role_client: Asks the model of a role.
        data: Local files in place of dataset ids.
        weights: Local files in place of model ids.
        is_offline: Whether nothing may be downloaded.
        cache_dir: Where prepared data is stored; ``None``: nowhere.
        max_image_pixels: Most pixels of an image that is decoded.
        folder: The folder of the guest's file, which may hold its data too; ``None``: unknown.
        limits: The limits of scoring; ``None``: the default ones.
        parity: Whose values are wanted where Polymeter differs from another system.
        reasoning_tags: The tags around reasoning that the run names; ``None``: it names none.
        allows_generated_code: Whether code that a model wrote may be run.
        revisions: Which commits, branches or tags of datasets of a hub are read, by id; of others the newest.
        read_revisions: Which commits have been read, by id, noted when a dataset is opened; ``None``: they are not
            recorded.
        bytes_arrived: Called with each number of bytes of data that arrives from elsewhere; ``None``: not counted.
    """

    role_client: RoleClient = no_role_client
    data: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    is_offline: bool = False
    cache_dir: Path | None = None
    folder: Path | None = None
    max_image_pixels: int = MOST_PIXELS
    limits: ScoringLimits | None = None
    parity: Parity = NO_PARITY
    reasoning_tags: Tags | None = None
    allows_generated_code: bool = False
    revisions: Mapping[str, str] = field(default_factory=dict)
    read_revisions: dict[str, str] | None = None
    bytes_arrived: Callable[[int], None] | None = None


_CURRENT: ContextVar[GuestContext] = ContextVar("polymeter_guest_context")
_defaults = [GuestContext()]
"""The contexts of threads that have none of their own, of which the last counts."""


def guest_context() -> GuestContext:
    """The context of the code that calls this."""
    return _CURRENT.get(_defaults[-1])


@contextmanager
def guest_context_with(**changes: Any) -> Iterator[None]:
    """Change fields of the context inside the block."""
    token = _CURRENT.set(replace(guest_context(), **changes))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def default_guest_context_with(**changes: Any) -> Iterator[None]:
    """Change fields of the context inside the block, there and on the threads that the code inside starts itself."""
    with guest_context_with(**changes):
        _defaults.append(guest_context())
        try:
            yield
        finally:
            _defaults.pop()


class scoring_sample:
    """Inside the block a sample is scored: this client asks the models of further roles, and the limits are the
    sample's own.
    """

    __slots__ = ("_client", "_token")

    def __init__(self, client: RoleClient) -> None:
        self._client = client

    def __enter__(self) -> None:
        before = guest_context()
        # In full, because dataclasses.replace takes twice as long and each sample passes through here.
        context = GuestContext(
            self._client,
            before.data,
            before.weights,
            before.is_offline,
            before.cache_dir,
            before.folder,
            before.max_image_pixels,
            before.limits and before.limits.for_sample(),
            before.parity,
            before.reasoning_tags,
            before.allows_generated_code,
            before.revisions,
            before.read_revisions,
            before.bytes_arrived,
        )
        self._token = _CURRENT.set(context)

    def __exit__(self, *_: object) -> None:
        _CURRENT.reset(self._token)


@contextmanager
def answering_through(client: RoleClient) -> Iterator[None]:
    """Make this client the one that asks the models of further roles, inside the block."""
    with guest_context_with(role_client=client):
        yield


def current_role_client() -> RoleClient:
    """The client of the sample that is being scored, for code that receives none as an argument (shims of judges)."""
    return guest_context().role_client


def has_role(role: str) -> bool:
    """Return whether the run has a model in a role: for scoring that uses a judge if there is one and does without if
    there is none.
    """
    return role in getattr(current_role_client(), "roles", ())  # isinstance of a Protocol takes longer than a score


def refuse_verdict(why: str) -> None:
    """Report that a judge's answer is not a verdict. The sample that is being scored then has no score, whatever the
    code that asked the judge returns.

    Args:
        why: What was expected and what the judge said, as text to show.
    """
    client = current_role_client()
    if isinstance(client, TakesRefusals):
        client.refuse(why)


def note_reading(rule: str) -> None:
    """Report by which rule the verdict in a judge's last answer was read: it is kept beside the verdict.

    Args:
        rule: The rule, in a few words.
    """
    client = current_role_client()
    if isinstance(client, TakesReadings):
        client.note_reading(rule)


def note_scorer(by: str, instead_of: str = "") -> None:
    """Report what the score that is being made is measured with, where that is not in the benchmark itself: the result
    names it.

    Args:
        by: The model or detector; for the model in a role, the role.
        instead_of: What the benchmark's author uses in its place; empty if nothing else is meant.
    """
    client = current_role_client()
    if isinstance(client, TakesScorers):
        client.note_scorer(by, instead_of)


@contextmanager
def weights_from(paths: Mapping[str, str]) -> Iterator[None]:
    """Inside the block, read these model ids from these paths, which win over those of the environment."""
    with guest_context_with(weights={**guest_context().weights, **paths}):
        yield


def weights_place(name: str) -> str:
    """Return the place of a model's weights: its local path if it has one, else its id.

    Raises:
        PlanError: if ``POLYMETER_WEIGHTS`` is malformed.
    """
    return guest_context().weights.get(name) or named_places(WEIGHTS_VARIABLE).get(name, name)
