"""Evaluating as ULMEvalKit's ``run.py`` and ``evaluate.py`` do: several models on several datasets, each pair in its
own run, with prediction files where ULMEvalKit writes them.

A pair that fails does not stop the others. Names, judges and models are checked before anything is spent.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.api.result import RunResult
from polymeter.api.running import absolute_places
from polymeter.api.settings import read_settings
from polymeter.core.errors import PlanError, PolymeterError, did_you_mean
from polymeter.core.machine.environment import environment_set
from polymeter.core.names.catalog import Catalog
from polymeter.core.records.progress import Progress, Silence
from polymeter.core.task import TaskSpec
from polymeter.core.text.json_text import as_number
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig, dataset_of, refuse_world
from polymeter.interop.ulmeval.model_names import ListedJudge, ListedModel, choose_judge, choose_model, file_name
from polymeter.interop.ulmeval.pairs import EvalPair, FilePair, ModelOnDataset, RunPair, is_of_table
from polymeter.interop.ulmeval.results import INFER, link_files, today
from polymeter.interop.ulmeval.tasks.loading import load_class
from polymeter.run.plan.model_pool import ModelPool
from polymeter.tasks.table.base import BASES
from polymeter.tasks.table.classes import class_for
from polymeter.tasks.table.instances import check_arguments
from polymeter.tasks.table.predictions import RETURNED, prediction_path

_INTERRUPTED, _FAILED = 130, 1
_OPTION = "--data"
_NAMES_OF_TABLES = {"TextMCQDataset": "CustomTextMCQDataset", "TextQADataset": "CustomVQADataset"}
"""The names that VLMEvalKit has for built-in classes of tables without images."""
MakeProgress = Callable[[], AbstractContextManager[Progress]]


class Kit:
    """The rules of a tool's command line: its models, judges, and exceptions for single datasets. These are
    ULMEvalKit's.

    Attributes:
        finding: Advice for a dataset's name that is unknown.
    """

    finding = ""

    def model(self, named: NamedObject, config: UlmevalConfig) -> ListedModel:
        """The model of a name.

        Raises:
            PlanError: if there is none, or it does not take its arguments.
        """
        return choose_model(named, config)

    def judge(self, config: UlmevalConfig, label: str, spec: TaskSpec) -> ListedJudge:
        """The judge of a dataset, whose name in files is ``label``.

        Raises:
            PlanError: if it cannot be asked.
        """
        return ListedJudge(choose_judge(config, spec.name))

    def constructor(self, spec: TaskSpec, model: str) -> Mapping[str, Any]:
        """Arguments of a dataset's constructor that the tool adds, for a model's name in files."""
        return {}

    def unscored(self, spec: TaskSpec) -> str:
        """The reason why the tool scores no answers of a dataset; empty: it does."""
        return ""

    def predictions_as(self) -> str:
        """The format of the prediction files of tables without a class; empty: a pickle.

        Raises:
            PlanError: if the environment names an unknown one.
        """
        return ""

    def begin(self, pair: ModelOnDataset) -> None:
        """A pair is about to run."""

    def end(self, pair: ModelOnDataset, result: PairResult) -> None:
        """A pair has ended."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """The result of one model on one dataset.

    Attributes:
        model: The model's name in files.
        dataset: The dataset's name in files.
        run: The run; ``None`` if there is none because of ``error``.
        error: Why there is no run.
        is_scored: Whether the answers were to be scored.
        returned: What ``evaluate`` of the dataset's class returned, as plain data; a DataFrame as lists by column.
        files: The prediction file and the files beside it, as links in the day's folder.
        notes: Notes for the user.
    """

    model: str
    dataset: str
    run: RunResult | None = None
    error: PolymeterError | None = None
    is_scored: bool = True
    returned: Any = None
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: all samples scored; 1: some are not, or there is no run; 130: interrupted."""
        return _FAILED if self.run is None else self.run.exit_code


@dataclass(frozen=True, slots=True)
class UlmevalResult:
    """A finished command.

    Attributes:
        pairs: In the order of the models, then of the datasets. Those after an interruption are missing.
    """

    pairs: tuple[PairResult, ...]

    @property
    def exit_code(self) -> int:
        """0: all samples of all pairs are scored; 1: some are not; 130: interrupted, and can be resumed."""
        return max((pair.exit_code for pair in self.pairs), default=0)


