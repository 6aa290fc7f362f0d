"""Planning: from names to tasks, checked whole before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.acting.tools import Effect
from polymeter.core.errors import DataError, MissingPackageError, PlanError, ScoreError, UnfitError
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.identity import fingerprint
from polymeter.core.machine.places import require_place
from polymeter.core.media.showing import read_showing, with_subtitles_decided
from polymeter.core.model import BatchModel, Model, ModelSpec, ModelTraits
from polymeter.core.names.installed import is_guests_place
from polymeter.core.names.parity import Parity, parity_with
from polymeter.core.names.registries import stored_format
from polymeter.core.options import RunOptions
from polymeter.core.records.human_scores import HumanScores, refuse_on_repeats
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.settings.generated_code import refuse_generated_code
from polymeter.core.settings.needs import (
    check_needs,
    check_offered_tools,
    check_subtitles,
    ignored_settings,
    moved_results,
    unfollowed_rules,
)
from polymeter.core.task import Task, TaskSpec
from polymeter.data.showing.row_subtitles import check_columns, subtitle_findings
from polymeter.guests.door import in_mode
from polymeter.guests.opened_sources import collecting_sources, hash_with_opened, opened_behind
from polymeter.prices import PriceBook
from polymeter.reading import READING_VERSION
from polymeter.reading.reasoning import parse_tags, tags_in_force
from polymeter.run.ablation.task import ablated
from polymeter.run.dispatch.answers import AnswerReader
from polymeter.run.permuting.task import permuted
from polymeter.run.plan.data_places import AskedPlaces, check_places, protocol_findings
from polymeter.run.plan.generation_settings import check_task_settings, passed_on, with_passed_on
from polymeter.run.plan.missing_packages import missing_later
from polymeter.run.plan.selection import SelectedTasks, format_of
from polymeter.run.plan.stored import StoredAnswers
from polymeter.run.repeats.task import repeated
from polymeter.run.schedule.running_samples import MODEL_ROLE

if TYPE_CHECKING:
    from polymeter.run.budget.budget import Budget
    from polymeter.run.dispatch.replicas.hosts import Place
    from polymeter.run.reuse.lookup import Reuse


@dataclass(slots=True)
class Plan:
    """One evaluation, checked.

    Attributes:
        model: The model.
        model_spec: Its spec; ``None`` when the caller gave an object.
        roles: Further models by role.
        role_specs: Their specs.
        patterns: The names that the user gave.
        selection: The tasks.
        options: Every setting.
        opened: The tasks, bound to the model.
        notes: Notes on the choice for the user.
        findings: Those of the notes that are shown before the first request: those of its tasks, in their order, then
            those about the model's settings, missing packages, and data that no task asks for.
        skipped: Tasks that the model cannot do, each with the reason.
        typed_data: The ids of datasets for which the user named a place, for this run.
        pinned: The commits that a resumed run has read until now: by task, then by id of the dataset.
        context: The settings that the tasks were compiled with; ``None`` before that.
        place: The place of replicas of models, and of scoring; ``None``: all of it is in this process.
        budget: The caps of the run; ``None``: there are none.
        prices: The prices of its models.
        reuse: Answers of other runs; ``None``: none are named.
        environments: The environments of its tasks, by task: name, effect and identity. None where nothing acts.
    """

    model: Model
    model_spec: ModelSpec | None
    patterns: tuple[str, ...]
    selection: SelectedTasks
    options: RunOptions
    roles: Mapping[str, Model] = field(default_factory=dict)
    role_specs: Mapping[str, ModelSpec | None] = field(default_factory=dict)
    opened: tuple[Task, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[LintFinding, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    typed_data: tuple[str, ...] = ()
    pinned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    context: OpenContext | None = None
    place: Place | None = None
    budget: Budget | None = None
    prices: PriceBook = field(default_factory=PriceBook)
    reuse: Reuse | None = None
    environments: dict[str, tuple[str, tuple[Effect, Mapping[str, Any]]]] = field(default_factory=dict)

    @property
    def parity(self) -> Parity:
        """The system whose values are wanted where Polymeter differs from it."""
        return parity_with(self.options.parity)

    def add_findings(self, findings: Iterable[LintFinding]) -> None:
        """Add what is remarkable about the run or one of its open tasks."""
        order = {task.spec.name: number for number, task in enumerate(self.opened)}
        found = [one for one in dict.fromkeys((*self.findings, *findings)) if not one.task or one.task in order]
        self.findings = tuple(sorted(found, key=lambda one: order.get(one.task, len(order))))
        self.notes = tuple(dict.fromkeys((*self.notes, *map(str, self.findings))))


def answer_reader(plan: Plan) -> AnswerReader:
    """Reads the answers of a plan's models. Wrapped models apply stop strings themselves, unless the plan says that
    Polymeter does.
    """
    if plan.options.apply_stops_to_foreign:
        return AnswerReader()
    models = {MODEL_ROLE: plan.model, **plan.roles}
    return AnswerReader(frozenset(role for role, model in models.items() if model.traits.is_foreign))


def cache_folder(options: RunOptions) -> Path:
    """Return the folder of prepared data and indexes: as given, else ``POLYMETER_CACHE_DIR``, else the user's cache
    folder.

    Raises:
        PlanError: if no folder can be there.
    """
    told = options.cache_dir or os.environ.get("POLYMETER_CACHE_DIR")
    if told:
        require_place(told, "The cache folder")
        if Path(told).is_file():
            hint = "Name a folder with --cache-dir, cache_dir in the settings, or POLYMETER_CACHE_DIR."
            raise PlanError("The cache folder is a file.", where=str(told), hint=hint)
        return Path(told)
    from platformdirs import user_cache_path

    return user_cache_path("polymeter")


def compile_tasks(plan: Plan, cache_dir: Path | None, *, is_begun: bool = False) -> None:
    """Bind every task to the model and open its data; check what it needs.

    Args:
        plan: The plan.
        cache_dir: Where prepared data is kept.
        is_begun: Whether answers of the run are stored already.

    Raises:
        PlanError: A task and the model, or a role, do not fit.
        DataError: A dataset cannot be opened.
    """
    options = plan.options
    n_answers = options.repeats * (options.permute_choices or 1)
    refuse_on_repeats(map(HumanScores.of, options.verdicts.values()), n_answers)
    is_limit_shared = plan.parity.on("limit-of-first-task")
    places, revisions = AskedPlaces(options.data), AskedPlaces(options.revisions)
    shared = OpenContext(
        seed=options.seed,
        generation=with_passed_on(options.generation, plan.model.traits),
        num_fewshot=options.num_fewshot,
        prompt_key=options.prompt_key,
        system_prompt=options.system_prompt,
        data=places,
        limit=options.limit,
        offset=options.offset,
        is_mcq_text=options.mcq == "text",
        roles=role_names(plan),
        parity=plan.parity,
        reasoning_tags=parse_tags(options.reasoning_tags, "--reasoning-tags"),
        is_begun=is_begun,
        revisions=plan.pinned,
        cache_dir=cache_dir,
    )
    plan.context = replace(shared, data=dict(options.data), is_begun=True)
    opened: list[Task] = []
    unfit: dict[str, str] = {}
    last: UnfitError | None = None
    for spec in plan.selection.tasks:
        _refuse_generated_code(spec, options)
        try:
            with collecting_sources() as collected, _placed(spec):
                task = compiled(spec, plan.model.traits, shared, options, revisions)
                _refuse_generated_code(task.spec, options)
                check_needs(task.needs, plan.model.traits, task=spec.name, model=model_name(plan), roles=plan.roles)
                _check_live(plan, task)
        except DataError:
            check_places(places, plan.typed_data, may_ask_later=True)
            raise
        except UnfitError as error:
            if not options.skip_unfit:
                raise
            unfit[spec.name], last = error.what, error
            continue
        task = _with_opened(task, opened_behind(spec.sources, collected))
        if len(task.samples) == 0:
            raise PlanError(
                f"Task {spec.name!r} has no samples.", where=str(spec.file), hint="Check its split and process_docs."
            )
        if is_limit_shared and options.limit is not None and options.limit < 1 and not task.limits_subsets:
            # The share becomes a number of samples with the first task, and stays that number for all others.
            count = len(samples_to_run(len(task.samples), options.model_copy(update={"offset": 0})))
            options = plan.options = options.model_copy(update={"limit": float(count)})
        if not selected_samples(task, options):
            raise PlanError(
                f"Task {spec.name!r} has {len(task.samples)} samples: an offset of {options.offset} leaves none.",
                where="offset",
            )
        opened.append(task)
    if not opened and last is not None:
        raise last
    skip(plan, unfit)
    # A replica that opens a task later reads the commits that were read here.
    plan.context = replace(plan.context, revisions={task.spec.name: task.revisions for task in opened})
    plan.opened = tuple(opened)
    is_checked = not (is_begun or options.passes_unknown_settings or isinstance(plan.model, StoredAnswers))
    if is_checked:  # a run that continues keeps what it began with
        check_task_settings(options.generation, opened, plan.model)
    plan.selection = replace(plan.selection, tasks=tuple(task.spec for task in opened))
    may_ask_later = any(task.is_guest for task in opened) or bool(unfit)
    unused = [
        *check_places(places, plan.typed_data, may_ask_later=may_ask_later),
        *check_places(revisions, [*options.revisions], may_ask_later=may_ask_later, option="--revision"),
    ]
    plan.notes = tuple(dict.fromkeys([*plan.notes, *(note for task in opened for note in task.notes)]))
    plan.add_findings(
        [
            *(finding for task in opened for finding in task.findings),
            *ignored_settings(opened, plan.model, model_name(plan)),
            *passed_on(options.generation, opened, plan.model, model_name(plan)),
            *unfollowed_rules(opened, plan.model, model_name(plan)),
            *moved_results(opened, plan.model, model_name(plan)),
            *_how_code_runs(opened),
            *(LintFinding("unused-data", sentence) for sentence in unused),
            *(LintFinding("missing-package", sentence) for sentence in missing_later(task.spec for task in opened)),
        ]
    )


def compiled(
    spec: TaskSpec,
    traits: ModelTraits,
    shared: OpenContext,
    options: RunOptions,
    revisions: AskedPlaces | None = None,
) -> Task:
    """Bind a task to a model's traits, and open its data.

    Args:
        spec: The task.
        traits: The model's.
        shared: The settings of the run, without those of one format.
        options: The run's options.
        revisions: Records the revisions of datasets that are asked for.

    Raises:
        PlanError: The task and the model do not fit.
        DataError: Its dataset cannot be opened.
    """
    context = replace(shared, options=options.dialect_options.get(stored_format(spec.format), {}))
    surroundings = {
        "parity": shared.parity,
        "data": options.data,
        "cache_dir": shared.cache_dir,
        "allows_generated_code": options.allow_generated_code,
        "revisions": AskedPlaces(
            {**options.revisions, **shared.revisions.get(spec.name, {})}, None if revisions is None else revisions.asked
        ),
    }
    read: dict[str, str] = {}
    with _placed(spec), in_mode("load"), guest_context_with(**surroundings, read_revisions=read):
        task = replace(format_of(spec).compile(spec, traits, context), revisions=read)
        check_offered_tools(task)
        stated = protocol_findings(task, is_begun=shared.is_begun, is_limited=shared.limit is not None)
        task = replace(task, findings=(*task.findings, *stated))
        task = _with_reading(_with_showing(task, options, is_begun=shared.is_begun), traits, options)
        task = ablated(task, options.ablation, options.seed)
        if options.permute_choices is not None:
            task = permuted(task, options.permute_choices, selected_samples(task, options), options.seed)
    return repeated(task, options.repeats)


def _with_showing(task: Task, options: RunOptions, *, is_begun: bool) -> Task:
    """A task whose media are shown as the run says, and where it says nothing, as its author says.

    Raises:
        PlanError: if the two contradict each other, or state that subtitles are shown and not where they are.
    """
    of_run = options.showing
    place, own = str(task.spec.file), task.showing.video
    if of_run:
        flags = ", ".join(f"--{name}" for name in of_run.stated())
        place = f"{flags}, with what {place} states"
        task = replace(task, showing=read_showing(task.showing.under(of_run).stated(), place))
    may_have_some = own is not None and own.subtitles_from is not None
    may_have_some |= "video" in task.needs.modalities or task.needs.are_prompts_unknown
    showing = with_subtitles_decided(task.showing, place, may_have_some=may_have_some)
    rule = showing.video
    if showing != task.showing:
        task = replace(task, showing=showing)
    if is_begun or rule is None or not rule.shows_subtitles:
        return task
    numbers = selected_samples(task, options)
    check_columns(rule, task.samples, numbers, place)
    found = subtitle_findings(rule, task.samples, numbers, task.media_folders, task.spec.name, place)
    return replace(task, findings=(*task.findings, *found))


def _with_reading(task: Task, traits: ModelTraits, options: RunOptions) -> Task:
    """A task whose rules for reading answers are those of its author, else of the run, else the usual ones with the
    tags of the model's own chat template. They belong to what its scores rest on.
    """
    run_tags = parse_tags(options.reasoning_tags, "--reasoning-tags")
    reading = replace(task.reading, tags=tags_in_force(task.reading.tags, run_tags, traits.reasoning_tags))
    rules = [READING_VERSION, reading.tags, reading.is_separated, reading.is_scored_apart, reading.stops_anywhere]
    return replace(task, reading=reading, score_digest=fingerprint([task.score_digest, rules]))


def check_learned(plan: Plan) -> None:
    """Check the tasks of a plan once more, by what its endpoints have shown since they were opened.

    Raises:
        UnfitError: if the model cannot do one of them, or none if that is allowed.
    """
    unfit: dict[str, str] = {}
    for task in plan.opened:
        try:
            check_needs(task.needs, plan.model.traits, task=task.spec.name, model=model_name(plan), roles=plan.roles)
        except UnfitError as error:
            unfit[task.spec.name] = error.what
            if not plan.options.skip_unfit or len(unfit) == len(plan.opened):
                raise
    skip(plan, unfit)
    plan.opened = tuple(task for task in plan.opened if task.spec.name not in unfit)
    plan.add_findings(ignored_settings(plan.opened, plan.model, model_name(plan)))


def skip(plan: Plan, reasons: Mapping[str, str]) -> None:
    """Leave tasks out of a plan.

    Args:
        plan: The plan.
        reasons: Why, by task.
    """
    if reasons:
        kept = tuple(spec for spec in plan.selection.tasks if spec.name not in reasons)
        plan.selection = replace(plan.selection, tasks=kept)
        plan.opened = tuple(task for task in plan.opened if task.spec.name not in reasons)
        plan.skipped = {**plan.skipped, **reasons}


def _check_live(plan: Plan, task: Task) -> None:
    """Check what only matters where a model is asked, and note what the task's environment is."""
    if isinstance(plan.model, StoredAnswers):
        return
    check_subtitles(task, plan.model, model_name(plan))
    if task.environment is not None:
        plan.environments[task.spec.name] = task.environment.name, task.environment.describe()


