"""Evaluating as ULMEvalKit's ``run.py`` and ``evaluate.py`` do: several models on several datasets, each pair a run of
its own, with prediction files where ULMEvalKit has them.

A pair that fails does not stop the others. Names, judges and models are checked before anything is spent.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.api.running import RunResult, absolute_places
from polymeter.api.settings import read_settings
from polymeter.core.catalog import Catalog
from polymeter.core.environment import environment_set
from polymeter.core.errors import PlanError, PolymeterError, did_you_mean
from polymeter.core.progress import Progress, Silence
from polymeter.core.task import TaskSpec
from polymeter.engine.model_pool import ModelPool
from polymeter.formats.table.instances import check_arguments
from polymeter.formats.table.predictions import prediction_path
from polymeter.interop.ulmeval.config import Named, UlmevalConfig, dataset_of, refuse_world
from polymeter.interop.ulmeval.model_names import Chosen, choose_judge, choose_model, file_name
from polymeter.interop.ulmeval.pairs import EvalPair, FilePair, Pair, RunPair, is_of_table
from polymeter.interop.ulmeval.results import INFER, show_files, today
from polymeter.interop.ulmeval.tasks.evaluate import RETURNED
from polymeter.interop.ulmeval.tasks.loading import load_class

_INTERRUPTED, _FAILED = 130, 1
_OPTION = "--data"
Watch = Callable[[], AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True)
class PairResult:
    """What came of one model on one dataset.

    Attributes:
        model: What the model is called in files.
        dataset: What the dataset is called there.
        run: The run; ``None`` when it could not be done.
        error: Why it could not.
        is_scored: Whether it was to be scored.
        returned: What ``evaluate`` of the dataset's class returned, as plain data; a DataFrame as lists by column.
        files: The prediction file and what stands beside it, as links in the folder of the day.
        notes: What the user should know.
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
        """0: all samples scored; 1: some were not, or nothing could be done; 130: interrupted."""
        return _FAILED if self.run is None else self.run.exit_code


@dataclass(frozen=True, slots=True)
class UlmevalResult:
    """A finished command.

    Attributes:
        pairs: In the order of the models, then of the datasets. Those behind an interruption are missing.
    """

    pairs: tuple[PairResult, ...]

    @property
    def exit_code(self) -> int:
        """0: all samples of all pairs are scored; 1: some are not; 130: interrupted, and can be gone on with."""
        return max((pair.exit_code for pair in self.pairs), default=0)


def evaluate_ulmeval(
    config: UlmevalConfig,
    *,
    watch: Watch | None = None,
    ended: Callable[[PairResult], None] = lambda pair: None,
    command: str = "",
    day: str = "",
) -> UlmevalResult:
    """Measure every model of a command on every dataset.

    Args:
        config: The command.
        watch: Gives who watches a pair.
        ended: Told of each pair when it has ended.
        command: What the user typed, for the record.
        day: The day in names of folders; default: today.

    Raises:
        PlanError: A name means nothing, a judge is missing, or the command says what cannot be; nothing was spent. Also
            what is wrong with the only pair.
        DataError: The only pair's data cannot be opened.
    """
    refuse_world()
    with closing(ModelPool({**read_settings().weights, **absolute_places(config.weights)})) as keeper:
        pairs = deque(_Job(config.settled(), command, day or today(), keeper).pairs())
        is_only = len(pairs) == 1
        for pair in pairs:
            with environment_set(pair.keys):
                pair.check()
        found: list[PairResult] = []
        while pairs:
            pair = pairs.popleft()  # with what it holds of a prediction file
            keeper.close(but=pair.specs)  # two models that follow each other need not fit side by side
            found.append(_done(pair, watch or _silently, is_only=is_only))
            ended(found[-1])
            if found[-1].exit_code == _INTERRUPTED:
                break
        return UlmevalResult(tuple(found))