def evaluate_ulmeval(
    config: UlmevalConfig,
    *,
    make_progress: MakeProgress | None = None,
    on_end: Callable[[PairResult], None] = lambda pair: None,
    command: str = "",
    day: str = "",
    kit: Kit | None = None,
) -> UlmevalResult:
    """Evaluate every model of a command on every dataset.

    Args:
        config: The command.
        make_progress: Makes what receives the progress of a pair.
        on_end: Called with each pair's result when it has ended.
        command: What the user typed, for the record.
        day: The day in folder names; default: today.
        kit: The tool's rules; default: ULMEvalKit's.

    Raises:
        PlanError: if a name is unknown, a judge is missing, or an option is invalid (nothing was spent then), or the
            only pair cannot run.
        DataError: if the only pair's data cannot be opened.
    """
    refuse_world()
    kit = kit or Kit()
    with closing(ModelPool({**read_settings().weights, **absolute_places(config.weights)})) as pool:
        pairs = deque(_PairMaker(config.settled(), command, day or today(), pool, kit).pairs())
        is_only = len(pairs) == 1
        for pair in pairs:
            with environment_set(pair.keys):
                pair.check()
        results: list[PairResult] = []
        while pairs:
            # A pair that has ended is dropped, because it may hold a whole prediction file.
            pair = pairs.popleft()
            # One pair's models need not fit into memory beside the next one's.
            pool.close(but=pair.specs)
            kit.begin(pair)
            results.append(_run(pair, make_progress or _silently, kit, is_only=is_only))
            on_end(results[-1])
            if results[-1].exit_code == _INTERRUPTED:
                break
        return UlmevalResult(tuple(results))


@dataclass(frozen=True, slots=True)
class _Dataset:
    """A dataset of a command.

    Attributes:
        label: Its name in files.
        spec: The benchmark.
        arguments: Further arguments of its constructor.
    """

    label: str
    spec: TaskSpec
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _PairMaker:
    """Makes the pairs of a command."""

    config: UlmevalConfig
    command: str
    day: str
    pool: ModelPool
    kit: Kit

    def pairs(self) -> Iterator[ModelOnDataset]:
        """All pairs, checked."""
        config = self.config
        datasets = self._datasets()
        unscored = {item.label: self.kit.unscored(item.spec) for item in datasets}
        for label, reason in unscored.items():
            if reason and (config.mode == "eval" or config.result_files):
                raise PlanError(f"Dataset {label!r} cannot be scored: {reason}.", where=_OPTION)
        judges = {
            item.label: ListedJudge()
            if config.mode == INFER or unscored[item.label]
            else self.kit.judge(config, item.label, item.spec)
            for item in datasets
        }
        names = [file_name(model.name) for model in config.models]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise PlanError(
                    f"Two models have the name {name!r} in file names.",
                    where="--model",
                    hint="Run them separately, or name them in a file for --config.",
                )
        chosen = (
            None
            if config.mode == "eval" or config.result_files
            else [self.kit.model(named, config) for named in config.models]
        )
        for position in range(len(names)):
            for item in datasets:
                pair = self._pair(position, names[position], item, judges[item.label], chosen)
                reason = unscored[item.label]
                if reason and isinstance(pair, RunPair) and config.mode != INFER:
                    pair.config = replace(config, mode=INFER)
                    pair.notes.append(f"The answers are kept and not scored: {reason}.")
                yield pair

    def _pair(
        self,
        position: int,
        name: str,
        item: _Dataset,
        judge: ListedJudge,
        chosen: list[ListedModel] | None,
    ) -> ModelOnDataset:
        arguments = {**self.kit.constructor(item.spec, name), **item.arguments}
        shared = (self.config, name, item.label, item.spec, arguments, judge.model, self.day, self.command, self.pool)
        own: dict[str, Any] = {"judge_name": judge.name, "notes": list(judge.notes)}
        own["predictions_as"] = self.kit.predictions_as()
        if self.config.result_files:
            return FilePair(*shared, file=self.config.result_files[position], **own)
        if chosen is None:
            return EvalPair(*shared, **own)
        own["notes"] += chosen[position].notes
        return RunPair(*shared, chosen=chosen[position], **own)

    def _datasets(self) -> list[_Dataset]:
        from polymeter.run.plan.selection import build_catalog

        config, settings = self.config, read_settings()
        files = [Path(named.name) for named in config.datasets if Path(named.name).is_file()]
        catalog = build_catalog((*settings.include_paths, *config.include_paths, *files), settings.cache_dir)
        datasets: list[_Dataset] = []
        for named in config.datasets:
            wanted, arguments = dataset_of(named)
            specs = _specs(wanted, catalog, self.kit.finding)
            for spec in specs:
                _check_dataset(named, spec, arguments)
                is_own = len(specs) == 1 and wanted == spec.name
                label = named.name if is_own else spec.name
                if any(other.label == label for other in datasets):
                    raise PlanError(f"Dataset {label!r} is named twice.", where=_OPTION)
                datasets.append(_Dataset(label, spec, arguments))
        return datasets


