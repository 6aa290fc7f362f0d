"""The rows of a task: its splits as ``process_docs`` leaves them, the source of its examples, and samples over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, overload

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.core.format import HubSource, OpenContext
from polymeter.core.identity import seed_for
from polymeter.core.machine.opened_files import is_of_row
from polymeter.core.names.installed import is_guests_place
from polymeter.core.task import Sample, Samples, TaskSpec
from polymeter.data import (
    Opening,
    Rows,
    Source,
    know_written,
    make_rows,
    mapped_anew,
    media_folder_notes,
    open_plain,
    open_splits,
    rows_from_files,
)
from polymeter.data.source import is_hub_id
from polymeter.guests import resolve, seeded
from polymeter.guests.opened_sources import loading_sources
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.files.dialects import Locate
from polymeter.tasks.yaml.prompts.target_cells import know_targets
from polymeter.tasks.yaml.task_code import function_refs

K = TypeVar("K")
_MOST_TRIES = 3
_SPLITS = ("test_split", "validation_split", "training_split", "fewshot_split")


class DatasetFields(Protocol):
    """The fields that name a task's dataset."""

    @property
    def dataset_path(self) -> str | None: ...
    @property
    def dataset_name(self) -> str | None: ...
    @property
    def dataset_kwargs(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class TaskRows:
    """Rows of a task.

    Attributes:
        measured: The rows that are measured.
        examples: The rows that examples are drawn from; ``None``: there are no examples.
        has_own_examples: Whether examples are drawn from the measured rows themselves.
        notes: What is odd about the folder that they come from.
    """

    measured: Rows
    examples: Rows | None = None
    has_own_examples: bool = False
    notes: tuple[str, ...] = ()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Use the columns inside this, and an error reports rows that have media alone: an unread table may be its
        reason.

        Raises:
            DataError: if a column is missing.
        """
        try:
            yield
        except DataError as error:
            if not self.notes or set(self.measured.columns) - set(self.measured.media) - {"label"}:
                raise
            raise DataError(error.what, where=error.where, hint=" ".join((error.hint, *self.notes))) from error


def open_rows(spec: TaskSpec, config: YamlFields, context: OpenContext, n_fewshot: int, locate: Locate) -> TaskRows:
    """Return the rows of a task that names a dataset. An error names the line of the YAML.

    Raises:
        PlanError: if ``process_docs`` fails, or no split exists for the examples.
        DataError: if the dataset is missing or empty.
    """
    split = config.eval_split or ""
    fixed = _fixed_examples(config, n_fewshot, context)
    is_any = context.parity.on("fewshot-split")
    example_split = None if fixed is not None else _example_split(config, n_fewshot, locate, is_any=is_any)
    wanted = list(dict.fromkeys(item for item in (split, example_split) if item))
    reader = _OwnSplits(spec, config, context, locate, as_read=context.parity.on("written-values"))
    # What process_docs takes is a dataset of the library.
    rows = reader.plain(wanted) if config.process_docs is None else None
    if not rows:
        rows = reader.read(wanted, split, [(name, name, config.process_docs) for name in wanted])
    examples = fixed or (rows[example_split] if example_split else None)
    return TaskRows(rows[split], examples, example_split == split, reader.notes)


def hub_sources(spec: TaskSpec) -> tuple[HubSource, ...] | None:
    """The dataset of the hub that a task names, if it names one; ``None`` if its class opens what it reads."""
    path, name = spec.config.get("dataset_path"), spec.config.get("dataset_name")
    if spec.config.get("class") is not None or (path is not None and not isinstance(path, str)):
        return None
    if not path or not is_hub_id(path, spec.file.parent):
        return ()
    kwargs = spec.config.get("dataset_kwargs")
    return (
        HubSource(
            path,
            None if name is None else str(name),
            kwargs if isinstance(kwargs, Mapping) else {},
            spec.file.parent,
            mirrors=mirrors_of(spec),
        ),
    )


def mirrors_of(spec: TaskSpec) -> tuple[str, ...]:
    """The further hub ids of a task's dataset."""
    return () if spec.protocol is None else spec.protocol.mirrors


class SplitReader:
    """Reads the splits of a dataset, as ``process_docs`` leaves them. An error names the line of the YAML that it is
    about.

    Args:
        spec: The task.
        config: Its fields.
        context: The run.
        locate: From a field's name to its ``file:line``.
        as_read: Whether the run is at parity, and rows hold what the loader makes of their files.
    """

    def __init__(
        self, spec: TaskSpec, config: DatasetFields, context: OpenContext, locate: Locate, *, as_read: bool
    ) -> None:
        self._spec, self._config, self._context, self._locate = spec, config, context, locate
        self._source = Source(
            str(config.dataset_path),
            config.dataset_name,
            config.dataset_kwargs,
            spec.file.parent,
            mirrors=mirrors_of(spec),
        )
        self.is_written = is_written(spec, as_read=as_read)
        self.notes: tuple[str, ...] = ()
        """The parts that a folder of media leaves out."""

    def plain(self, names: Sequence[str]) -> Mapping[str, Rows] | None:
        """The splits as files that are read without the library for datasets, where they are such files."""
        context = self._context
        with placed(self._config, self._locate):
            found = open_plain(self._source, list(names), overrides=context.data, cache_dir=context.cache_dir)
            for name, rows in (found or {}).items():
                self.know(rows, None, name)
        return found

    def read(self, names: Sequence[str], measured: str, wanted: Sequence[tuple[K, str, Any]]) -> Mapping[K, Rows]:
        """Rows of splits, as their functions leave them.

        Args:
            names: The splits.
            measured: The one that is measured.
            wanted: For each key of the result the split, and its function; ``None``: it has none.
        """
        try:
            opened = self.opened(list(names))
        except DataError:
            # Each row alone can be read where no type fits a whole column.
            with placed(self._config, self._locate):
                held = rows_from_files(self._source, list(names), self._context.data) if self.is_written else None
            if held is None:
                raise
            return {key: held[name] for key, name, _ in wanted}
        with placed(self._config, self._locate):
            self.notes = media_folder_notes(opened[measured])
        return {key: self._processed(name, opened[name], process) for key, name, process in wanted}

    def opened(self, names: list[str]) -> Mapping[str, Any]:
        """The splits as datasets."""
        context = self._context
        with placed(self._config, self._locate):
            return open_splits(self._source, names, overrides=context.data, cache_dir=context.cache_dir)

    def seeding(self, split: str) -> AbstractContextManager[Any]:
        """The state of random generators in which the function of a split is called. One seed for each: what it draws
        for one split does not depend on whether another is opened.
        """
        return seeded(seed_for(self._context.seed, self._spec.name, "process_docs", split))

    def know(self, rows: Rows, dataset: Any, split: str) -> None:
        """Let rows that no code sees hold what is written in their files."""
        if self.is_written:
            know_written(rows, dataset, self._opening(split))

    def _opening(self, split: str) -> Opening:
        return Opening(self._source, split, self._context.data, self._context.cache_dir)

    def _processed(self, name: str, dataset: Any, process: Any) -> Rows:
        data, spec, context = dataset, self._spec, self._context
        if process is not None:
            whose = boundary(PlanError, f"process_docs of task {spec.name!r}")
            with self.seeding(name), mapped_anew(spec.sources), whose:
                data = resolve(process)(dataset)
                # A generator is exhausted here, where its author's failures are attributed.
                if data is not dataset and not hasattr(data, "features"):
                    data = list(data)
        with placed(self._config, self._locate, "dataset_path" if process is None else "process_docs"):
            rows = make_rows(
                data,
                what=f"split {name!r} of task {spec.name!r}",
                base_fingerprint=f"{spec.source_hash}:{name}:{context.seed}",
                cache_dir=context.cache_dir,
            )
        with placed(self._config, self._locate):
            self.know(rows, dataset, name)
        return rows


class _OwnSplits(SplitReader):
    """As for any task; where rows cannot hold what is written in their files, at least their targets do."""

    _config: YamlFields

    def know(self, rows: Rows, dataset: Any, split: str) -> None:
        try:
            super().know(rows, dataset, split)
            if self.is_written:
                return
        except DataError as error:
            if error.where:  # a file is at fault
                raise
            # A CSV that is read by settings of its own may have no text that fits its rows. Its targets need one.
        know_targets(rows, dataset, self._config, self._opening(split), self._context.parity)


def is_written(spec: TaskSpec, *, as_read: bool) -> bool:
    """Return whether the rows of a task hold what is written in their files. Code gets what the loader of its system
    gives.

    Args:
        spec: The task.
        as_read: Whether the run is at parity, and its rows hold what the loader makes of them.
    """
    has_code = spec.config.get("class") is not None or next(function_refs(dict(spec.config)), None) is not None
    return not has_code and not as_read


@contextmanager
def placed(config: Any, locate: Locate, key: str = "dataset_path") -> Iterator[None]:
    """Open data inside this, and an error without a place of its own gets the line of the YAML that it is about: of the
    field of its configuration that the error names, else of ``key``.
    """
    try:
        yield
    except DataError as error:
        if error.where and is_guests_place(error.where):
            raise
        about = getattr(error, "key", key)
        if about == "split":
            about = next(
                (name for name in _SPLITS if getattr(config, name) and repr(getattr(config, name)) in error.what), key
            )
        is_written = getattr(config, about, None)
        raise DataError(error.what, where=locate(about if is_written else "dataset_path"), hint=error.hint) from error


def _example_split(config: YamlFields, n: int, locate: Locate, *, is_any: bool) -> str | None:
    """The split that examples come from, the training split before the validation split; ``None``: no examples.

    Args:
        config: The task.
        n: How many examples there are before a question.
        locate: From a field's name to its ``file:line``.
        is_any: Whether the measured split may be used if there is no other.
    """
    if n == 0:
        return None
    split = config.fewshot_split or config.training_split
    if is_any:
        split = split or config.validation_split or config.test_split
    # Without a test split the validation split is measured, and examples from it would give answers away.
    if split is None and config.test_split is not None:
        split = config.validation_split
    if split is None:
        raise PlanError(
            f"Task {config.task!r} has no split to draw {n} examples from.",
            where=locate("num_fewshot" if config.num_fewshot else "test_split"),
            hint="Name a fewshot_split (or training_split) in its YAML; the measured split is never used.",
        )
    return split


def _fixed_examples(config: YamlFields, n: int, context: OpenContext) -> Rows | None:
    """The rows that ``fewshot_config`` lists under ``samples``, or that a function there returns."""
    samples = (config.fewshot_config or {}).get("samples")
    if samples is None or n == 0:
        return None
    if callable(samples):
        seed = seed_for(context.seed, str(config.task), "fewshot_samples")
        with seeded(seed), boundary(PlanError, f"fewshot_config 'samples' of task {config.task!r}"):
            samples = list(resolve(samples)())
    return make_rows(samples, what=f"the few-shot samples of task {config.task!r}", cache_dir=context.cache_dir)


class RowSamples:
    """The samples of a task, made from rows on access. Their ids are row numbers of the split, as
    ``process_docs`` left it.
    """

    def __init__(self, task: str, rows: Rows, cluster_key: str | None = None) -> None:
        self._task = task
        self._rows = rows
        self._cluster_key = cluster_key

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        n = len(self._rows)
        if isinstance(index, slice):
            start, stop, step = index.indices(n)
            if step == 1:  # Neighbouring rows are read together, which is far faster than one by one.
                return [self._sample(start + i, doc) for i, doc in enumerate(self._rows.docs(start, stop))]
            return [self._sample(i, self._rows.doc(i)) for i in range(start, stop, step)]
        if index < 0:
            index += n
        if not 0 <= index < n:
            raise IndexError(f"There is no sample {index} of {n}.")
        return self._sample(index, self._rows.doc(index))

    def _sample(self, index: int, doc: dict[str, Any]) -> Sample:
        cluster = None
        if self._cluster_key is not None:
            value = doc.get(self._cluster_key)
            cluster = None if value is None else str(value)
        return Sample(self._task, str(index), index, doc, (), cluster, partial(self._rows.full_doc, index))


class AllDocs(Sequence[Any]):
    """All rows of a task without media, read on access."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._rows.doc(i) for i in range(*index.indices(len(self)))]
        return self._rows.doc(index if index >= 0 else index + len(self))


def full_row(sample: Sample) -> dict[str, Any]:
    """The row with media, and with the changes that hooks have made to it so far."""
    row = sample.full_doc()
    if row is not sample.doc:
        row.update(sample.doc)
    return row


def tried(samples: Samples, make: Callable[[Sample], K]) -> K:
    """Build what a row is needed for, to check before anything is spent that it can be built. One broken row is not a
    problem: a few are tried.

    Raises:
        PlanError: if all that are tried fail.
    """
    first_error: PolymeterError | None = None
    n = len(samples)
    for index in dict.fromkeys(round(i * (n - 1) / (_MOST_TRIES - 1)) for i in range(_MOST_TRIES)):
        sample = samples[index]
        try:
            # A file that a hook opens, and that is none of this row's, may be kept for all rows.
            with loading_sources(is_data=partial(is_of_row, row=str(sample.doc))):
                return make(sample)
        except (DataError, ScoreError) as error:
            first_error = first_error or error
    assert first_error is not None
    raise PlanError(first_error.what, where=first_error.where, hint=first_error.hint) from first_error
