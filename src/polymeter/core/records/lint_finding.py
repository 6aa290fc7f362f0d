"""Findings: what a user should know about tasks, models and settings before the first request.

Formats leave findings in the tasks that they compile, and planning adds those about prompts, models and settings.
``run``, ``check`` and ``evaluate`` show the same ones.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["warning", "note"]
"""``warning``: the results probably mean less than they seem, and ``--strict`` refuses the run; ``note``: nothing has
to be fixed."""

NO_MEDIUM_SHOWN = "no-medium-shown"
"""The id of the finding that rows have media and no prompt shows any, which formats and planning both look for."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """Something remarkable that shows before the first request.

    Attributes:
        id: Stable name of its kind, such as ``no-medium-shown``.
        text: What is remarkable and what follows from it, in sentences.
        task: The task that it is about; empty: the whole run.
        place: ``file:line``, or an option; empty: none.
        hint: What to do about it; empty: nothing.
        severity: Whether it is a warning or a note.
    """

    id: str
    text: str
    task: str = ""
    place: str = ""
    hint: str = ""
    severity: Severity = "warning"

    @property
    def is_warning(self) -> bool:
        """True if ``--strict`` refuses a run that has it."""
        return self.severity == "warning"

    @property
    def message(self) -> str:
        """The text with place and hint, without the task."""
        place = f" [{self.place}]" if self.place else ""
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.text}{place}{hint}"

    def __str__(self) -> str:
        return f"Task {self.task!r}: {self.message}" if self.task else self.message

    def as_data(self) -> dict[str, Any]:
        """The finding as plain data."""
        return asdict(self)
