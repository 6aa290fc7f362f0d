"""Polymeter measures multimodal models: any benchmark, any model, honest numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.names.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.api import (
        Comparison,
        Curve,
        Exported,
        Leaderboard,
        Logged,
        Pairwise,
        PowerAnalysis,
        Published,
        RunResult,
        SampleRecord,
        TrackCallback,
        agree,
        compare,
        evaluate,
        export,
        import_log,
        leaderboard,
        log_run,
        open_run,
        pairwise,
        power,
        rerun,
        resume,
        score,
        track,
        verify,
    )
    from polymeter.core.acting.tools import Call, Tool
    from polymeter.core.content import Audio, Image, Text, Video
    from polymeter.core.errors import (
        DataError,
        ModelError,
        PlanError,
        PolymeterError,
        ScoreError,
        StorageError,
        TrackerError,
    )
    from polymeter.core.metric import Aggregation, Metric
    from polymeter.core.model import AsyncModel, BatchModel, ModelSpec, ModelTraits
    from polymeter.core.names.registries import register_aggregation, register_metric, register_model
    from polymeter.core.options import RunOptions
    from polymeter.core.records.usage import ModelUsage
    from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Output, Request, Response, Usage
    from polymeter.tasks.python.writing.records import Prompt, PythonTask, Rounds, Row, task
    from polymeter.tasks.python.writing.scorers import Scored, Scorer, scorer

__version__ = "0.1.0"

_HOMES = {
    "polymeter.api": (
        "Comparison",
        "Exported",
        "Leaderboard",
        "Curve",
        "Logged",
        "Pairwise",
        "PowerAnalysis",
        "Published",
        "RunResult",
        "SampleRecord",
        "TrackCallback",
        "agree",
        "compare",
        "evaluate",
        "import_log",
        "export",
        "leaderboard",
        "log_run",
        "open_run",
        "pairwise",
        "power",
        "rerun",
        "resume",
        "score",
        "track",
        "verify",
    ),
    "polymeter.core.acting.tools": ("Call", "Tool"),
    "polymeter.core.errors": (
        "DataError",
        "ModelError",
        "PlanError",
        "PolymeterError",
        "ScoreError",
        "StorageError",
        "TrackerError",
    ),
    "polymeter.core.metric": ("Aggregation", "Metric"),
    "polymeter.core.model": ("AsyncModel", "BatchModel", "ModelSpec", "ModelTraits"),
    "polymeter.core.options": ("RunOptions",),
    "polymeter.core.content": ("Audio", "Image", "Text", "Video"),
    "polymeter.core.names.registries": ("register_aggregation", "register_metric", "register_model"),
    "polymeter.core.request": (
        "Generate",
        "GenerateImage",
        "Loglikelihood",
        "Message",
        "Output",
        "Request",
        "Response",
        "Usage",
    ),
    "polymeter.core.records.usage": ("ModelUsage",),
    "polymeter.tasks.python.writing.records": ("Prompt", "PythonTask", "Rounds", "Row", "task"),
    "polymeter.tasks.python.writing.scorers": ("Scored", "Scorer", "scorer"),
}

__all__ = [
    "Aggregation",
    "AsyncModel",
    "Audio",
    "BatchModel",
    "Call",
    "Comparison",
    "Curve",
    "DataError",
    "Exported",
    "Generate",
    "GenerateImage",
    "Image",
    "Leaderboard",
    "Logged",
    "Loglikelihood",
    "Message",
    "Metric",
    "ModelError",
    "ModelSpec",
    "ModelTraits",
    "ModelUsage",
    "Output",
    "Pairwise",
    "PlanError",
    "PolymeterError",
    "PowerAnalysis",
    "Prompt",
    "Published",
    "PythonTask",
    "Request",
    "Response",
    "Rounds",
    "Row",
    "RunOptions",
    "RunResult",
    "SampleRecord",
    "ScoreError",
    "Scored",
    "Scorer",
    "StorageError",
    "Text",
    "Tool",
    "TrackCallback",
    "TrackerError",
    "Usage",
    "Video",
    "agree",
    "compare",
    "evaluate",
    "export",
    "import_log",
    "leaderboard",
    "log_run",
    "open_run",
    "pairwise",
    "power",
    "register_aggregation",
    "register_metric",
    "register_model",
    "rerun",
    "resume",
    "score",
    "scorer",
    "task",
    "track",
    "verify",
]


__getattr__ = from_homes(__name__, _HOMES)
