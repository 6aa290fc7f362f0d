"""Tasks and samples: what a benchmark is once a format has read it and compiled it for a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

from polymeter.core.acting.episodes import Act, Environment
from polymeter.core.errors import PolymeterError
from polymeter.core.media.showing import NOTHING_STATED, Showing
from polymeter.core.names.catalog import AT
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.records.spread import UNBOUNDED, Bounds, Spread, Terms
from polymeter.core.request import Parameters, Request, Response, Step, Tags
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.choice_orders import ChoiceOrders, Order
from polymeter.core.settings.needs import Needs

if TYPE_CHECKING:
    from polymeter.core.records.protocol import BenchmarkProtocol
    from polymeter.core.role_client import RoleClient

MetricKey = tuple[str, str]
RolloutSteps = Generator[Step | tuple[Request | Act, ...], Any, Any]
"""Yields a Request (or an Act, or an OwnPrompt) and is sent its Response, or yields a tuple of Requests and Acts and is
sent the tuple of Responses in order. What it returns is kept with the sample and passed to ``score``."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A benchmark as pure, picklable data.

    Attributes:
        name: Unique in a run.
        format: Which format reads it.
        file: Where it is written.
        config: Its resolved configuration. Values are plain data, or frozen records with which the format refers to
            code.
        source_hash: Hash over everything its authors wrote that can change a number: configuration and code files.
        sources: The files behind ``source_hash``.
        alias: The name to print.
        version: The author's version, as printed.
        package: The installed package that brings it, with its version (``lmms_eval 0.7.2``); empty if none does.
        runs_generated_code: Whether scoring it runs code that the model writes.
        protocol: The protocol that it states, whose name is part of ``name``; ``None``: it states none.
    """

    name: str
    format: str
    file: Path
    config: Mapping[str, Any]
    source_hash: str
    sources: tuple[Path, ...] = ()
    alias: str = ""
    version: str = ""
    package: str = ""
    runs_generated_code: bool = False
    protocol: BenchmarkProtocol | None = None

    @property
    def title(self) -> str:
        """The name to print."""
        return self.alias or self.name

    @property
    def benchmark(self) -> str:
        """Its name without that of its protocol: the one that its author's code knows."""
        return self.name if self.protocol is None else self.name.removesuffix(f"{AT}{self.protocol.name}")


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A named set of tasks and groups.

    Attributes:
        name: The group's name.
        alias: The name to print.
        members: Names of tasks and groups, in the author's order.
        aggregates: How the members' metrics become the group's: ``metric``, ``filter_list``, ``aggregation``,
            ``weight_by_size``; with ``over_tasks`` of all tasks below the group, and of every filter that one of them
            has the metric with if ``filter_list`` is empty.
        file: Where it is written.
        version: The author's version, as printed.
    """

    name: str
    alias: str
    members: tuple[str, ...]
    aggregates: tuple[Mapping[str, Any], ...] = ()
    file: Path | None = None
    version: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One row of a benchmark.

    Attributes:
        task: Name of the task.
        id: Unique within the task, subset included, stable across runs.
        index: Position in the task's sample order.
        subset: Path of the subset; empty if there is only one.
        cluster: What the sample shares with others (an image, a video); ``None`` when samples are independent.
        doc: The row without media: one real dict, the same object from first prompt to score.
        load_full_doc: Reads the row with (lazy) media.
        order: The order of its choices, if it is not the author's; see ``core.settings.choice_orders``.
        original: The same sample in its author's order, if this one is in another.
    """

    task: str
    id: str
    index: int
    doc: dict[str, Any]
    subset: tuple[str, ...] = ()
    cluster: str | None = None
    load_full_doc: Callable[[], dict[str, Any]] | None = field(default=None, repr=False)
    order: Order = ()
    original: Sample | None = field(default=None, repr=False)

    def full_doc(self) -> dict[str, Any]:
        """The row with lazy media."""
        return self.doc if self.load_full_doc is None else self.load_full_doc()


