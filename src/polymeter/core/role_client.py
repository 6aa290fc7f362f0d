"""The RoleClient: how code deep inside a score asks the model of another role, a judge, without knowing about engines."""

from __future__ import annotations

from collections.abc import Collection
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
