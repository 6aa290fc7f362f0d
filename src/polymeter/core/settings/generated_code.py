"""Code that a model wrote runs only if the user has asked for it by name; everything that would run it asks here.

A ``TaskSpec`` states that its scoring runs such code (``runs_generated_code``), and planning refuses it without the
flag. The decision belongs to the user of this moment: a run folder that is continued or scored again cannot make it.
"""

from __future__ import annotations

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import guest_context

ALLOW = "--allow-generated-code"
"""The flag with which a user allows it; ``allows_generated_code`` in Python."""


def refuse_generated_code(task: str, where: str = "") -> PlanError:
    """The error about a task that runs what the model writes, in a run that does not allow it.

    Args:
        task: The task's name.
        where: Where it says so.
    """
    return PlanError(
        f"Task {task!r} runs the code that the model writes, and this run does not allow it.",
        where=where,
        hint=f"{ALLOW} allows it: each program runs in a process of its own, with limits, and without network and your "
        "files if this system can isolate it.",
    )


def require_generated_code() -> None:
    """Refuse to run generated code in a run that does not allow it.

    Raises:
        PlanError: if it does not.
    """
    if not guest_context().allows_generated_code:
        raise PlanError(
            "The scoring runs code that a model wrote, and this run does not allow it.", hint=f"See {ALLOW}."
        )