@dataclass(frozen=True, slots=True)
class Rollout:
    """The result of a finished rollout: all responses in the order of the requests, and the return value of the
    generator.
    """

    responses: tuple[Response, ...]
    returned: Any = None


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one sample.

    Attributes:
        values: By metric and filter. Any value; what the store cannot hold exactly is computed again when needed. NaN
            means that this metric has no value for this sample.
        target: What was expected, as text to show.
        answer: What was scored, after filters, as text to show.
        explanation: Why, as text to show.
        log: Further values that the task reports for the sample; they are stored and never aggregated. Images (Pillow
            images or ``Image`` parts) are stored as previews, which the HTML report shows beside the answer.
        judge_calls: Fingerprints of the judge's answers that it rests on. Filled in by the engine.
        judge_rules: For each of them, the rule by which its verdict was read; empty text where code read it that did
            not say. Filled in by the engine.
        scorers: What it was measured with, and in whose place, where scoring has reported that. Filled in by the
            engine.
        n_unfinished: How many of the sample's answers ended inside their reasoning and were read as empty. Filled in by
            the engine.
        extracted: By metric and filter, the part of the answer that the metric has read and compared, as text; ``None``
            where it found none. A metric is absent if that is not known. Repeats vote on it; it is not stored.
    """

    values: Mapping[MetricKey, Any]
    target: str | None = None
    answer: str | None = None
    explanation: str | None = None
    log: Mapping[str, Any] = field(default_factory=dict)
    judge_calls: tuple[str, ...] = ()
    judge_rules: tuple[str, ...] = ()
    scorers: tuple[tuple[str, str], ...] = ()
    n_unfinished: int = 0
    extracted: Mapping[MetricKey, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """The way in which the answers of a task's model are read before its rollout and its score get them.

    Attributes:
        tags: The pairs of tags around reasoning; ``None``: those that are known; empty: the text is kept unchanged.
        is_separated: Whether reasoning is removed. Code written for another system gets it where its system leaves it.
        is_scored_apart: Whether the format itself removes it when it scores, since code that asks again gets it.
        stops_anywhere: Whether stop strings count from the first character on, reasoning included.
    """

    tags: Tags | None = None
    is_separated: bool = True
    is_scored_apart: bool = False
    stops_anywhere: bool = False


USUAL_READING = ReadingRules()


class SampleStatus(str, Enum):
    """The end of a sample. Only ``ok`` carries a score; a failure is never an answer.

    An answer that reached its token limit is an ordinary answer (``ok``); ``truncated`` means that a limit of the
    *run* ended the sample early.
    """

    OK = "ok"
    ERROR = "error"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    UNSCORED = "unscored"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One sample as the journal holds it, for reductions. ``score`` is ``None`` unless the status is ``ok``.

    The answers are read by ``load_responses`` only when they are used; most reductions do not need them.
    """

    id: str
    index: int
    subset: tuple[str, ...]
    cluster: str | None
    status: SampleStatus
    score: Score | None
    load_responses: Callable[[], tuple[Response, ...]] | None = field(default=None, repr=False)

    def responses(self) -> tuple[Response, ...]:
        """The sample's answers, in the order of the requests."""
        return self.load_responses() if self.load_responses else ()


