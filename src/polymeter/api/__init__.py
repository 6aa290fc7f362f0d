"""The functions that commands and Python users call: they run the engine and write its results and HTML report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.names.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.analysis.ablation.ablating import AblationReport, ablate
    from polymeter.analysis.agreement import agree
    from polymeter.analysis.comparison.comparing import Comparison, compare
    from polymeter.analysis.cost.asking import estimate_cost
    from polymeter.analysis.cost.estimate import CostEstimate
    from polymeter.analysis.leaderboards.board import Leaderboard, leaderboard
    from polymeter.analysis.power_analysis import PowerAnalysis, power
    from polymeter.analysis.preferences.judging import Pairwise, pairwise
    from polymeter.analysis.showing import failed_samples, find_sample, run_overview
    from polymeter.analysis.tracking.curve import Curve
    from polymeter.analysis.tracking.tracking import track
    from polymeter.analysis.tracking.trainer_callback import TrackCallback
    from polymeter.api.records import SampleRecord
    from polymeter.api.rerunning import Rerun, rerun
    from polymeter.api.result import Published, RunResult, open_run
    from polymeter.api.running import evaluate, resume
    from polymeter.api.scoring import score
    from polymeter.api.verifying import Verification, verify
    from polymeter.catalog.listing import build_catalog, check_path, describe_task, flatten_task, named_tasks
    from polymeter.catalog.outlines import TaskOutline, outline_tasks
    from polymeter.exchange.exporting import Exported, export
    from polymeter.exchange.importing.importing import import_log
    from polymeter.exchange.sending import Logged, log_run

_HOMES = {
    "polymeter.analysis.ablation.ablating": ("AblationReport", "ablate"),
    "polymeter.analysis.agreement": ("agree",),
    "polymeter.analysis.comparison.comparing": ("Comparison", "compare"),
    "polymeter.exchange.exporting": ("Exported", "export"),
    "polymeter.exchange.importing.importing": ("import_log",),
    "polymeter.analysis.leaderboards.board": ("Leaderboard", "leaderboard"),
    "polymeter.catalog.outlines": ("TaskOutline", "outline_tasks"),
    "polymeter.analysis.power_analysis": ("PowerAnalysis", "power"),
    "polymeter.analysis.preferences.judging": ("Pairwise", "pairwise"),
    "polymeter.analysis.cost.estimate": ("CostEstimate",),
    "polymeter.analysis.cost.asking": ("estimate_cost",),
    "polymeter.api.records": ("SampleRecord",),
    "polymeter.api.rerunning": ("Rerun", "rerun"),
    "polymeter.api.result": ("Published", "RunResult", "open_run"),
    "polymeter.api.running": ("evaluate", "resume"),
    "polymeter.api.scoring": ("score",),
    "polymeter.analysis.showing": ("failed_samples", "find_sample", "run_overview"),
    "polymeter.catalog.listing": ("build_catalog", "check_path", "describe_task", "flatten_task", "named_tasks"),
    "polymeter.exchange.sending": ("Logged", "log_run"),
    "polymeter.analysis.tracking.curve": ("Curve",),
    "polymeter.analysis.tracking.tracking": ("track",),
    "polymeter.analysis.tracking.trainer_callback": ("TrackCallback",),
    "polymeter.api.verifying": ("Verification", "verify"),
}

__all__ = [
    "AblationReport",
    "Comparison",
    "CostEstimate",
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
    "ablate",
    "agree",
    "build_catalog",
    "check_path",
    "compare",
    "describe_task",
    "estimate_cost",
    "evaluate",
    "export",
    "failed_samples",
    "find_sample",
    "flatten_task",
    "import_log",
    "leaderboard",
    "log_run",
    "named_tasks",
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
