"""The RoleClient: how scoring code asks the model of another role, a judge, without depending on the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.core.request import Request, Response


class RoleClient(Protocol):
    """Asks the model of a role. Synchronous and callable from any thread. The engine supplies it, and schedules,
    journals, caches and retries the request like any other.
    """

    def __call__(self, role: str, request: Request) -> Response:
        """The answer, or a response that is an error.

        Raises:
            PlanError: if no model has that role in this run.
        """
        ...


@runtime_checkable
class TakesRefusals(Protocol):
    """A RoleClient that accepts the report that one of its answers is unusable."""

    def refuse(self, why: str) -> None:
        """Record that a verdict could not be used."""
        ...


@runtime_checkable
class TakesReadings(Protocol):
    """A RoleClient that keeps by which rule a verdict was read."""

    def note_reading(self, rule: str) -> None:
        """Record the rule by which a verdict was read, for the answer that this thread was given last."""
        ...


@runtime_checkable
class TakesScorers(Protocol):
    """A RoleClient that keeps what a score is measured with."""

    def note_scorer(self, by: str, instead_of: str) -> None:
        """Record what a score is measured with."""
        ...


def no_role_client(role: str, request: Request) -> Response:
    """The RoleClient outside of a run: no role has a model."""
    raise PlanError(f"No model has the role {role!r} here.", hint=f"Name one with --{role}.")
