"""The functions that commands and Python users call: they run the engine and write its results and HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.api.agreement import agree
    from polymeter.api.comparing import Comparison, compare
    from polymeter.api.outlines import TaskOutline, outline_tasks
    from polymeter.api.records import SampleRecord
    from polymeter.api.rerunning import Rerun, rerun
    from polymeter.api.result import RunResult, open_run
    from polymeter.api.running import evaluate, resume
    from polymeter.api.scoring import score
    from polymeter.api.showing import failed_samples, find_sample, run_overview
    from polymeter.api.tasks import build_catalog, check_path, describe_task, flatten_task
    from polymeter.api.verifying import Verification, verify

_HOMES = {
    "polymeter.api.agreement": ("agree",),
    "polymeter.api.comparing": (
        "Comparison",
        "compare",
    ),
    "polymeter.api.outlines": (
        "TaskOutline",
        "outline_tasks",
    ),
    "polymeter.api.records": ("SampleRecord",),
    "polymeter.api.rerunning": (
        "Rerun",
        "rerun",
    ),
    "polymeter.api.result": (
        "RunResult",
        "open_run",
    ),
    "polymeter.api.running": (
        "evaluate",
        "resume",
    ),
    "polymeter.api.scoring": ("score",),
    "polymeter.api.showing": (
        "failed_samples",
        "find_sample",
        "run_overview",
    ),
    "polymeter.api.tasks": (
        "build_catalog",
        "check_path",
        "describe_task",
        "flatten_task",
    ),
    "polymeter.api.verifying": (
        "Verification",
        "verify",
    ),
}

__all__ = [
    "Comparison",
    "Rerun",
    "RunResult",
    "SampleRecord",
    "TaskOutline",
    "Verification",
    "agree",
    "build_catalog",
    "check_path",
    "compare",
    "describe_task",
    "evaluate",
    "failed_samples",
    "find_sample",
    "flatten_task",
    "open_run",
    "outline_tasks",
    "rerun",
    "resume",
    "run_overview",
    "score",
    "verify",
]

__getattr__ = from_homes(__name__, _HOMES)
