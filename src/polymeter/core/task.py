"""Tasks and samples: what a benchmark is once a dialect has read it and planning has bound it to a model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.model import Model, ModelTraits
from polymeter.core.parts import Modality
from polymeter.core.request import Ask, Request, RequestKind, Response
from polymeter.core.status import SampleStatus

if TYPE_CHECKING:
    from polymeter.core.role_client import RoleClient

MetricKey = tuple[str, str]
RolloutSteps = Generator[Request | tuple[Request, ...], Any, Any]
"""Yields a Request and is sent its Response, or a tuple of Requests and is sent the tuple of Responses in order. What
it returns is kept with the sample and given to ``score``."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A benchmark as pure, picklable data.

    Attributes:
        name: Unique in a run.
        format: Which format reads it.
        file: Where it is written.
        config: Its resolved configuration. Values are plain data, or the dialect's own frozen stand-ins for code.
        source_hash: Hash over everything its authors wrote that can change a number: configuration and code files.
        sources: The files behind ``source_hash``.
        alias: The name to print.
        version: The author's version, as printed.
    """

    name: str
    format: str
    file: Path
    config: Mapping[str, Any]
    source_hash: str
    sources: tuple[Path, ...] = ()
    alias: str = ""
    version: str = ""

    @property
    def title(self) -> str:
        """The name to print."""
        return self.alias or self.name


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A named set of tasks and groups.

    Attributes:
        name: The group's name.
        alias: The name to print.
        members: Names of tasks and groups, in the author's order.
        aggregates: How the members' metrics become the group's: ``metric``, ``filter_list``, ``aggregation``,
            ``weight_by_size``.
        file: Where it is written.
        version: The author's version, as printed.
    """

    name: str
    alias: str
    members: tuple[str, ...]
    aggregates: tuple[Mapping[str, Any], ...] = ()
    file: Path | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a task needs of a run; declared before anything runs.

    Attributes:
        asks: Asks that the model must answer.
        modalities: Modalities that the model must take.
        roles: Further models, by role (``judge``).
        packages: Importable modules that must be there.
    """

    asks: frozenset[RequestKind] = frozenset({"generate"})
    modalities: frozenset[Modality] = frozenset({"text"})
    roles: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One row of a benchmark in play.

    Attributes:
        task: Name of the task.
        id: Unique within the task, subset included, stable across runs.
        index: Position in the task's sample order.
        subset: Path of the subset, empty when there is only one.
        cluster: What the sample shares with others (an image, a video); ``None`` when samples are independent.
        doc: The row without media: one real dict that lives from first prompt to score.
        load_full_doc: Reads the row with (lazy) media.
    """

    task: str
    id: str
    index: int
    doc: dict[str, Any]
    subset: tuple[str, ...] = ()
    cluster: str | None = None
    load_full_doc: Callable[[], dict[str, Any]] | None = field(default=None, repr=False)

    def full_doc(self) -> dict[str, Any]:
        """The row with lazy media."""
        return self.doc if self.load_full_doc is None else self.load_full_doc()


@dataclass(frozen=True, slots=True)
class Rollout:
    """What a finished play left: all responses in the order of asking, and what the generator returned."""

    responses: tuple[Response, ...]
    returned: Any = None


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one sample.

    Attributes:
        values: By metric and filter. Any value; what the store cannot hold exactly is computed again when needed. A
            NaN means that this metric could not be had for this sample.
        target: What was expected, as text, for people.
        answer: What was scored, after filters, as text, for people.
        explanation: Why, for people.
        log: Further values that the task reports of the sample; kept, never aggregated. Of pictures (Pillow images or
            ``Image`` parts) previews are kept, and the page shows them beside the answer.
        judge_calls: Fingerprints of the judge's answers it rests on. Filled by the engine.
    """

    values: Mapping[MetricKey, Any]
    target: str | None = None
    answer: str | None = None
    explanation: str | None = None
    log: Mapping[str, Any] = field(default_factory=dict)
    judge_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One sample as the journal holds it, for reductions. ``score`` is ``None`` unless the status is ``ok``.

    ``load_responses`` reads the answers; most reductions do not need them.
    """

    id: str
    index: int
    subset: tuple[str, ...]
    cluster: str | None
    status: SampleStatus
    score: Score | None
    load_responses: Callable[[], tuple[Response, ...]] | None = field(default=None, repr=False)

    def responses(self) -> tuple[Response, ...]:
        """The sample's answers, in the order of asking."""
        return self.load_responses() if self.load_responses else ()


@dataclass(frozen=True, slots=True)
class Result:
    """One number (or JSON value) of a run.

    Attributes:
        metric: Its name.
        filter: Which reading of the answers it rests on.
        subset: Path of the subset; empty for the whole task.
        value: The number; any JSON value where a task's own aggregation gives one; ``None`` when nothing could be
            scored.
        n: How many samples it rests on.
        stderr: Standard error, where it can be had.
        interval: 95 % interval, where it can be had.
        stderr_method: How it was had: ``mean``, ``clustered``, ``bootstrap``, ``pooled``.
        higher_is_better: ``None``: unknown.
        artifacts: Files written on the way, relative to the run folder.
        n_planned: How many samples it would rest on if none had failed; ``None``: all of its task.
    """

    metric: str
    filter: str
    value: Any
    n: int
    subset: tuple[str, ...] = ()
    stderr: float | None = None
    interval: tuple[float, float] | None = None
    stderr_method: str | None = None
    higher_is_better: bool | None = None
    artifacts: tuple[str, ...] = ()
    n_planned: int | None = None