@dataclass(frozen=True, slots=True)
class _Dataset:
    """A dataset of a command.

    Attributes:
        label: What it is called in files.
        spec: What runs.
        arguments: Further arguments of its constructor.
    """

    label: str
    spec: TaskSpec
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Job:
    """A command, being made into pairs."""

    config: UlmevalConfig
    command: str
    day: str
    keeper: ModelPool

    def pairs(self) -> Iterator[Pair]:
        """All pairs, checked."""
        config = self.config
        datasets = self._datasets()
        is_scored = config.mode != INFER
        judges = {item.label: choose_judge(config, item.spec.name) if is_scored else None for item in datasets}
        names = [file_name(model.name) for model in config.models]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise PlanError(
                    f"Two models are called {name!r} in names of files.",
                    where="--model",
                    hint="Run them apart, or name them in a file for --config.",
                )
        chosen = (
            None if config.mode == "eval" or config.result_files else [choose_model(m, config) for m in config.models]
        )
        for place in range(len(names)):
            for item in datasets:
                yield self._pair(place, names[place], item, judges[item.label], chosen)

    def _pair(
        self,
        place: int,
        name: str,
        item: _Dataset,
        judge: Chosen | None,
        chosen: list[Chosen] | None,
    ) -> Pair:
        whole = (self.config, name, item.label, item.spec, item.arguments, judge, self.day, self.command, self.keeper)
        if self.config.result_files:
            return FilePair(*whole, file=self.config.result_files[place])
        if chosen is None:
            return EvalPair(*whole)
        return RunPair(*whole, chosen=chosen[place])

    def _datasets(self) -> list[_Dataset]:
        from polymeter.engine.plan import build_catalog

        config, settings = self.config, read_settings()
        files = [Path(named.name) for named in config.datasets if Path(named.name).is_file()]
        catalog = build_catalog((*settings.include_paths, *config.include_paths, *files), settings.cache_dir)
        found: list[_Dataset] = []
        for named in config.datasets:
            wanted, arguments = dataset_of(named)
            specs = _specs(wanted, catalog)
            for spec in specs:
                _check(named, spec, arguments)
                is_own = len(specs) == 1 and wanted == spec.name
                label = named.name if is_own else spec.name
                if any(other.label == label for other in found):
                    raise PlanError(f"Dataset {label!r} is named twice.", where=_OPTION)
                found.append(_Dataset(label, spec, arguments))
        return found


def _specs(wanted: str, catalog: Catalog) -> tuple[TaskSpec, ...]:
    """What a name, or a file, stands for.

    Raises:
        PlanError: Nothing, or its file is broken.
    """
    from polymeter.engine.plan import named_place, select

    try:
        return select([str(named_place(Path(wanted))) if Path(wanted).is_file() else wanted], catalog).tasks
    except PlanError as error:
        where = _OPTION if error.where == "--tasks" else error.where
        raise PlanError(error.what, where=where, hint=error.hint) from error


def _check(named: Named, spec: TaskSpec, arguments: Mapping[str, Any]) -> None:
    """Refuse another class than the dataset's, and arguments that its constructor does not take.

    Raises:
        PlanError: Which.
    """
    own, where = str(spec.config.get("class") or ""), f"--config data {named.name}"
    if named.class_name and named.class_name != own:
        hint = did_you_mean(named.class_name, [own]) or (f"Its class is {own}." if own else "It has no class.")
        raise PlanError(f"{spec.name!r} is no dataset of the class {named.class_name!r}.", where=where, hint=hint)
    if not arguments:
        return
    if not is_of_table(spec):
        raise PlanError(f"Benchmark {spec.name!r} is no dataset class and takes no arguments.", where=where)
    try:
        check_arguments(load_class(spec), arguments)
    except PlanError as error:
        raise PlanError(error.what, where=error.where or where, hint=error.hint) from error


def _done(pair: Pair, watch: Watch, *, is_only: bool) -> PairResult:
    """What came of a pair. What stops one pair does not stop the others.

    Raises:
        PolymeterError: It could not be done, and there is no other.
    """
    try:
        with environment_set(pair.keys), watch() as progress:
            return _shown(pair, pair.run(progress))
    except PolymeterError as error:
        if is_only:
            raise
        _forget_frames(error)
        return PairResult(pair.model, pair.label, error=error, notes=tuple(pair.notes))


def _forget_frames(error: BaseException) -> None:
    """Let go of what the frames of an error hold, such as half a model, for as long as the error is kept."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = None
        waiting += [one.__cause__, one.__context__]


def _shown(pair: Pair, run: RunResult) -> PairResult:
    """The result of a pair whose run has ended, its files linked to where ULMEvalKit has them."""
    files: list[Path] = []
    returned = None
    if run.status == "complete":
        files, unlinked = show_files(run.folder, pair.place.folder, pair.model, pair.spec.name, pair.label)
        pair.notes.extend(unlinked)
        path = prediction_path(run.folder.artifacts, pair.model, pair.spec.name).with_name(RETURNED)
        returned = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    notes = list(dict.fromkeys(pair.notes))
    is_scored = pair.config.mode != INFER
    return PairResult(pair.model, pair.label, run, None, is_scored, returned, tuple(files), tuple(notes))


def _silently() -> AbstractContextManager[Progress]:
    return nullcontext(Silence())
