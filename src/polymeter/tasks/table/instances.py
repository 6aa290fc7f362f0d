"""Instances of dataset classes, built-in ones and authors': made once for a run, with the data that the run names.

This module also knows what only some instances have: methods of our own classes that authors' classes may inherit, and
the TYPE that determines the kind of request.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakValueDictionary

from polymeter.core.errors import DataError, PlanError, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.machine.opened_files import is_of_row
from polymeter.core.request import RequestKind
from polymeter.core.task import TaskSpec
from polymeter.data import mapped_anew
from polymeter.guests import contained, seeded
from polymeter.guests.loading.load import authors_code
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.opened_sources import loading_sources
from polymeter.guests.own_classes import definer, is_own_class
from polymeter.tasks.table.options import TableRunOptions

_ALWAYS_PASSED = "dataset"
_JUDGE = "judge"
_MAKES_IMAGES = re.compile(r"2I(?![A-Z])|2IMAGE", re.IGNORECASE)
_MAKES_OTHERS = re.compile(r"2(?:V|A|M|S|3D|VIDEO|AUDIO)(?![A-Z])", re.IGNORECASE)
_UPSTREAM_COUNTS: Mapping[str, int] = {"GenEval": 4, "DPGBench": 4}
_UPSTREAM_COMPOSITION = "T2ICompBench"
_COMPOSITION_COUNT = 10
_TABLES = (".tsv", ".csv", ".xlsx", ".pkl")
# Of the process, because authors ask for a dataset by its name alone; a task owns its instance.
_OPEN: WeakValueDictionary[str, Any] = WeakValueDictionary()


def make_instance(
    cls: type, spec: TaskSpec, data: Mapping[str, str], options: TableRunOptions, context: OpenContext
) -> Any:
    """The instance of a dataset class, its data loaded. Runs its authors' code.

    Args:
        cls: The class.
        spec: The benchmark.
        data: Dataset → the table that the run names in its place.
        options: The run's options, with arguments for the constructor.
        context: The run's settings; its seed is used.

    Raises:
        PlanError: if its constructor does not take these arguments.
        DataError: if its data cannot be fetched or read.
    """
    check_arguments(cls, options.arguments)
    dataset, arguments = dataset_named(spec), {**spec.config.get("arguments", {}), **options.arguments}
    with (
        GUEST_LOCK,
        contained(),
        seeded(context.seed),
        mapped_anew(spec.sources),
        guest_context_with(data=data, folder=spec.file.parent),
        loading_sources(is_data=lambda path: path.endswith(_TABLES) or is_of_row(path, "")),
        authors_code(DataError, f"Loading the data of benchmark {spec.name!r}"),
    ):
        return cls(dataset=dataset, **arguments) if dataset else cls(**arguments)


def dataset_named(spec: TaskSpec) -> str:
    """The name by which the class of a benchmark knows it, which a preset of its arguments does not have; empty: the
    one that its constructor has as a default.
    """
    return str(spec.config.get("dataset", spec.benchmark))


def set_up(name: str, instance: Any, options: TableRunOptions) -> None:
    """Apply the run's options to an instance, which is the open one of its name from then on.

    Raises:
        DataError: if circular evaluation is wanted, and an index is not a whole number.
        PlanError: if the detector that is named is not available.
    """
    if options.circular and (expand := own_method(instance, "expand")) is not None:
        instance.data = expand(instance.data)
    if options.detector:
        instance.detector = options.detector
        if not options.predict_only and (check := own_method(instance, "check_scoring")) is not None:
            check()
    _OPEN[name] = instance


def check_rows(spec: TaskSpec, instance: Any, n_rows: int, context: OpenContext) -> None:
    """Let one of our own classes check the rows that are measured, before anything is asked.

    Raises:
        PlanError: if nothing could score them, or one could never be answered right.
    """
    check = None if context.is_begun else own_method(instance, "check_rows")
    if check is None or own_method(instance, "evaluate_sample") is None:
        return
    try:
        check(context.measured(n_rows), has_judge=_JUDGE in context.roles)
    except PlanError as error:
        where = f"{spec.file}, {error.where}" if error.where else str(spec.file)
        raise PlanError(f"Benchmark {spec.name!r}: {error.what}", where=where, hint=error.hint) from error


def open_dataset(name: str) -> Any:
    """The latest instance of a name, as long as it is in use; ``None`` if none is open. Code of models and benchmarks
    looks up the type of a dataset by its name alone.
    """
    return _OPEN.get(name)


def own_method(instance: Any, name: str) -> Callable[..., Any] | None:
    """A method that one of our own classes defines. Authors may have methods of that name that mean something else."""
    owner = definer(type(instance), name)
    method: Callable[..., Any] | None = getattr(instance, name) if owner is not None and is_own_class(owner) else None
    return method


def circular_note(name: str, instance: Any, options: TableRunOptions) -> Iterator[str]:
    """A note for the user if circular evaluation is wanted but does not apply."""
    if options.circular and own_method(instance, "expand") is None:
        yield f"Benchmark {name!r} is not multiple choice of Polymeter's own: circular changes nothing in it."


def scoring_notes(name: str, instance: Any) -> Iterator[str]:
    """Notes for the user about how one of our own classes scores."""
    notes = own_method(instance, "notes")
    if notes is not None:
        yield from (f"Benchmark {name!r}: {note}" for note in notes())


def request_kind(kind: object, spec: TaskSpec) -> RequestKind:
    """The kind of a dataset's requests by its TYPE: for an image, or for text.

    Raises:
        PlanError: if the answers would be something else.
    """
    if _MAKES_IMAGES.search(str(kind)):
        return "generate_image"
    if _MAKES_OTHERS.search(str(kind)):
        raise PlanError(
            f"Benchmark {spec.name!r} is of the type {kind!r}, whose answers are neither text nor images.",
            where=str(spec.file),
            hint="Polymeter asks for text and for images.",
        )
    return "generate"


def usual_count(name: str) -> int:
    """The published number of images for each prompt of a dataset, by its name."""
    return _COMPOSITION_COUNT if name.startswith(_UPSTREAM_COMPOSITION) else _UPSTREAM_COUNTS.get(name, 1)


def check_arguments(cls: type, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that no constructor of a class names. ``**kwargs`` that are only ignored accept none.

    Args:
        cls: The class.
        arguments: The user's arguments.

    Raises:
        PlanError: if one is unknown; the message names the nearest known one.
    """
    accepted = _argument_names(cls) if arguments else []
    for name in arguments:
        if name not in accepted:
            hint = did_you_mean(name, accepted, n=1) or f"It takes: {', '.join(accepted) or 'none'}."
            raise PlanError(f"The dataset class {cls.__name__} has no argument {name!r}.", hint=hint)


def _argument_names(cls: type) -> list[str]:
    """Names of the arguments of a constructor, and of its bases' for as long as each hands on those that it does not
    know itself.
    """
    names: dict[str, None] = {}
    for base in cls.__mro__:
        if base is object or "__init__" not in vars(base):
            continue
        own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        names.update(
            dict.fromkeys(one.name for one in own if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
        )
        if not any(one.kind is one.VAR_KEYWORD for one in own):
            break
    names.pop(_ALWAYS_PASSED, None)
    return list(names)