@dataclass(frozen=True, slots=True)
class ReduceContext:
    """What a reduction may use.

    Attributes:
        output_dir: Where submissions and other side files go.
        seed: For resampling.
        args: The command line's arguments as a namespace, for foreign aggregations that take ``args``.
        ask: Asks a judge.
        failed: Takes the failure of one metric's aggregation, so that the others are kept; ``None``: it is raised.
        model: What the run calls its model.
        roles: What it calls the models in its other roles, by role.
    """

    output_dir: Path
    seed: int = 0
    args: Any = None
    ask: RoleClient | None = None
    failed: Callable[[PolymeterError], None] | None = None
    model: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)


class Samples(Protocol):
    """The samples of a task: length known, random access, slices give lists. Nothing is held."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...


class Task(Protocol):
    """A TaskSpec bound to a model's traits.

    Attributes:
        spec: What it was made from.
        needs: What it needs of the run.
        samples: Its samples.
        is_guest: Whether ``play`` and ``score`` run code that Polymeter did not write; such calls are locked and
            seeded.
        is_thread_safe: Whether a guest declares that its hooks may run at the same time.
        fingerprint: Identity of the data: dataset fingerprint and split.
        score_digest: Hash of what turns answers into scores.
        num_fewshot: For the table.
        notes: What the user should know of how it was bound.
        asks: What its requests ask for, without seeds and continuations, as far as that is known beforehand.
    """

    spec: TaskSpec
    needs: Needs
    is_guest: bool
    is_thread_safe: bool
    fingerprint: str
    score_digest: str
    num_fewshot: int
    notes: tuple[str, ...]

    @property
    def asks(self) -> Sequence[Ask]: ...
    @property
    def samples(self) -> Samples: ...
    def play(self, sample: Sample) -> RolloutSteps: ...
    def score(self, sample: Sample, played: Rollout, ask: RoleClient) -> Score: ...
    def reduce(self, rows: Iterable[Row], context: ReduceContext) -> list[Result]: ...
    def finish(self, results: Sequence[Result], report_path: Path) -> None: ...


def unknown_needs(needs: Needs, traits: ModelTraits) -> list[str]:
    """The asks and modalities of a task of which it is not known whether the model can do them."""
    return sorted([*(needs.asks - traits.asks.keys()), *(needs.modalities - traits.modalities.keys())])


def ignored_settings(tasks: Iterable[Task], model: Model, name: str) -> list[str]:
    """What to tell the user of settings that tasks ask for and a model cannot honour: a sentence for all settings that
    the same tasks set and that are not honoured for the same reason.
    """
    ignored: dict[tuple[str, str], dict[str, None]] = {}
    for task in tasks:
        for ask in task.asks:
            for setting, reason in model.ignores(ask).items():
                ignored.setdefault((setting, reason), {})[task.spec.name] = None
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (setting, reason), names in sorted(ignored.items()):
        alike.setdefault((reason, tuple(names)), []).append(setting)
    return [
        f"Model {name!r} cannot honour {_listed(settings)}, which {_named(names)}: {reason}"
        for (reason, names), settings in alike.items()
    ]


def _listed(settings: Sequence[str]) -> str:
    *others, last = map(repr, settings)
    return f"{', '.join(others)} and {last}" if others else last


def _named(tasks: Sequence[str]) -> str:
    if len(tasks) == 1:
        return f"task {tasks[0]!r} sets"
    return f"{len(tasks)} tasks set ({', '.join(tasks[:3])}{', …' if len(tasks) > 3 else ''})"


def check_needs(needs: Needs, traits: ModelTraits, *, task: str, model: str, roles: Iterable[str] = ()) -> None:
    """Refuse a pair of task and model that cannot work.

    Raises:
        PlanError: The model is known not to answer an ask or take a modality, needs one that the task does not show,
            or a role is not filled.
    """
    for ask in sorted(needs.asks):
        if traits.asks.get(ask) is False:
            raise PlanError(
                f"Task {task!r} asks for {ask!r}, which model {model!r} cannot do.",
                hint="Choose another model, or a variant of the task that asks for something else.",
            )
    for modality in sorted(needs.modalities):
        if traits.modalities.get(modality) is False:
            raise PlanError(
                f"Task {task!r} shows {modality} to the model, which {model!r} cannot take.",
                hint="Choose another model or task.",
            )
    for modality in traits.requires:
        if modality not in needs.modalities:
            raise PlanError(
                f"Task {task!r} shows no {modality} to the model, and {model!r} needs one.",
                hint="Choose another model or task.",
            )
    missing = sorted(needs.roles - set(roles))
    if missing:
        raise PlanError(
            f"Task {task!r} needs a model in the role {missing[0]!r}.", hint=f"Name one with --{missing[0]}."
        )
