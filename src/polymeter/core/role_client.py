"""The RoleClient: how code deep inside a score asks another model, a judge, without knowing about engines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

from polymeter.core.errors import PlanError
from polymeter.core.request import Request, Response


class RoleClient(Protocol):
    """Asks a model in a role. Synchronous, thread-safe, callable from any thread; supplied by the engine, which
    schedules, journals, caches and retries the request like any other.
    """

    def __call__(self, role: str, request: Request) -> Response:
        """The answer, or a response that is an error.

        Raises:
            PlanError: No model has that role in this run.
        """
        ...


@runtime_checkable
class TakesRefusals(Protocol):
    """An RoleClient that can be told that an answer it gave is of no use."""

    def refuse(self, why: str) -> None:
        """Note that a verdict could not be used."""
        ...


@runtime_checkable
class KnowsRoles(Protocol):
    """An RoleClient that says which roles its run fills."""

    @property
    def roles(self) -> Collection[str]:
        """The names of the roles."""
        ...


def no_role_client(role: str, request: Request) -> Response:
    """An RoleClient for places where nobody can be asked."""
    raise PlanError(f"No model has the role {role!r} here.", hint=f"Name one with --{role}.")


_CURRENT: ContextVar[RoleClient] = ContextVar("polymeter_asker", default=no_role_client)


def current_role_client() -> RoleClient:
    """The RoleClient of the sample that is being scored in this context, for code that is not handed one (stand-ins for
    foreign judges).

    A thread that foreign code starts has its own context: take the RoleClient before starting it.
    """
    return _CURRENT.get()


def has_role(role: str) -> bool:
    """Whether a model can be asked in a role in this context: for scoring that uses a judge where there is one and does
    without where there is none.
    """
    asker = current_role_client()
    return isinstance(asker, KnowsRoles) and role in asker.roles


def refuse_verdict(why: str) -> None:
    """Say that a judge's answer is no verdict. The sample that is being scored in this context then has no score,
    whatever the code that asked makes of it.

    Args:
        why: What was expected and what was said, for people.
    """
    asker = current_role_client()
    if isinstance(asker, TakesRefusals):
        asker.refuse(why)


@contextmanager
def answering_through(asker: RoleClient) -> Iterator[None]:
    """Make an RoleClient the current one for as long as the block lasts."""
    token = _CURRENT.set(asker)
    try:
        yield
    finally:
        _CURRENT.reset(token)
