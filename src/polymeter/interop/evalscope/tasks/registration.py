"""Benchmarks that Python code registers: ``@Benchmark.register(...)`` on a data adapter, and the registration that it
makes.

A run never changes a registration: a run's own settings go into a copy. Names belong to files. A file that is loaded as
a guest counts for the benchmark that lies in it, so that two collections may use one name; a file that the user runs
himself counts for all, and two of those cannot share a name.
"""

from __future__ import annotations

import copy
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from polymeter.core.errors import GUEST_PREFIX, PlanError, did_you_mean
from polymeter.core.names.catalog import AT, is_default, named_with_protocol
from polymeter.core.task import TaskSpec
from polymeter.guests.loading.load import load_authors_file
from polymeter.interop.evalscope.tasks.constants import OutputType
from polymeter.interop.evalscope.tasks.reading import stated_protocol

if TYPE_CHECKING:
    from polymeter.interop.evalscope.tasks.base import DataAdapter

_ANY_SUBSET = ["default"]
C = TypeVar("C", bound="type[Any]")


class Named(Protocol):
    """A registration of either generation of EvalScope.

    Attributes:
        name: The benchmark's name.
    """

    name: str

    @property
    def subset_list(self) -> Sequence[str]:
        """Its subsets."""

    @property
    def pretty_name(self) -> str | None:
        """Its name for readers."""

    @property
    def tags(self) -> Any:
        """Labels."""

    @property
    def extra_params(self) -> Mapping[str, Any] | None:
        """Further settings, which may state its protocol."""

    @property
    def task_name(self) -> str:
        """The name of its task: its own, with that of the protocol that it states."""


M = TypeVar("M", bound=Named)


@dataclass
class BenchmarkMeta:
    """The registration of a benchmark.

    Attributes:
        name: Unique name.
        dataset_id: Id on a hub, or a local path.
        data_adapter: The adapter's class.
        model_adapter: How the model is asked, unless the run sets another mode.
        output_types: All the ways in which it can be asked.
        subset_list: Subsets of the dataset.
        metric_list: Names of metrics.
        few_shot_num: Number of examples before each question.
        few_shot_random: Whether they are drawn, or the first ones are taken.
        train_split: Where they come from.
        eval_split: What is asked about.
        prompt_template: For the adapter's use.
        system_prompt: Put before each question.
        query_template: For the adapter's use.
        pretty_name: The name to print.
        description: For people.
        tags: Labels.
        filters: What answers go through before they are parsed: name of a filter → its setting, in order.
        extra_params: Further arguments of the adapter.
    """

    name: str
    dataset_id: str
    data_adapter: Any
    model_adapter: str | None = OutputType.GENERATION
    output_types: list[str] | None = field(default_factory=lambda: [OutputType.GENERATION])
    subset_list: list[str] = field(default_factory=lambda: ["default"])
    metric_list: list[str] = field(default_factory=list)
    few_shot_num: int = 0
    few_shot_random: bool = False
    train_split: str | None = None
    eval_split: str | None = None
    prompt_template: str | None = None
    system_prompt: str | None = None
    query_template: str | None = None
    pretty_name: str | None = None
    description: str | None = None
    tags: list[str] | None = field(default_factory=list)
    filters: dict[str, Any] | None = None
    extra_params: dict[str, Any] | None = field(default_factory=dict)

    @property
    def task_name(self) -> str:
        """The name of its task: its own, with that of the protocol that it states."""
        return named_with_protocol(self.name, stated_protocol(self.extra_params))

    def to_dict(self) -> dict[str, Any]:
        """All values by name, those that ``updated`` added as well."""
        return dict(vars(self))

    def to_string_dict(self) -> dict[str, Any]:
        """A deep copy of all values but the adapter's class."""
        return {name: copy.deepcopy(value) for name, value in vars(self).items() if name != "data_adapter"}

    def updated(self, config: Mapping[str, Any] | None = None) -> BenchmarkMeta:
        """A copy with some values changed. ``local_path`` stands for ``dataset_id``; names that no field has are kept
        and reach the adapter as keyword arguments.
        """
        changes = copy.deepcopy(dict(config or {}))
        local_path = changes.pop("local_path", None)
        if local_path:
            changes["dataset_id"] = local_path
        changed = copy.copy(self)
        vars(changed).update(self.to_string_dict())
        vars(changed).update(changes)
        return changed

    def get_data_adapter(self, config: Mapping[str, Any] | None = None) -> DataAdapter:
        """Make an adapter. Neither this registration nor ``config`` is changed.

        Args:
            config: This run's changes, see ``updated``.
        """
        values = self.updated(config).to_dict()
        adapter: DataAdapter = latest_class(self.data_adapter)(**values)
        return adapter


