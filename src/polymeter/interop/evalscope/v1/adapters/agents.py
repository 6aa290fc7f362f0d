"""Adapters of agents: they are recognised, and refused, since Polymeter does not run EvalScope's loops."""

from __future__ import annotations

from typing import Any, ClassVar

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter


class AgentAdapter(DefaultDataAdapter):
    """A benchmark that leads the model through calls of tools.

    Attributes:
        is_refused: Whether it cannot be run.
        needs: What it leads the model through, for the message.

    Raises:
        PlanError: if it cannot be run.
    """

    is_refused: ClassVar[bool] = True
    needs: ClassVar[str] = "leads the model through calls of tools"

    def __init__(self, **kwargs: Any) -> None:
        if self.is_refused:
            name = kwargs["benchmark_meta"].name if kwargs.get("benchmark_meta") is not None else type(self).__name__
            raise PlanError(
                f"{name!r} is written for EvalScope 1.x's agents: it {self.needs}, and Polymeter does not run the "
                "loops of EvalScope's agents.",
                hint="Run it with EvalScope; 'polymeter tasks' lists the benchmarks that can be run here.",
            )
        super().__init__(**kwargs)


class AgentLoopAdapter(AgentAdapter):
    """A benchmark that lets the model call tools in an environment, step after step."""

    needs = "lets the model call tools in an environment, step after step"
    strategy_name: ClassVar[str] = "function_calling"
    command_timeout_default: ClassVar[float | None] = None
    max_steps_default: ClassVar[int] = 30


class BrowserGymAdapter(AgentLoopAdapter):
    """A benchmark that leads the model through a browser's session."""

    needs = "leads the model through a browser's session"
