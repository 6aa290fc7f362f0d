"""Copying a run's files to another place when it has ended (``--publish``).

Publishing does not affect the results of a run. If it fails, the failure is reported and the exit code is 1.
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
    """The place to which a run's files are copied when it has ended; none if it has no ``destination``."""

    destination: Destination | None

    @classmethod
    def to(cls, url: str) -> Publication:
        """Return the publication to a URL or folder; an empty URL means none.

        Raises:
            PlanError: if that place cannot be used.
        """
        return cls(Destination(url) if url else None)

    @property
    def url(self) -> str:
        """The URL, or the absolute path; empty: none."""
        return self.destination.url if self.destination is not None else ""

    def checking(self, check_plan: Callable[[Plan], None]) -> Callable[[Plan], None]:
        """Return a function that checks a plan and then the place.

        Args:
            check_plan: The check of the plan.
        """

        def check(plan: Plan) -> None:
            check_plan(plan)
            if self.destination is None:
                return
            output = None if plan.options.is_restart else plan.options.output
            self.destination.check(None if output is None else RunFolder(output))

        return check

    def of(self, result: RunResult) -> RunResult:
        """Publish a run that has ended, and return the result with the outcome."""
        if self.destination is None:
            return result
        try:
            self.destination.publish(result.folder)
        except PolymeterError as error:
            return replace(result, published=Published(self.url, str(error)))
        except KeyboardInterrupt:  # the user does not want to wait; the run is complete anyway
            return replace(result, published=Published(self.url, "It was interrupted."))
        return replace(result, published=Published(self.url))