def _specs(wanted: str, catalog: Catalog, finding: str) -> tuple[TaskSpec, ...]:
    """The benchmarks that a name or a file stands for; ``finding`` is the tool's advice for a name that is unknown.

    Raises:
        PlanError: if there are none, or the file is broken.
    """
    from polymeter.run.plan.selection import named_place, select

    try:
        return select([str(named_place(Path(wanted))) if Path(wanted).is_file() else wanted], catalog).tasks
    except PlanError as error:
        if error.where != "--tasks":
            raise
        raise PlanError(error.what, where=_OPTION, hint=f"{error.hint} {finding}".strip()) from error


def _check_dataset(named: NamedObject, spec: TaskSpec, arguments: Mapping[str, Any]) -> None:
    """Check the class and the constructor's arguments of a dataset.

    Raises:
        PlanError: if the class is not the dataset's, or its constructor does not take an argument.
    """
    classes, where = _classes(spec), f"--config data {named.name}"
    if named.class_name and named.class_name not in classes:
        hint = did_you_mean(named.class_name, classes) or (
            f"Its class is {classes[0]}." if classes else "It has no class."
        )
        raise PlanError(f"{spec.name!r} is not a dataset of the class {named.class_name!r}.", where=where, hint=hint)
    if not arguments:
        return
    if not is_of_table(spec):
        raise PlanError(f"Benchmark {spec.name!r} is not a dataset class and takes no arguments.", where=where)
    try:
        check_arguments(load_class(spec), arguments)
    except PlanError as error:
        raise PlanError(error.what, where=error.where or where, hint=error.hint) from error


def _classes(spec: TaskSpec) -> list[str]:
    """The names of the class of a dataset: a table without one runs as a built-in class, which also has the names of
    what it derives from.
    """
    columns = spec.config.get("columns")
    if columns is None:
        return [str(spec.config["class"])] if spec.config.get("class") else []
    line = class_for(tuple(columns)).__mro__
    names = [cls.__name__ for cls in line if cls not in BASES and cls.__name__.endswith("Dataset")]
    return [*names, *(_NAMES_OF_TABLES[name] for name in names if name in _NAMES_OF_TABLES)]


def _run(pair: ModelOnDataset, make_progress: MakeProgress, kit: Kit, *, is_only: bool) -> PairResult:
    """Run a pair. An error that stops it does not stop the others.

    Raises:
        PolymeterError: if it cannot run, and there is no other pair.
    """
    try:
        with environment_set(pair.keys), make_progress() as progress:
            result = _with_files(pair, pair.run(progress))
    except PolymeterError as error:
        result = PairResult(pair.model, pair.label, error=error, notes=tuple(pair.notes))
        kit.end(pair, result)
        if is_only:
            raise
        _forget_frames(error)
        return result
    kit.end(pair, result)
    return result


def _forget_frames(error: BaseException) -> None:
    """Drop the frames of an error that is kept: they can hold on to large objects, such as half a model."""
    seen: set[int] = set()
    remaining: list[BaseException | None] = [error]
    while remaining:
        one = remaining.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = None
        remaining += [one.__cause__, one.__context__]


def _with_files(pair: ModelOnDataset, run: RunResult) -> PairResult:
    """The result of a pair whose run has ended, with its files linked to where ULMEvalKit writes them."""
    files: list[Path] = []
    returned = None
    if run.status == "complete":
        files, unlinked = link_files(run.folder, pair.outputs.folder, pair.model, pair.spec.name, pair.label)
        pair.notes.extend(unlinked)
        path = prediction_path(run.folder.artifacts, pair.model, pair.spec.name).with_name(RETURNED)
        returned = as_number(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
    notes = list(dict.fromkeys(pair.notes))
    is_scored = pair.config.mode != INFER
    return PairResult(pair.model, pair.label, run, None, is_scored, returned, tuple(files), tuple(notes))


def _silently() -> AbstractContextManager[Progress]:
    return nullcontext(Silence())
