"""Copying a run's files to another place when it has ended (``--publish``).

It belongs to a run's ending and not to its numbers: what the place refuses is told, makes the exit code 1, and leaves
the run as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from polymeter.api.result import Published, RunResult
from polymeter.core.errors import PolymeterError
from polymeter.run.plan.plan import Plan
from polymeter.store.exports.publishing import Destination
from polymeter.store.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Publication:
    """Where a run's files go when it has ended; nowhere if it has no ``destination``."""

    destination: Destination | None

    @classmethod
    def to(cls, url: str) -> Publication:
        """The publication to a URL or folder; empty: none.

        Raises:
            PlanError: if nothing can be published there.
        """
        return cls(Destination(url) if url else None)

    @property
    def url(self) -> str:
        """The URL, or the absolute path; empty: none."""
        return self.destination.url if self.destination is not None else ""

    def checking(self, check_plan: Callable[[Plan], None]) -> Callable[[Plan], None]:
        """A check of a plan, followed by that of the place.

        Args:
            check_plan: What else the plan is checked for.
        """

        def check(plan: Plan) -> None:
            check_plan(plan)
            if self.destination is None:
                return
            output = None if plan.options.is_restart else plan.options.output
            self.destination.check(None if output is None else RunFolder(output))

        return check

    def of(self, result: RunResult) -> RunResult:
        """Publish a run that has ended; the result says what became of it."""
        if self.destination is None:
            return result
        try:
            self.destination.publish(result.folder)
        except PolymeterError as error:
            return replace(result, published=Published(self.url, str(error)))
        except KeyboardInterrupt:  # somebody does not want to wait for it; the run is as it is all the same
            return replace(result, published=Published(self.url, "It was interrupted."))
        return replace(result, published=Published(self.url))
