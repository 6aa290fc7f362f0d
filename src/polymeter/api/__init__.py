"""The functions that commands and Python users call: they run the engine and write its results and HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.api.agreement import agree
    from polymeter.api.comparison.comparing import Comparison, compare
    from polymeter.api.exporting import Exported, export
    from polymeter.api.importing.importing import import_log
    from polymeter.api.leaderboards.board import Leaderboard, leaderboard
    from polymeter.api.outlines import TaskOutline, outline_tasks
    from polymeter.api.power_analysis import PowerAnalysis, power
    from polymeter.api.preferences.judging import Pairwise, pairwise
    from polymeter.api.records import SampleRecord
    from polymeter.api.rerunning import Rerun, rerun
    from polymeter.api.result import Published, RunResult, open_run
    from polymeter.api.running import evaluate, resume
    from polymeter.api.scoring import score
    from polymeter.api.showing import failed_samples, find_sample, run_overview
    from polymeter.api.tasks import build_catalog, check_path, describe_task, flatten_task
    from polymeter.api.trackers import Logged, log_run
    from polymeter.api.tracking.curve import Curve
    from polymeter.api.tracking.tracking import track
    from polymeter.api.tracking.trainer_callback import TrackCallback
    from polymeter.api.verifying import Verification, verify

_HOMES = {
    "polymeter.api.agreement": ("agree",),
    "polymeter.api.comparison.comparing": ("Comparison", "compare"),
    "polymeter.api.exporting": ("Exported", "export"),
    "polymeter.api.importing.importing": ("import_log",),
    "polymeter.api.leaderboards.board": ("Leaderboard", "leaderboard"),
    "polymeter.api.outlines": ("TaskOutline", "outline_tasks"),
    "polymeter.api.power_analysis": ("PowerAnalysis", "power"),
    "polymeter.api.preferences.judging": ("Pairwise", "pairwise"),
    "polymeter.api.records": ("SampleRecord",),
    "polymeter.api.rerunning": ("Rerun", "rerun"),
    "polymeter.api.result": ("Published", "RunResult", "open_run"),
    "polymeter.api.running": ("evaluate", "resume"),
    "polymeter.api.scoring": ("score",),
    "polymeter.api.showing": ("failed_samples", "find_sample", "run_overview"),
    "polymeter.api.tasks": ("build_catalog", "check_path", "describe_task", "flatten_task"),
    "polymeter.api.trackers": ("Logged", "log_run"),
    "polymeter.api.tracking.curve": ("Curve",),
    "polymeter.api.tracking.tracking": ("track",),
    "polymeter.api.tracking.trainer_callback": ("TrackCallback",),
    "polymeter.api.verifying": ("Verification", "verify"),
}

__all__ = [
    "Comparison",
    "Curve",
    "Exported",
    "Leaderboard",
    "Logged",
    "Pairwise",
    "PowerAnalysis",
    "Published",
    "Rerun",
    "RunResult",
    "SampleRecord",
    "TaskOutline",
    "TrackCallback",
    "Verification",
    "agree",
    "build_catalog",
    "check_path",
    "compare",
    "describe_task",
    "evaluate",
    "export",
    "failed_samples",
    "find_sample",
    "flatten_task",
    "import_log",
    "leaderboard",
    "log_run",
    "open_run",
    "outline_tasks",
    "pairwise",
    "power",
    "rerun",
    "resume",
    "run_overview",
    "score",
    "track",
    "verify",
]

__getattr__ = from_homes(__name__, _HOMES)