def _refuse_generated_code(spec: TaskSpec, options: RunOptions) -> None:
    if spec.runs_generated_code and not options.allow_generated_code:
        raise refuse_generated_code(spec.name, str(spec.file))


def _how_code_runs(tasks: Sequence[Task]) -> Iterator[LintFinding]:
    """Return the sandbox that keeps generated code from the user's machine, for tasks that run it."""
    if any(task.spec.runs_generated_code for task in tasks):
        from polymeter.metrics.code_process import usable_walls

        try:
            words = usable_walls().words
            yield LintFinding("generated-code", f"Code that the model writes runs {words}.", severity="note")
        except ScoreError as error:
            raise PlanError(error.what) from error


@contextmanager
def _placed(spec: TaskSpec) -> Iterator[None]:
    """Compile a task inside this, and an error without a place, or with one in an installed package, names the task's
    file.
    """
    try:
        yield
    except (PlanError, DataError) as error:
        is_place = "/" not in error.where or is_guests_place(error.where)
        if error.where and is_place:
            raise
        kind = next(kind for kind in (DataError, UnfitError, MissingPackageError, PlanError) if isinstance(error, kind))
        raise kind(error.what, where=str(spec.file), hint=error.hint) from error


def _with_opened(task: Task, opened: Sequence[Path]) -> Task:
    """A task whose sources count the files that its code has opened while it was loaded."""
    if not opened:
        return task
    spec = task.spec
    spec = replace(spec, source_hash=hash_with_opened(spec.source_hash, opened), sources=(*spec.sources, *opened))
    return replace(task, spec=spec, score_digest=hash_with_opened(task.score_digest, opened))


