"""Tasks and samples: what a benchmark is once a format has read it and compiled it for a model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from polymeter.core.errors import PlanError, PolymeterError
from polymeter.core.model import Model, ModelTraits
from polymeter.core.parts import Modality
from polymeter.core.request import OwnPrompt, Parameters, Request, RequestKind, Response
from polymeter.core.status import SampleStatus

if TYPE_CHECKING:
    from polymeter.core.role_client import RoleClient

MetricKey = tuple[str, str]
RolloutSteps = Generator[Request | tuple[Request, ...] | OwnPrompt, Any, Any]
"""Yields a Request (or an OwnPrompt) and is sent its Response, or a tuple of Requests and is sent the tuple of
Responses in order. What
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
        requests: Kinds of request that the model must answer.
        modalities: Modalities that the model must take.
        roles: Further models, by role (``judge``).
        packages: Importable modules that must be there.
        are_prompts_unknown: Whether the model makes the prompts itself, so that only a first sample shows what they
            hold.
    """

    requests: frozenset[RequestKind] = frozenset({"generate"})
    modalities: frozenset[Modality] = frozenset({"text"})
    roles: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    are_prompts_unknown: bool = False


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
class ScoredRow:
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
        role_client: Asks the models of further roles (a judge).
        failed: Takes the failure of one metric's aggregation, so that the others are kept; ``None``: it is raised.
        model: What the run calls its model.
        roles: What it calls the models in its other roles, by role.
    """

    output_dir: Path
    seed: int = 0
    args: Any = None
    role_client: RoleClient | None = None
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


@dataclass(frozen=True, slots=True)
class RowFunctions:
    """What a wrapped model may ask about a row of a task, besides what its request holds. All but ``full_doc`` are the
    author's own functions: whoever calls them goes through the door for guests.

    Attributes:
        full_doc: Position of a sample → its row with lazy media.
        target: Position of a sample → what is expected; ``None``: the task does not say.
        choices: Position of a sample → the texts to choose from; ``None``: the task has none.
        next_round: ``(row, previous_output=…, round_idx=…, …)`` → what a task of several rounds shows next.
        next_messages: The same, as chat messages.
        prompt_row: Position of a sample → the row from which a model makes a prompt of its own: a mapping or a
            ``pandas.Series``; ``None``: the full row.
        dump_image: Such a row → the paths of its images; ``None``: the model writes them itself.
    """

    full_doc: Callable[[int], dict[str, Any]]
    target: Callable[[int], Any] | None = None
    choices: Callable[[int], Any] | None = None
    next_round: Callable[..., Any] | None = None
    next_messages: Callable[..., Any] | None = None
    prompt_row: Callable[[int], Any] | None = None
    dump_image: Callable[[Any], Any] | None = None


def _nothing_to_finish(results: Sequence[Result], report_path: Path) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A benchmark that a format has compiled for a model: functions, and what the engine has to know of them.

    Attributes:
        spec: What it was made from.
        needs: What it needs of the run.
        samples: Its samples.
        rollout: Asks about one sample; see ``RolloutSteps``.
        score: Scores what a finished rollout left. Raises ScoreError if the author's code fails or an answer is not of
            a kind that can be scored, UnscoredError if a judge's verdict cannot be had or used.
        reduce: Results of rows in sample order.
        finish: Sees the results once they are written, and the path of the report.
        row_functions: What wrapped models may ask about its rows.
        parameters: What its requests ask for, without seeds and continuations, as far as that is known beforehand.
        fingerprint: Identity of the data: dataset fingerprint and split.
        score_digest: Hash of what turns answers into scores.
        is_guest: Whether ``rollout`` and ``score`` run code that Polymeter did not write; such calls are locked and
            seeded.
        is_thread_safe: Whether a guest declares that its hooks may run at the same time.
        limits_subsets: Whether it takes the run's limit as so many samples of each subset, and has applied it already.
        batch_size: The batch size that its author asks for; the plan's wins.
        num_fewshot: Number of examples, for the table.
        notes: What the user should know of how it was compiled.
    """

    spec: TaskSpec
    needs: Needs
    samples: Samples
    rollout: Callable[[Sample], RolloutSteps]
    score: Callable[[Sample, Rollout], Score]
    reduce: Callable[[Iterable[ScoredRow], ReduceContext], list[Result]]
    finish: Callable[[Sequence[Result], Path], None] = _nothing_to_finish
    row_functions: RowFunctions
    parameters: tuple[Parameters, ...] = ()
    fingerprint: str
    score_digest: str
    is_guest: bool = False
    is_thread_safe: bool = False
    limits_subsets: bool = False
    batch_size: int | None = None
    num_fewshot: int = 0
    notes: tuple[str, ...] = ()


def unknown_needs(needs: Needs, traits: ModelTraits) -> list[str]:
    """The kinds of request and the modalities of a task of which it is not known whether the model can do them."""
    return sorted([*(needs.requests - traits.requests.keys()), *(needs.modalities - traits.modalities.keys())])


def ignored_settings(tasks: Iterable[Task], model: Model, name: str) -> list[str]:
    """What to tell the user of settings that tasks ask for and a model cannot honour: a sentence for all settings that
    the same tasks set and that are not honoured for the same reason.
    """
    ignored: dict[tuple[str, str], dict[str, None]] = {}
    for task in tasks:
        for ask in task.parameters:
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
    for ask in sorted(needs.requests):
        if traits.requests.get(ask) is False:
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