_FIELDS = tuple(item.name for item in fields(BenchmarkMeta))
_REQUIRED = tuple(
    item.name for item in fields(BenchmarkMeta) if item.default is MISSING and item.default_factory is MISSING
)
SETTABLE = tuple(name for name in _FIELDS if name not in _REQUIRED)
"""The arguments of ``Benchmark.register`` besides ``name`` and ``dataset_id``."""


class Registered(Mapping[str, M]):
    """The benchmarks that loaded code has registered, by name; a live view, and the last definition of a name."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[Path, M]] = {}
        self._for_all: dict[str, Path] = {}

    def add(self, meta: M, file: Path, *, is_guest: bool) -> None:
        """Add a registration. A file that is loaded again replaces its own.

        Raises:
            PlanError: if the user has registered the name in another file that is not a guest either.
        """
        if not is_guest:
            earlier = self._for_all.get(meta.task_name)
            if earlier is not None and earlier != file:
                raise PlanError(
                    f"Two files register the benchmark {meta.task_name!r}.",
                    where=f"{earlier} and {file}",
                    hint="Rename one of them.",
                )
            self._for_all[meta.task_name] = file
        definitions = self._by_name.setdefault(meta.task_name, {})
        definitions.pop(file, None)  # the last one loaded stands last
        definitions[file] = meta

    def in_file(self, name: str, file: Path) -> M | None:
        """The benchmark of that name that a file has registered, by whichever links the file is named; of a name
        without a protocol, the one under its only or its default protocol too.
        """
        own = _of_file(self._by_name.get(name, {}), file)
        if own is not None:
            return own
        others = (_of_file(definitions, file) for definitions in self._under_protocols(name))
        return _meant([meta for meta in others if meta is not None])

    def _under_protocols(self, name: str) -> list[dict[Path, M]]:
        return [own for key, own in self._by_name.items() if key.startswith(f"{name}{AT}")]

    def by_users(self) -> dict[str, Path]:
        """Return the registrations of the user's own files, which are not guests: name → file."""
        return dict(self._for_all)

    def forget(self, name: str) -> None:
        """Forget all registrations of a name."""
        self._by_name.pop(name, None)
        self._for_all.pop(name, None)

    def __getitem__(self, name: str) -> M:
        if name not in self._by_name:
            latest = [next(reversed(own.values())) for own in self._under_protocols(name) if own]
            found = _meant(latest)
            if found is None:
                raise KeyError(name)
            return found
        definitions = self._by_name[name]
        if name in self._for_all:
            return definitions[self._for_all[name]]
        return next(reversed(definitions.values()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def _of_file(definitions: Mapping[Path, M], file: Path) -> M | None:
    return definitions.get(file) or definitions.get(file.resolve())


def _meant(metas: list[M]) -> M | None:
    """Return the registration that a name without a protocol means: the only one, or that of the default protocol."""
    default = [meta for meta in metas if is_default(stated_protocol(meta.extra_params))]
    found = default if len(metas) > 1 else metas
    return found[0] if len(found) == 1 else None


# Of the process, because a decorator registers without naming a run. A file that is loaded again replaces its own.
BENCHMARK_MAPPINGS: Registered[BenchmarkMeta] = Registered()


class Benchmark:
    """The registry of data adapters."""

    @classmethod
    def register(cls, name: str, dataset_id: str, **kwargs: Any) -> Callable[[C], C]:
        """A decorator that makes a data adapter known.

        Args:
            name: The benchmark's name.
            dataset_id: Its dataset.
            **kwargs: Further fields of ``BenchmarkMeta``.

        Raises:
            PlanError: if a field is unknown, or, when it decorates, if another file of the user has the name.
        """
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        file, is_guest = registering_file(caller)
        where = f"{file}:{caller.f_lineno}" if caller is not None else name
        unknown = [key for key in kwargs if key not in SETTABLE]
        if unknown:
            raise PlanError(
                f"Benchmark.register does not take {unknown[0]!r}.",
                where=where,
                hint=did_you_mean(unknown[0], SETTABLE) or f"It takes {', '.join(SETTABLE)}.",
            )

        def add(data_adapter: C) -> C:
            meta = BenchmarkMeta(name=name, dataset_id=dataset_id, data_adapter=data_adapter, **kwargs)
            BENCHMARK_MAPPINGS.add(meta, file, is_guest=is_guest)
            return data_adapter

        return add

    @classmethod
    def get(cls, name: str) -> BenchmarkMeta:
        """Return the registration of a name.

        Raises:
            PlanError: if nothing is; the nearest names are given.
        """
        meta = BENCHMARK_MAPPINGS.get(name)
        if meta is None:
            loaded = ", ".join(sorted(BENCHMARK_MAPPINGS)) or "none"
            raise PlanError(
                f"There is no benchmark {name!r}.",
                hint=did_you_mean(name, BENCHMARK_MAPPINGS) or f"Loaded benchmarks: {loaded}.",
            )
        return meta


def registering_file(caller: FrameType | None) -> tuple[Path, bool]:
    """Return the file whose code registers something, and whether it was loaded as a guest."""
    if caller is None:
        return Path("?"), False
    file = Path(caller.f_code.co_filename)
    is_guest = str(caller.f_globals.get("__name__", "")).startswith(GUEST_PREFIX)
    return file.resolve() if file.exists() else file, is_guest


def latest_class(registered: Any) -> Any:
    """The class that an adapter's name means now. A class that the same file defines again further down, without the
    decorator, replaces the registered one: EvalScope's guide prints one benchmark as two listings, and both pasted into
    one file make a benchmark.
    """
    module = sys.modules.get(getattr(registered, "__module__", ""))
    name = getattr(registered, "__qualname__", "")
    latest = getattr(module, name, None)
    is_again = isinstance(latest, type) and latest.__module__ == registered.__module__ and latest.__qualname__ == name
    return latest if is_again else registered


def source_text(file: Path) -> str:
    """The text of a file, or of a notebook's cell."""
    return "".join(linecache.getlines(str(file)))


def load_registered(registered: Registered[M], spec: TaskSpec, supplied: Callable[[], dict[str, Any]], call: str) -> M:
    """Return the registration of a benchmark. Runs the file, unless the user has run it himself.

    Args:
        registered: The registrations of its generation.
        spec: The benchmark.
        supplied: Names that its code finds without importing them.
        call: The call that registers it, for messages.

    Raises:
        PlanError: if the file fails to load, needs a package that is not installed, or registers no such name.
    """
    if registered.by_users().get(spec.name) != spec.file:
        load_authors_file(spec.file, supplied)
    meta = registered.in_file(spec.name, spec.file)
    if meta is None:
        raise PlanError(
            f"{spec.file.name} does not register a benchmark {spec.name!r}.",
            where=str(spec.file),
            hint=f"Its {call}(...) is not reached when the file is loaded.",
        )
    return meta


def unknown_subsets(meta: Named, wanted: Any) -> list[str]:
    """Return subsets that the run names and the registration does not. An author who names none may have any."""
    if not isinstance(wanted, (list, tuple)) or meta.subset_list == _ANY_SUBSET:
        return []
    return [str(name) for name in wanted if name not in meta.subset_list]


def no_subset(meta: Named, names: Sequence[str], loaded: Sequence[str] = ()) -> PlanError:
    """Return the error that names a subset which a benchmark does not have.

    Args:
        meta: The registration.
        names: The subsets; the first is named.
        loaded: Those that its code has loaded, beside those of the registration.
    """
    subsets = list(dict.fromkeys([*meta.subset_list, *loaded]))
    hint = did_you_mean(names[0], subsets) or f"It has: {', '.join(map(str, subsets[:20]))}."
    return PlanError(f"Benchmark {meta.name!r} has no subset {names[0]!r}.", where="subset_list", hint=hint)
