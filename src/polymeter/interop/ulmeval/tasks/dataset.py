"""The parts of an author's dataset class. Such classes have what their authors gave them and inherit the rest, from our
bases or from nothing; everything that only some of them have is read here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import guest_context
from polymeter.core.media.showing import Showing, read_showing
from polymeter.core.request import RequestKind
from polymeter.core.task import TaskSpec
from polymeter.guests.own_classes import definer, is_own_class
from polymeter.interop.ulmeval.tasks.loading import is_of_vlmeval
from polymeter.interop.ulmeval.tasks.videos import (
    VideoPrompts,
    modalities_of,
    own_rule,
    packed_rows,
    prompt_of_position,
)
from polymeter.tasks.table.base import BASES
from polymeter.tasks.table.dataset import Dataset, folders_of
from polymeter.tasks.table.instances import dataset_named, own_method, request_kind, usual_count
from polymeter.tasks.table.protocols import PROTOCOL, class_protocol
from polymeter.tasks.table.rows import table_of
from polymeter.tasks.table.turns import CONVERSATION

SHOWN = "SHOWN"
"""The attribute in which a class states what is shown of media."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The functions for scoring that a class defines.

    Attributes:
        by_sample: Whether it scores samples by themselves.
        by_file: Whether it evaluates a prediction file.
    """

    by_sample: bool
    by_file: bool


def scoring_of(cls: type) -> Scoring:
    """Return the functions for scoring that a class defines. Its own methods count before inherited ones: an
    ``evaluate`` that is nearer than ``evaluate_sample`` replaces it. Of the built-in classes, which have both, the
    samples' own scores are used.
    """
    sample, file = _author_of(cls, "evaluate_sample"), _author_of(cls, "evaluate")
    lineage = list(cls.__mro__)
    if sample is not None and file is not None:
        if lineage.index(file) < lineage.index(sample):
            sample = None
        elif is_own_class(file):
            file = None
    return Scoring(sample is not None, file is not None)


def dataset_of(spec: TaskSpec, instance: Any, scoring: Scoring, videos: VideoPrompts | None = None) -> Dataset:
    """The functions of an instance, and its rows.

    Args:
        spec: The benchmark.
        instance: The class's instance.
        scoring: What the class scores.
        videos: How videos are shown; ``None``: it is no benchmark over videos.

    Raises:
        DataError: if its ``data`` is not a table.
        PlanError: if its ``METRICS`` is of another form.
    """
    cls = type(instance)
    # ULMEvalKit's runner makes texts of the indices before it calls a class; VLMEvalKit's leaves them as they are.
    keeps_index = is_of_vlmeval(spec.file)
    settings = getattr(instance, "generation_settings", None)
    return Dataset(
        name=spec.name,
        class_name=cls.__name__,
        table=table_of(spec.name, _data_of(instance, videos), cls.__name__, keeps_index=keeps_index),
        build_prompt=partial(prompt_of_position, instance, videos) if videos else partial(_build_prompt, instance),
        dump_image=partial(_dump_image, instance),
        generation_settings=settings if callable(settings) else None,
        evaluate_sample=instance.evaluate_sample if scoring.by_sample else None,
        results=own_method(instance, "results"),
        cluster=own_method(instance, "cluster"),
        metrics=_metrics_of(instance),
        is_own=is_own_class(cls),
        is_thread_safe=_is_thread_safe(cls),
        showing=own_rule(instance, videos, _showing(spec, instance)) if videos else _showing(spec, instance),
        dataset_name=dataset_named(spec),
        is_conversation=is_conversation(spec, instance),
        media_folders=folders_of(instance),
        asks_by_position=videos is not None,
        modalities=modalities_of(instance, videos) if videos else None,
        is_scored_by_file=scoring.by_file,
    )


def _data_of(instance: Any, videos: VideoPrompts | None) -> Any:
    return packed_rows(instance) if videos is not None and videos.is_packed else getattr(instance, "data", None)


def kind_of(spec: TaskSpec, instance: Any) -> RequestKind:
    """Return the kind of output that an instance asks of a model, by its TYPE. Without a TYPE it is an image, unless
    its file was written for VLMEvalKit.

    Raises:
        PlanError: if it asks for something else than text and images.
    """
    kind = getattr(instance, "TYPE", None) or spec.config.get("TYPE")
    if not kind:
        return "generate" if is_of_vlmeval(spec.file) else "generate_image"
    return request_kind(kind, spec)


def is_conversation(spec: TaskSpec, instance: Any) -> bool:
    """Return whether the prompts of an instance are conversations, by its TYPE."""
    return str(getattr(instance, "TYPE", None) or spec.config.get("TYPE")) == CONVERSATION


def check_repeats(spec: TaskSpec, n: int | None) -> None:
    """Refuse several answers to each turn of a conversation, where only one can be continued.

    Raises:
        PlanError: if more than one is wanted.
    """
    if n is not None and n > 1:
        raise PlanError(
            f"Benchmark {spec.name!r} leads conversations, so num_generations={n} has no meaning for it.",
            where="num_generations",
            hint="Run it several times, with a seed each.",
        )


def image_count(name: str, instance: Any) -> int:
    """Return the number of images that an instance asks for with each prompt: the number of its class, else the usual
    one for its name.
    """
    if guest_context().parity.on("generations-by-name"):
        return usual_count(name)
    count = getattr(instance, "NUM_GENERATIONS", None)
    return count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else usual_count(name)


def with_protocol(spec: TaskSpec, instance: Any) -> TaskSpec:
    """Return the spec with all that an instance states of its protocol, values that its file computes included.

    Raises:
        PlanError: if it has an unknown key or a value of the wrong type, or a name that its file does not say.
    """
    protocol = class_protocol(instance, dataset_named(spec), str(spec.file))
    name, listed = ("" if one is None else one.name for one in (protocol, spec.protocol))
    if name != listed:
        raise PlanError(
            f"{type(instance).__name__} states the protocol {name!r} once it is loaded, and its file {listed!r}.",
            where=str(spec.file),
            hint=f"Write {PROTOCOL} = {{'name': '…'}} in the class: its name becomes part of the task's.",
        )
    return replace(spec, protocol=protocol)


def check_data_is_read(spec: TaskSpec, instance: Any, data: Mapping[str, str]) -> None:
    """Refuse a table that the run names and the class does not read.

    Raises:
        PlanError: if the class makes its data by other ways than ``load_data``.
    """
    if dataset_named(spec) in data and not getattr(instance, "data_path", ""):
        raise PlanError(
            f"{type(instance).__name__} reads its data by other ways than load_data, so --data {dataset_named(spec)}=… "
            "changes nothing.",
            where=str(spec.file),
            hint="Put the file where the class looks for it.",
        )


def _author_of(cls: type, name: str) -> type | None:
    """The class that defines a method; ``None`` where it is missing, or only a base class's reminder to write it."""
    owner = definer(cls, name)
    is_reminder = owner in BASES or (owner is not None and getattr(vars(owner)[name], "__isabstractmethod__", False))
    return None if is_reminder else owner


