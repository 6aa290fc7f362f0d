"""The points at which a system can add to this format what its YAML alone cannot say.

``task_yaml.class_task``, a ``ClassTask``: reads a YAML whose ``class`` names a Python class, and returns the parts that
the class's methods make. If that class constructs its own requests, ``Parts.compile_output`` takes the place of the
output type.

``task_yaml.code_needs``, a ``CodeNeeds``: finds packages that a task's code will only need while answers are scored.

``task_yaml.judge_use``, a ``FindJudgeUse``: finds where a task's scoring may ask a judge.

A system attaches code to an extension point in ``System.extensions``; see ``core.names.systems``.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol, cast

from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.names.parity import Parity
from polymeter.core.names.systems import extension
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import TaskSpec
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.pieces import Parts

CLASS_TASK = "task_yaml.class_task"
CODE_NEEDS = "task_yaml.code_needs"
JUDGE_USE = "task_yaml.judge_use"
_ROLE = "judge"


class ClassTask(Protocol):
    """From a YAML with ``class`` to the parts of its task."""

    def __call__(
        self, spec: TaskSpec, config: YamlFields, context: OpenContext, prompt_key: str, locate: Locate, /
    ) -> Parts:
        """Return the parts of the task.

        Args:
            spec: The task; ``spec.config["class"]`` names its code.
            config: Its typed configuration for this run.
            context: The run's settings for opening it.
            prompt_key: The key of the model-specific blocks that apply.
            locate: Gives ``file:line`` of a field.

        Raises:
            PlanError: if the class cannot be instantiated, or something that its output type needs is missing.
            DataError: if its rows are missing or empty.
        """


class CodeNeeds(Protocol):
    """Checks what a task's code will only need while answers are scored, without running it."""

    def __call__(self, spec: TaskSpec, parity: Parity, /) -> None:
        """Check it.

        Raises:
            PlanError: if a package is missing.
        """


class FindJudgeUse(Protocol):
    """Finds where a task's scoring may ask a judge, without running it."""

    def __call__(self, spec: TaskSpec, /) -> str:
        """``file:line``; empty if no code of it speaks to a judge."""


def judge_findings(spec: TaskSpec, roles: Collection[str]) -> tuple[LintFinding, ...]:
    """A finding about a task whose scoring may ask a judge, for a run that has none. It need not ask for every answer,
    so the run is not refused.
    """
    find = extension(JUDGE_USE)
    where = cast(FindJudgeUse, find)(spec) if find is not None and _ROLE not in roles else ""
    if not where:
        return ()
    text = (
        f"Its scoring may ask a judge ({Path(where).name}), but the run has none: samples that need a verdict will "
        "have no score."
    )
    hint = "Name one (--judge openai:NAME), or judge the answers later (polymeter score RUN --judge openai:NAME)."
    return (LintFinding("missing-judge", text, spec.name, hint=hint),)


def check_code_needs(spec: TaskSpec, parity: Parity) -> None:
    """Check what a task's code will only need while answers are scored, as far as the systems know it.

    Raises:
        PlanError: if a package is missing.
    """
    check = extension(CODE_NEEDS)
    if check is not None:
        cast(CodeNeeds, check)(spec, parity)


def class_task(config: YamlFields, locate: Locate) -> ClassTask:
    """The code that reads tasks with ``class``.

    Raises:
        PlanError: if no installed system has such code.
    """
    code = extension(CLASS_TASK)
    if code is None:
        raise PlanError(
            f"Task {config.task!r} is a Python class, which this installation cannot read.",
            where=locate("class"),
            hint="Install the system that its author wrote it for, or write the task with the fields of a YAML.",
        )
    return cast(ClassTask, code)