def samples_to_run(n_samples: int, options: RunOptions) -> range:
    """Return the samples that ``offset`` and ``limit`` leave. A limit is a count, or a share of all samples if it is
    below 1 (rounded up).
    """
    start, limit = min(options.offset, n_samples), options.limit
    if limit is None:
        return range(start, n_samples)
    n_wanted = int(limit) if limit >= 1 else -int(-n_samples * limit // 1)
    return range(start, min(n_samples, start + n_wanted))


def selected_samples(task: Task, options: RunOptions) -> range:
    """Return the samples of a task that are run. A task that has limited its subsets itself (``limits_subsets``) is run
    whole.
    """
    return samples_to_run(
        len(task.samples), options.model_copy(update={"limit": None}) if task.limits_subsets else options
    )


def computes_here(model: Model) -> bool:
    """Return whether a model computes on this machine, in this process unless it has replicas."""
    return isinstance(model, BatchModel) and not isinstance(model, StoredAnswers)


def model_name(plan: Plan) -> str:
    """Return the name of the model."""
    return _name_of(plan.model, plan.model_spec)


def role_names(plan: Plan) -> dict[str, str]:
    """Return the names of the models in the further roles, by role."""
    return {role: _name_of(model, plan.role_specs.get(role)) for role, model in plan.roles.items()}


def traits_without_model() -> ModelTraits:
    """Traits that fit any task, for looking at tasks without a model."""
    return ModelTraits(family="default")


def _name_of(model: Model, spec: ModelSpec | None) -> str:
    return str(spec) if spec is not None else str(getattr(model, "display_name", type(model).__name__))
