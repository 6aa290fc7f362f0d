"""Polymeter measures multimodal models: any benchmark, any model, honest numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.api import (
        Comparison,
        RunResult,
        SampleRecord,
        agree,
        compare,
        evaluate,
        open_run,
        rerun,
        resume,
        score,
        verify,
    )
    from polymeter.core.errors import DataError, ModelError, PlanError, PolymeterError, ScoreError, StorageError
    from polymeter.core.metric import Aggregation, Metric
    from polymeter.core.model import AsyncModel, BatchModel, ModelSpec, ModelTraits
    from polymeter.core.options import RunOptions
    from polymeter.core.parts import Audio, Image, Text, Video
    from polymeter.core.registries import register_aggregation, register_metric, register_model
    from polymeter.core.request import Generate, GenerateImage, Loglikelihood, Message, Output, Request, Response, Usage

__version__ = "0.1.0"

_HOMES = {
    "polymeter.api": (
        "Comparison",
        "RunResult",
        "SampleRecord",
        "agree",
        "compare",
        "evaluate",
        "open_run",
        "rerun",
        "resume",
        "score",
        "verify",
    ),
    "polymeter.core.errors": ("DataError", "ModelError", "PlanError", "PolymeterError", "ScoreError", "StorageError"),
    "polymeter.core.metric": ("Aggregation", "Metric"),
    "polymeter.core.model": ("AsyncModel", "BatchModel", "ModelSpec", "ModelTraits"),
    "polymeter.core.options": ("RunOptions",),
    "polymeter.core.parts": ("Audio", "Image", "Text", "Video"),
    "polymeter.core.registries": ("register_aggregation", "register_metric", "register_model"),
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
}

__all__ = [
    "Aggregation",
    "AsyncModel",
    "Audio",
    "BatchModel",
    "Comparison",
    "DataError",
    "Generate",
    "GenerateImage",
    "Image",
    "Loglikelihood",
    "Message",
    "Metric",
    "ModelError",
    "ModelSpec",
    "ModelTraits",
    "Output",
    "PlanError",
    "PolymeterError",
    "Request",
    "Response",
    "RunOptions",
    "RunResult",
    "SampleRecord",
    "ScoreError",
    "StorageError",
    "Text",
    "Usage",
    "Video",
    "agree",
    "compare",
    "evaluate",
    "open_run",
    "register_aggregation",
    "register_metric",
    "register_model",
    "rerun",
    "resume",
    "score",
    "verify",
]


__getattr__ = from_homes(__name__, _HOMES)