def _is_thread_safe(cls: type) -> bool:
    """Return whether a class states that its methods may run at the same time. A class that only inherits the statement
    has other code, so it does not count.
    """
    says = is_own_class(cls) or "is_thread_safe" in vars(cls)
    return says and bool(getattr(cls, "is_thread_safe", False))


def _build_prompt(instance: Any, line: Any) -> Any:
    return instance.build_prompt(line)  # looked up for each row: a class without one fails there, and not as a whole


def _dump_image(instance: Any, line: Any) -> Any:
    dump: Callable[[Any], Any] | None = getattr(instance, "dump_image", None)
    return dump(line) if callable(dump) else []


def _metrics_of(instance: Any) -> dict[str, bool]:
    """Return the content of ``METRICS``: whether higher is better, by metric.

    Raises:
        PlanError: if it is not a mapping of names to truth values, in a class that scores samples by themselves. In
            another it means something else.
    """
    metrics = getattr(instance, "METRICS", None) or {}
    if not isinstance(metrics, Mapping) and not hasattr(instance, "evaluate_sample"):
        return {}
    if not isinstance(metrics, Mapping) or not all(isinstance(value, bool) for value in metrics.values()):
        raise PlanError(
            f"METRICS of {type(instance).__name__} is {str(metrics)[:80]!r}.",
            hint="Write {'name of the metric': True} where higher is better, and False where lower is.",
        )
    return {str(name): value for name, value in metrics.items()}


def _showing(spec: TaskSpec, instance: Any) -> Showing:
    """Return what a class, or the arguments of its constructor, states in ``SHOWN`` to be shown of media. By its
    ``nframe`` and ``fps`` it makes images itself.

    Raises:
        PlanError: if it is no mapping of rules.
    """
    written = getattr(instance, SHOWN, None) or {}
    if not isinstance(written, Mapping):
        raise PlanError(
            f"{SHOWN} of {type(instance).__name__} is {str(written)[:80]!r}.",
            where=str(spec.file),
            hint='Write SHOWN = {"video": {"rule": "cut", "frames": 64}}.',
        )
    return read_showing(written, str(spec.file))
