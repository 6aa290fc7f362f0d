"""The points at which a system can add to this format what its YAML alone cannot say.

``task_yaml.class_task``, a ``ClassTask``: reads a YAML whose ``class`` names a Python class, and returns the parts that
the class's methods make. If that class constructs its own requests, ``Parts.compile_output`` takes the place of the
output type.

``task_yaml.code_needs``, a ``CodeNeeds``: finds packages that a task's code will only need while answers are scored.

A system attaches code to an extension point in ``System.extensions``; see ``core.systems``.
"""

from __future__ import annotations

from typing import Protocol, cast

from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.parity import Parity
from polymeter.core.systems import extension
from polymeter.core.task import TaskSpec
from polymeter.formats.task_yaml.config import TaskConfig
from polymeter.formats.task_yaml.parts import Locate, Parts

CLASS_TASK = "task_yaml.class_task"
CODE_NEEDS = "task_yaml.code_needs"


class ClassTask(Protocol):
    """From a YAML with ``class`` to the parts of its task."""

    def __call__(
        self, spec: TaskSpec, config: TaskConfig, context: OpenContext, prompt_key: str, locate: Locate, /
    ) -> Parts:
        """The parts of the task.

        Args:
            spec: The task; ``spec.config["class"]`` names its code.
            config: Its typed configuration, as this run wants it.
            context: The run's settings for opening it.
            prompt_key: The key of the model-specific blocks that apply.
            locate: Gives ``file:line`` of a field.

        Raises:
            PlanError: if the class cannot be instantiated, or lacks something that its output type needs.
            DataError: if its rows are missing or empty.
        """


class CodeNeeds(Protocol):
    """Checks what a task's code will only need while answers are scored, without running it."""

    def __call__(self, spec: TaskSpec, parity: Parity, /) -> None:
        """Check it.

        Raises:
            PlanError: if a package is missing.
        """


def check_code_needs(spec: TaskSpec, parity: Parity) -> None:
    """Check what a task's code will only need while answers are scored, as far as the systems know it.

    Raises:
        PlanError: if a package is missing.
    """
    check = extension(CODE_NEEDS)
    if check is not None:
        cast(CodeNeeds, check)(spec, parity)


def class_task(config: TaskConfig, locate: Locate) -> ClassTask:
    """The code that reads tasks with ``class``.

    Raises:
        PlanError: if no installed system has such code.
    """
    code = extension(CLASS_TASK)
    if code is None:
        raise PlanError(
            f"Task {config.task!r} is a Python class, which this installation cannot read.",
            where=locate("class"),
            hint="Install the system that its author wrote it for (lmms-eval's comes with Polymeter), or write the "
            "task with the fields of a YAML.",
        )
    return cast(ClassTask, code)
