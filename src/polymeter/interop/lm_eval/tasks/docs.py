"""The rows of a task: what is measured, and what examples are drawn from.

``process_docs`` is called once for each split, straight after seeding: first for the split of the examples, then for
the measured one, as lm-eval's constructor does, so that a function that draws at random gives the rows that a run of
this task alone has there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.task import Sample, Samples, SampleView, TaskSpec
from polymeter.data import Rows, make_rows
from polymeter.guests import resolve, seeded
from polymeter.interop.lm_eval.tasks.config import ExampleConfig, LmTaskConfig
from polymeter.interop.lm_eval.tasks.settings import LmRunOptions, run_metadata, seed_of
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.prompts.rows import RowSamples, SplitReader


@dataclass(frozen=True, slots=True)
class TaskDocs:
    """The rows of a task.

    Attributes:
        measured: What is measured.
        pool: What examples are drawn from; ``None``: there are no examples.
        is_pool_measured: Whether examples are drawn from the measured rows themselves.
        notes: What is odd about the folder that they come from.
    """

    measured: Rows
    pool: Rows | None = None
    is_pool_measured: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Split:
    """A split with what is done to it."""

    name: str
    process: Any


def open_docs(
    spec: TaskSpec, config: LmTaskConfig, context: OpenContext, options: LmRunOptions, n_fewshot: int, locate: Locate
) -> TaskDocs:
    """The rows of a task.

    Raises:
        PlanError: if the task's code fails.
        DataError: if the dataset is missing or empty.
    """
    reader = _LmSplits(spec, config, context, options, locate)
    measured = _Split(str(config.eval_split), config.process_docs)
    told = config.examples
    pool = _pool_split(config, told)
    has_rows_of_its_own = pool is None
    wanted = [measured] if not n_fewshot or pool is None or pool == measured else [pool, measured]
    with reader.seeds():
        before = random.getstate()
        opened = reader.splits(wanted)
        is_drawn = random.getstate() != before
        fixed = reader.samples(told) if n_fewshot and has_rows_of_its_own else None
    if is_drawn and not n_fewshot and pool is not None and pool != measured:
        # Where process_docs draws, rows rest on what was drawn before: examples are read even if none is shown.
        with reader.seeds():
            opened = reader.splits([pool, measured])
    rows = opened[measured]
    if not n_fewshot:
        return TaskDocs(rows, notes=reader.notes)
    if fixed is not None:
        return TaskDocs(rows, fixed, notes=reader.notes)
    assert pool is not None
    return TaskDocs(rows, opened[pool], pool == measured, reader.notes)


def _pool_split(config: LmTaskConfig, told: ExampleConfig) -> _Split | None:
    """The split that examples come from; ``None``: the task lists them."""
    if told.split is not None:
        return _Split(told.split, told.process_docs)
    if told.samples is not None:
        return None
    split = config.training_split or config.validation_split or config.test_split
    return _Split(str(split), config.process_docs)


class _LmSplits(SplitReader):
    """The splits of one of lm-eval's tasks, whose code may make the dataset."""

    _config: LmTaskConfig

    def __init__(
        self, spec: TaskSpec, config: LmTaskConfig, context: OpenContext, options: LmRunOptions, locate: Locate
    ) -> None:
        super().__init__(spec, config, context, locate, as_read=context.parity.on("written-rows"))
        self._options = options

    @contextmanager
    def seeds(self) -> Iterator[None]:
        """Run the task's code inside this as straight after lm-eval's seeding."""
        import numpy

        with seeded(self._context.seed):
            seed = seed_of(self._options.numpy_seed, self._context)
            numpy.random.seed(seed % 2**32)  # noqa: NPY002  (task code draws from this generator)
            yield

    def seeding(self, split: str) -> AbstractContextManager[Any]:
        """None for a split of its own: all are read inside ``seeds``, one after the other."""
        return nullcontext()

    def splits(self, wanted: list[_Split]) -> Mapping[_Split, Rows]:
        """The rows of splits, as their functions leave them; the last one is measured."""
        names = list(dict.fromkeys(split.name for split in wanted))
        is_plain = self._config.custom_dataset is None and not any(split.process for split in wanted)
        plain = self.plain(names) if is_plain else None
        if plain is not None:
            return {split: plain[split.name] for split in wanted}
        return self.read(names, wanted[-1].name, [(split, split.name, split.process) for split in wanted])

    def opened(self, names: list[str]) -> Mapping[str, Any]:
        """The splits as datasets, or as the task's code makes them."""
        return super().opened(names) if self._config.custom_dataset is None else self._custom(names)

    def samples(self, told: ExampleConfig) -> Rows:
        """The rows that ``fewshot_config`` lists under ``samples``, or that a function there returns."""
        samples = told.samples
        what = f"the few-shot samples of task {self._spec.name!r}"
        if callable(samples):
            with boundary(PlanError, f"fewshot_config 'samples' of task {self._spec.name!r}"):
                samples = list(resolve(samples)())
        if not isinstance(samples, list) or not all(isinstance(row, Mapping) for row in samples):
            raise PlanError(
                f"{what.capitalize()} must be a list of rows, or a function that returns one.",
                where=self._locate("fewshot_config"),
            )
        base = f"{self._spec.source_hash}:samples"
        return make_rows(samples, what=what, base_fingerprint=base, cache_dir=self._context.cache_dir)

    def _custom(self, names: list[str]) -> Mapping[str, Any]:
        """The splits of a dataset that the task's code makes."""
        name, config = self._spec.name, self._config
        metadata = run_metadata(config, self._options, str(self._spec.file))
        function: Callable[..., Any] = resolve(config.custom_dataset)  # type: ignore[arg-type]  # the caller checks it
        with boundary(PlanError, f"custom_dataset of task {name!r}"):
            made = function(**metadata, **config.dataset_kwargs)
        splits: Mapping[str, Any] = made if isinstance(made, Mapping) else {}
        for split in names:
            if split not in splits:
                raise DataError(
                    f"custom_dataset of task {name!r} gives no split {split!r}.",
                    where=self._locate("custom_dataset"),
                    hint=did_you_mean(split, splits) or f"It gives: {', '.join(map(str, splits)) or 'no splits'}.",
                )
        return splits


class _Chosen(SampleView):
    """Some rows of a task, in the order of the data; their ids are the rows' numbers."""

    def __init__(self, samples: Samples, numbers: Sequence[int]) -> None:
        self._samples, self._numbers = samples, sorted(set(numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def _sample(self, index: int) -> Sample:
        return replace(self._samples[self._numbers[index]], index=index)


def wanted_samples(spec: TaskSpec, rows: Rows, options: LmRunOptions) -> Samples:
    """The samples of a task: those of all its rows, or of the rows that the run names.

    Raises:
        PlanError: if it names one that there is not.
    """
    samples = RowSamples(spec.name, rows)
    chosen = options.samples.get(spec.name)
    if not chosen:
        return samples
    outside = [number for number in chosen if not 0 <= number < len(samples)]
    if outside:
        raise PlanError(
            f"Task {spec.name!r} has no row {outside[0]}: its rows are 0 to {len(samples) - 1}.",
            where="dialect_options lm_eval samples",
        )
    return _Chosen(samples, chosen)
