"""What a run gives to code that nobody hands anything to: scoring deep inside a benchmark that asks a judge, a metric
that reads weights, a hook that opens a dataset.

This is the one ContextVar of Polymeter. A thread that somebody's code starts begins without it: take what is needed
before starting one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.core.environment import WEIGHTS_VARIABLE, named_places
from polymeter.core.role_client import KnowsRoles, RoleClient, TakesRefusals, no_role_client


@dataclass(frozen=True, slots=True)
class GuestContext:
    """What holds around a call of a guest.

    Attributes:
        role_client: Asks the model of a role.
        data: Local files in place of dataset ids.
        weights: Local files in place of model ids.
        is_offline: Whether nothing may be fetched.
        cache_dir: Where prepared data is kept; ``None``: nowhere.
        folder: The folder of the guest's file, where its data may lie too; ``None``: not known.
    """

    role_client: RoleClient = no_role_client
    data: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)
    is_offline: bool = False
    cache_dir: Path | None = None
    folder: Path | None = None


_CURRENT: ContextVar[GuestContext] = ContextVar("polymeter_guest_context", default=GuestContext())  # noqa: B039  (frozen)


def guest_context() -> GuestContext:
    """What holds here."""
    return _CURRENT.get()


@contextmanager
def guest_context_with(**changes: Any) -> Iterator[None]:
    """Change fields of the context for as long as the block lasts."""
    token = _CURRENT.set(replace(_CURRENT.get(), **changes))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def answering_through(client: RoleClient) -> Iterator[None]:
    """Let a client answer for the models of further roles, for as long as the block lasts."""
    with guest_context_with(role_client=client):
        yield


def current_role_client() -> RoleClient:
    """The client of the sample that is being scored here, for code that is not handed one (shims of judges)."""
    return _CURRENT.get().role_client


def has_role(role: str) -> bool:
    """Whether a model can be asked in a role here: for scoring that uses a judge where there is one and does without
    where there is none.
    """
    client = current_role_client()
    return isinstance(client, KnowsRoles) and role in client.roles


def refuse_verdict(why: str) -> None:
    """Say that a judge's answer is no verdict. The sample that is being scored here then has no score, whatever the
    code that asked makes of it.

    Args:
        why: What was expected and what was said, for people.
    """
    client = current_role_client()
    if isinstance(client, TakesRefusals):
        client.refuse(why)


@contextmanager
def weights_from(places: Mapping[str, str]) -> Iterator[None]:
    """Within this, model ids are read from these places, before those of the environment."""
    with guest_context_with(weights={**_CURRENT.get().weights, **places}):
        yield


def weights_place(name: str) -> str:
    """Where a model is read from: its local place if it has one, else its id.

    Raises:
        PlanError: if ``POLYMETER_WEIGHTS`` is not of its form.
    """
    return _CURRENT.get().weights.get(name) or named_places(WEIGHTS_VARIABLE).get(name, name)