@dataclass(frozen=True, slots=True)
class Result:
    """One number (or JSON value) of a run.

    Attributes:
        metric: Its name.
        filter: Which reading of the answers it rests on.
        subset: Path of the subset; empty for the whole task.
        value: The number; any JSON value if a task's own aggregation returns one; ``None`` if nothing could be scored.
        n: How many samples it rests on.
        stderr: Standard error, if it can be computed.
        interval: 95 % interval, if it can be computed.
        stderr_method: How the error was computed: ``mean``, ``clustered``, ``bootstrap``, ``pooled``.
        higher_is_better: ``None``: unknown.
        artifacts: Files written by the aggregation, relative to the run folder.
        n_planned: How many samples it would rest on if none had failed; ``None``: all of its task.
        ci_method: How the interval was computed: ``score``, ``hall``, ``score and hall``, ``bootstrap score``,
            ``bootstrap hall``.
        no_interval: Why there is no interval, in a few words; empty if there is one, or no number either.
        spread: What the interval of a mean rests on, or, for a group, the sum of those of its members. For groups; not
            written to files.
        n_members: Of a group's number: how many members could have been part of it.
        failed_members: Of a group's number: the members that are not part of it, because they have no result.
        bounds: The range of the number, as far as its metric declares one; ``None`` for an end that is not known.
        item_errors: The standard error of the mean of the items' numbers, and the clustered one, where the task's own
            aggregation has changed these items; ``None``: it has not changed the stored ones.
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
    ci_method: str | None = None
    no_interval: str = ""
    spread: Spread | Terms | None = field(default=None, repr=False, compare=False)
    n_members: int | None = None
    failed_members: tuple[str, ...] = ()
    bounds: Bounds = UNBOUNDED
    item_errors: tuple[float | None, float | None] | None = None


@dataclass(frozen=True, slots=True)
class ReduceContext:
    """The input of a reduction.

    Attributes:
        output_dir: Where submissions and other side files go.
        seed: For resampling.
        args: The command line's arguments as a namespace, for guests' aggregations that take ``args``.
        role_client: Asks the models of further roles (a judge).
        failed: Receives the failure of one metric's aggregation, so that the others are kept; ``None``: the error is
            raised.
        model: The run's name for its model.
        roles: The run's names for the models in its other roles, by role.
    """

    output_dir: Path
    seed: int = 0
    args: Any = None
    role_client: RoleClient | None = None
    failed: Callable[[PolymeterError], None] | None = None
    model: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)


class Samples(Protocol):
    """The samples of a task: a known length and random access. A slice is a list. No sample is held in memory."""

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...


class SampleView(ABC):
    """Base of ``Samples`` that makes each sample when it is accessed and holds none."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _sample(self, index: int) -> Sample:
        """The sample at a position."""

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return [self._sample(position) for position in range(*index.indices(len(self)))]
        return self._sample(index)


def _nothing_to_finish(results: Sequence[Result], report_path: Path) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """A benchmark that a format has compiled for a model: functions, and facts about them for the engine.

    Attributes:
        spec: The specification that it was made from.
        needs: Its needs from the run.
        samples: Its samples.
        rollout: Makes the requests for one sample; see ``RolloutSteps``.
        score: Scores a finished rollout. Raises ScoreError if the author's code fails or an answer is not of
            a kind that can be scored, UnscoredError if a judge's verdict is missing or unusable.
        reduce: Turns rows in sample order into results.
        finish: Called with the results once they are written, and with the path of the report.
        row_functions: The functions through which wrapped models ask about its rows.
        parameters: The parameters of its requests, without seeds and continuations, as far as they are known
            beforehand.
        fingerprint: Identity of the data: dataset fingerprint and split.
        score_digest: Hash of the code and settings that turn answers into scores.
        is_guest: Whether ``rollout`` and ``score`` run code that Polymeter did not write; such calls take the lock and
            are seeded.
        is_thread_safe: Whether a guest declares that its hooks may run at the same time.
        limits_subsets: Whether the run's limit counts for each of its subsets, and has been applied already.
        batch_size: The batch size that its author sets; the plan's wins.
        num_fewshot: Number of few-shot examples, for the table of results.
        reading: The way in which its model's answers are read.
        keeps_answers_only: Whether the run needs its answers and no score.
        revisions: The commits of datasets of a hub that it reads, by id, as far as that is known.
        notes: What the user should know about how it was compiled.
        findings: What the user should know before the first request; the results hold it among their notes.
        prompt_place: ``file:line`` of the template that makes its prompts; empty: there is none.
        has_rounds: Whether later prompts answer what the model said to earlier ones.
        repeats: The number of times that its own settings ask each question.
        showing: What models are shown of the media of its prompts, as far as its author, or the run, states that.
        further_subsets: Position of a sample → the subsets that its results have it in besides its own, each a path
            whose first part names what groups them; ``None``: there are none.
        media_folders: Where relative paths of files of its rows are looked for, before the working directory.
        choice_orders: Makes the functions that ask its questions with their choices in another order. Raises UnfitError
            if their order cannot matter, or cannot be changed. ``None``: its format knows of no choices.
        environment: Where the acts of its rollouts are enacted; ``None``: they have none.
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
    reading: ReadingRules = USUAL_READING
    keeps_answers_only: bool = False
    revisions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: tuple[LintFinding, ...] = ()
    prompt_place: str = ""
    has_rounds: bool = False
    repeats: int = 1
    showing: Showing = NOTHING_STATED
    further_subsets: Callable[[int], Sequence[tuple[str, ...]]] | None = None
    media_folders: tuple[Path, ...] = ()
    choice_orders: Callable[[], ChoiceOrders] | None = None
    environment: Environment | None = None
