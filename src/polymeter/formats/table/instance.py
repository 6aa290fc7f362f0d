"""The instance of a dataset class: made once for a run, with the data that the run names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import DataError, PlanError
from polymeter.core.format import OpenContext
from polymeter.core.request import RequestKind
from polymeter.core.task import TaskSpec
from polymeter.formats.table.options import TsvRunOptions
from polymeter.formats.table.roots import data_places
from polymeter.formats.table.scoring import built_in
from polymeter.guests import contained, seeded
from polymeter.guests.authors import authors_code
from polymeter.guests.imports import GUEST_LOCK
from polymeter.interop.ulmeval.tasks.constructors import check_arguments
from polymeter.interop.ulmeval.tasks.guest import is_of_vlm_kit, load_class
from polymeter.interop.ulmeval.tasks.live import note_open

_MAKES_IMAGES = re.compile(r"2I(?![A-Z])|2IMAGE", re.IGNORECASE)
_MAKES_OTHERS = re.compile(r"2(?:V|A|M|S|3D|VIDEO|AUDIO)(?![A-Z])", re.IGNORECASE)
_UPSTREAM_COUNTS: Mapping[str, int] = {"GenEval": 4, "DPGBench": 4}
_UPSTREAM_COMPOSITION = "T2ICompBench"
_COMPOSITION_COUNT = 10


def make_instance(spec: TaskSpec, told: TsvRunOptions, context: OpenContext) -> Any:
    """The dataset, its data loaded. Runs its authors' code.

    Raises:
        PlanError: Its file cannot be loaded, or a package is missing.
        DataError: Its data cannot be had or read.
    """
    found = load_class(spec)
    check_arguments(found, told.arguments)
    with (
        GUEST_LOCK,
        contained(),
        seeded(context.seed),
        data_places(_places(spec, context), beside=spec.file.parent),
        authors_code(DataError, f"Loading the data of benchmark {spec.name!r}"),
    ):
        dataset: Any = found(dataset=spec.name, **told.arguments)
    _check_used(spec, dataset, context)
    if told.circular and (expand := built_in(dataset, "expand")) is not None:
        dataset.data = expand(dataset.data)
    if told.detector:
        dataset.detector = told.detector
        if not told.predict_only and (check := built_in(dataset, "check_scoring")) is not None:
            check()
    note_open(spec.name, dataset)
    return dataset


def ask_of(spec: TaskSpec, dataset: Any) -> RequestKind:
    """What a dataset asks of a model, by its TYPE: an image, or text. Without a TYPE it is an image, unless its file
    was written for VLMEvalKit.

    Raises:
        PlanError: It asks for something else.
    """
    kind = getattr(dataset, "TYPE", None) or spec.config.get("TYPE")
    if not kind:
        return "generate" if spec.file.suffix == ".py" and is_of_vlm_kit(spec.file) else "generate_image"
    if _MAKES_IMAGES.search(str(kind)):
        return "generate_image"
    if _MAKES_OTHERS.search(str(kind)):
        raise PlanError(
            f"Benchmark {spec.name!r} is of the type {kind!r}, whose answers are neither text nor images.",
            where=str(spec.file),
            hint="Polymeter asks for text and for images.",
        )
    return "generate"


def count_of(name: str, dataset: Any) -> int:
    """How many images a dataset wants for each prompt: what its class says, else what is usual for its name."""
    told = getattr(dataset, "NUM_GENERATIONS", None)
    if isinstance(told, int) and not isinstance(told, bool) and told > 0:
        return told
    return _COMPOSITION_COUNT if name.startswith(_UPSTREAM_COMPOSITION) else _UPSTREAM_COUNTS.get(name, 1)


def _places(spec: TaskSpec, context: OpenContext) -> dict[str, str]:
    """Tables that are used in place of those of datasets: what the run names, and a benchmark without code's own."""
    own = {spec.name: str(spec.file)} if spec.file.suffix == ".tsv" else {}
    return {**own, **context.data}


def _check_used(spec: TaskSpec, dataset: Any, context: OpenContext) -> None:
    """Refuse a table that the run names and the class does not read.

    Raises:
        PlanError: The class makes its data by other ways than ``load_data``.
    """
    if spec.name in context.data and not getattr(dataset, "data_path", ""):
        raise PlanError(
            f"{type(dataset).__name__} reads its data by other ways than load_data, so --data {spec.name}=… changes "
            "nothing.",
            where=str(spec.file),
            hint="Put the file where the class looks for it.",
        )
