"""The public extension API: the names that code which extends Polymeter builds on.

Benchmark formats, systems, models, metrics and detectors of other packages import their names from here, and so does
everything in ``polymeter.library``. These names stay; the modules behind them may move. A name is imported when it is
first used, so importing this module is fast.

Errors
    ``PolymeterError`` and its kinds ``PlanError``, ``DataError``, ``ModelError`` (with ``ErrorKind``), ``ScoreError``
    and ``UnscoredError``; ``boundary``, which turns the exceptions of an author's code into one of them;
    ``did_you_mean`` and ``missing_package`` for helpful messages.
Messages
    The parts ``Text``, ``Image``, ``Audio`` and ``Video`` (together ``Part``, without text ``Media``; ``Modality``
    names their kinds), and ``Message``. ``Showing`` holds what is shown of media: ``VideoRule``, ``ImageRule``,
    ``AudioRule``. A model shows media by ``shown_image``, ``shown_video`` and ``shown_audio``, which follow these rules
    and record what was shown.
Requests
    ``Request`` with one of ``Generate``, ``Loglikelihood`` and ``GenerateImage`` (together ``Parameters``;
    ``RequestKind`` names them), its ``Origin``; ``Response`` with ``Output``, ``ChoiceLogprob`` and ``Usage``, or an
    ``Error``. ``text_parameters`` and ``image_parameters`` read written settings and return parameters and
    the number of repeats; ``repeats_of`` makes that many requests of one, and ``group_repeats`` finds the repeats in a
    batch.
Tools
    ``Generate.tools`` holds ``Tool`` records, ``Output.calls`` the model's ``Call`` records, which ``read_call`` reads;
    ``check_tools`` checks tools, and ``argument_problem`` a call by its tool's schema. A rollout yields an ``Act``,
    which begins with an ``EpisodeScene``; an environment answers it with an ``Observation``.
Models
    ``BatchModel`` with its hint ``ALL_READY``, ``AsyncModel``, either of them as ``Model``; ``ModelTraits``,
    ``ModelSpec``; ``weights_place``, the local folder that a run puts in place of a model id.
Tasks
    ``Task``, ``TaskSpec``, ``GroupSpec``, ``Needs``; ``Sample``, ``Samples`` and the base ``SampleView``;
    ``RolloutSteps``, ``Rollout``, ``RowFunctions``; ``Score`` with ``MetricKey``; ``ScoredRow`` with ``SampleStatus``,
    ``ReduceContext``, ``Result``; ``MetricPlan`` and ``reduce_rows``, the default reduction.
Judges
    ``RoleClient`` sends requests to the model of a role: ``current_role_client`` returns the one of the sample that is
    being scored, ``has_role`` returns whether the run has such a model, and ``refuse_verdict`` reports that its answer
    is not a verdict. ``reply_of`` returns the text of its answer, and ``spoken`` that text without reasoning.
Formats
    ``Format`` with its ``PageKeys``, ``Outline``, ``Loaded``, ``OpenContext``; ``Catalog``, ``Entry``, ``Problem``,
    ``Root``. ``Dialect`` holds the differences of a family of task YAML: ``OWN_DIALECT`` is ours, ``YamlReader`` reads
    files, and ``dialect_format`` makes a format of a dialect.
Systems
    ``System``, ``Target`` and ``Starter``. A package names its ``System`` in the entry point group
    ``polymeter.interop``.
Metrics
    ``Metric``, ``Aggregation`` with ``Uncertainty``; the registries ``METRICS`` and ``AGGREGATIONS``, whose method
    ``.get(name)`` finds an entry.
Reading
    ``read_choice`` reads which option an answer chooses, by letter or by text.
Detectors
    ``Detector``, ``Detection``, ``Box``; ``as_rgb`` reads an image, ``unknown_names`` compares names of classes;
    ``COLOUR_NAMES``, ``colour_name`` and ``lab`` for colours.
Trackers
    ``Tracker`` is sent a ``TrackedRun`` with its ``TrackedNumber`` and ``TrackedSample`` records; ``sample_limit``
    reads the limit of samples, and ``flat`` makes nested settings one level.
Registration
    ``register_model``, ``register_metric``, ``register_aggregation``, ``register_detector``,
    ``register_tracker``.
Identity
    ``fingerprint`` of plain data, ``source_hash`` of files, ``seed_for`` a sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.core.names.lazy import from_homes

if TYPE_CHECKING:
    from polymeter.core.acting.episodes import Act, EpisodeScene, Observation
    from polymeter.core.acting.schemas import argument_problem, check_tools
    from polymeter.core.acting.tools import Call, Tool, read_call
    from polymeter.core.content import Audio, Image, Media, Modality, Part, Text, Video
    from polymeter.core.errors import (
        DataError,
        ErrorKind,
        ModelError,
        PlanError,
        PolymeterError,
        Problem,
        ScoreError,
        UnscoredError,
        boundary,
        did_you_mean,
    )
    from polymeter.core.format import Format, Loaded, OpenContext, Outline, PageKeys
    from polymeter.core.guest_context import current_role_client, has_role, refuse_verdict, weights_place
    from polymeter.core.identity import fingerprint, seed_for, source_hash
    from polymeter.core.media.detection import Box, Detection, Detector
    from polymeter.core.media.showing import AudioRule, ImageRule, Showing, VideoRule
    from polymeter.core.metric import Aggregation, Metric, Uncertainty
    from polymeter.core.model import ALL_READY, AsyncModel, BatchModel, Model, ModelSpec, ModelTraits
    from polymeter.core.names.catalog import Catalog, Entry, Root
    from polymeter.core.names.registries import (
        AGGREGATIONS,
        METRICS,
        register_aggregation,
        register_detector,
        register_metric,
        register_model,
        register_tracker,
    )
    from polymeter.core.names.registry import Target, missing_package
    from polymeter.core.names.systems import Starter, System
    from polymeter.core.records.tracker import TrackedNumber, TrackedRun, TrackedSample, Tracker, flat, sample_limit
    from polymeter.core.request import (
        ChoiceLogprob,
        Error,
        Generate,
        GenerateImage,
        Loglikelihood,
        Message,
        Origin,
        Output,
        Parameters,
        Request,
        RequestKind,
        Response,
        Usage,
    )
    from polymeter.core.role_client import RoleClient
    from polymeter.core.rows import RowFunctions
    from polymeter.core.settings.generation import image_parameters, text_parameters
    from polymeter.core.settings.needs import Needs
    from polymeter.core.settings.repeats import group_repeats, repeats_of
    from polymeter.core.task import (
        GroupSpec,
        MetricKey,
        ReduceContext,
        Result,
        Rollout,
        RolloutSteps,
        Sample,
        Samples,
        SampleStatus,
        SampleView,
        Score,
        ScoredRow,
        Task,
        TaskSpec,
    )
    from polymeter.data.showing import shown_audio, shown_image, shown_video
    from polymeter.judge.reply import reply_of, spoken
    from polymeter.metrics.colours import COLOUR_NAMES, colour_name, lab
    from polymeter.metrics.composition import unknown_names
    from polymeter.metrics.image import as_rgb
    from polymeter.reading.choices import read_choice
    from polymeter.stats.reduction import MetricPlan, reduce_rows
    from polymeter.tasks.yaml.files.dialects import Dialect
    from polymeter.tasks.yaml.files.reader import YamlReader
    from polymeter.tasks.yaml.own import OWN_DIALECT, dialect_format

_HOMES = {
    "polymeter.core.acting.episodes": ("Act", "EpisodeScene", "Observation"),
    "polymeter.core.acting.schemas": ("argument_problem", "check_tools"),
    "polymeter.core.acting.tools": ("Call", "Tool", "read_call"),
    "polymeter.core.content": (
        "Audio",
        "Image",
        "Media",
        "Modality",
        "Part",
        "Text",
        "Video",
    ),
    "polymeter.core.errors": (
        "DataError",
        "ErrorKind",
        "ModelError",
        "PlanError",
        "PolymeterError",
        "Problem",
        "ScoreError",
        "UnscoredError",
        "boundary",
        "did_you_mean",
    ),
    "polymeter.core.format": (
        "Format",
        "Loaded",
        "OpenContext",
        "Outline",
        "PageKeys",
    ),
    "polymeter.core.guest_context": ("current_role_client", "has_role", "refuse_verdict", "weights_place"),
    "polymeter.core.identity": (
        "fingerprint",
        "seed_for",
        "source_hash",
    ),
    "polymeter.core.media.detection": (
        "Box",
        "Detection",
        "Detector",
    ),
    "polymeter.core.media.showing": ("AudioRule", "ImageRule", "Showing", "VideoRule"),
    "polymeter.core.metric": (
        "Aggregation",
        "Metric",
        "Uncertainty",
    ),
    "polymeter.core.model": (
        "ALL_READY",
        "AsyncModel",
        "BatchModel",
        "Model",
        "ModelSpec",
        "ModelTraits",
    ),
    "polymeter.core.names.catalog": (
        "Catalog",
        "Entry",
        "Root",
    ),
    "polymeter.core.names.registries": (
        "AGGREGATIONS",
        "METRICS",
        "register_aggregation",
        "register_detector",
        "register_metric",
        "register_model",
        "register_tracker",
    ),
    "polymeter.core.names.registry": (
        "Target",
        "missing_package",
    ),
    "polymeter.core.names.systems": ("Starter", "System"),
    "polymeter.core.records.tracker": (
        "TrackedNumber",
        "TrackedRun",
        "TrackedSample",
        "Tracker",
        "flat",
        "sample_limit",
    ),
    "polymeter.core.request": (
        "ChoiceLogprob",
        "Error",
        "Generate",
        "GenerateImage",
        "Loglikelihood",
        "Message",
        "Origin",
        "Output",
        "Parameters",
        "Request",
        "RequestKind",
        "Response",
        "Usage",
    ),
    "polymeter.core.role_client": ("RoleClient",),
    "polymeter.core.rows": ("RowFunctions",),
    "polymeter.core.settings.generation": (
        "image_parameters",
        "text_parameters",
    ),
    "polymeter.core.settings.needs": ("Needs",),
    "polymeter.core.settings.repeats": (
        "group_repeats",
        "repeats_of",
    ),
    "polymeter.core.task": (
        "GroupSpec",
        "MetricKey",
        "ReduceContext",
        "Result",
        "Rollout",
        "RolloutSteps",
        "Sample",
        "Samples",
        "SampleStatus",
        "SampleView",
        "Score",
        "ScoredRow",
        "Task",
        "TaskSpec",
    ),
    "polymeter.data.showing": ("shown_audio", "shown_image", "shown_video"),
    "polymeter.judge.reply": ("reply_of", "spoken"),
    "polymeter.metrics.colours": (
        "COLOUR_NAMES",
        "colour_name",
        "lab",
    ),
    "polymeter.metrics.composition": ("unknown_names",),
    "polymeter.metrics.image": ("as_rgb",),
    "polymeter.reading.choices": ("read_choice",),
    "polymeter.stats.reduction": (
        "MetricPlan",
        "reduce_rows",
    ),
    "polymeter.tasks.yaml.files.dialects": ("Dialect",),
    "polymeter.tasks.yaml.files.reader": ("YamlReader",),
    "polymeter.tasks.yaml.own": ("OWN_DIALECT", "dialect_format"),
}

__all__ = [
    "AGGREGATIONS",
    "ALL_READY",
    "COLOUR_NAMES",
    "METRICS",
    "OWN_DIALECT",
    "Act",
    "Aggregation",
    "AsyncModel",
    "Audio",
    "AudioRule",
    "BatchModel",
    "Box",
    "Call",
    "Catalog",
    "ChoiceLogprob",
    "DataError",
    "Detection",
    "Detector",
    "Dialect",
    "Entry",
    "EpisodeScene",
    "Error",
    "ErrorKind",
    "Format",
    "Generate",
    "GenerateImage",
    "GroupSpec",
    "Image",
    "ImageRule",
    "Loaded",
    "Loglikelihood",
    "Media",
    "Message",
    "Metric",
    "MetricKey",
    "MetricPlan",
    "Modality",
    "Model",
    "ModelError",
    "ModelSpec",
    "ModelTraits",
    "Needs",
    "Observation",
    "OpenContext",
    "Origin",
    "Outline",
    "Output",
    "PageKeys",
    "Parameters",
    "Part",
    "PlanError",
    "PolymeterError",
    "Problem",
    "ReduceContext",
    "Request",
    "RequestKind",
    "Response",
    "Result",
    "RoleClient",
    "Rollout",
    "RolloutSteps",
    "Root",
    "RowFunctions",
    "Sample",
    "SampleStatus",
    "SampleView",
    "Samples",
    "Score",
    "ScoreError",
    "ScoredRow",
    "Showing",
    "Starter",
    "System",
    "Target",
    "Task",
    "TaskSpec",
    "Text",
    "Tool",
    "TrackedNumber",
    "TrackedRun",
    "TrackedSample",
    "Tracker",
    "Uncertainty",
    "UnscoredError",
    "Usage",
    "Video",
    "VideoRule",
    "YamlReader",
    "argument_problem",
    "as_rgb",
    "boundary",
    "check_tools",
    "colour_name",
    "current_role_client",
    "dialect_format",
    "did_you_mean",
    "fingerprint",
    "flat",
    "group_repeats",
    "has_role",
    "image_parameters",
    "lab",
    "missing_package",
    "read_call",
    "read_choice",
    "reduce_rows",
    "refuse_verdict",
    "register_aggregation",
    "register_detector",
    "register_metric",
    "register_model",
    "register_tracker",
    "repeats_of",
    "reply_of",
    "sample_limit",
    "seed_for",
    "shown_audio",
    "shown_image",
    "shown_video",
    "source_hash",
    "spoken",
    "text_parameters",
    "unknown_names",
    "weights_place",
]


__getattr__ = from_homes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
