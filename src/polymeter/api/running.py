"""Evaluating, from Python or from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from polymeter.api.imports import import_file, naming_imports, refuse_while_loading
from polymeter.api.offline import without_hub
from polymeter.api.on_end import OnEnd
from polymeter.api.partial import is_partial, write_partial_if_possible
from polymeter.api.result import RunResult, get_report_ready, open_run, write_report
from polymeter.api.settings import read_settings
from polymeter.api.thresholds import check_thresholds
from polymeter.core.errors import PlanError, StorageError, did_you_mean
from polymeter.core.machine.places import naming_places, require_place
from polymeter.core.model import Model, ModelSpec
from polymeter.core.options import RunOptions, require_shallow
from polymeter.core.records.progress import Progress, Silence
from polymeter.core.settings.arguments import mapping_of, names_of
from polymeter.data.fetching.addresses import private_allowed
from polymeter.exchange.publishing import Publication
from polymeter.exchange.sending import LogTo, make_trackers, send_to_all
from polymeter.run.execution import RunOutcome
from polymeter.run.pilot.drawing import AfterPilot, EndedPilot
from polymeter.run.plan.models import parse_model
from polymeter.run.plan.request import RunRequest, resume_request
from polymeter.run.plan.selection import CHOSEN, file_and_name, is_task_file, named_place
from polymeter.run.run import run
from polymeter.run.session import resumable
from polymeter.store.exports.imported import imported_from
from polymeter.tasks.python.files.session import Tasks, holding, tasks_given
from polymeter.tasks.python.writing.records import PythonTask

ModelLike = str | ModelSpec | Model
Roles = Mapping[str, ModelLike | Sequence[ModelLike]]
"""Further models by role; several of one role are a panel."""
_NOT_TAKEN_OVER: Mapping[str, Any] = {
    "retry_errors": None,
    "pilot": None,
    "allow_generated_code": False,
    "is_strict": False,
}
"""Options that are given again to resume a run."""


@naming_places()
def evaluate(  # noqa: PLR0913  (callers name them)
    model: ModelLike,
    tasks: Tasks,
    *,
    model_path: str = "",
    model_args: Mapping[str, Any] | None = None,
    roles: Roles | None = None,
    progress: Progress | None = None,
    command: str = "",
    fail_under: Mapping[str, float] | None = None,
    log_to: LogTo | None = None,
    on_end: str = "",
    **options: Any,
) -> RunResult:
    """Measure a model on some tasks. The same call with the same ``output`` continues where it stopped.

    Args:
        model: A name (``ocr``, ``hf:org/name``), a spec, or a model object.
        tasks: Names, globs, groups, tags, files (``FILE::NAME`` is one task of a file), folders, or tasks in Python
            (``polymeter.task``); one, or several.
        model_path: A file or package that defines the model, for wrappers written for other systems.
        model_args: Arguments for the model's backend.
        roles: Further models by role, such as ``judge``; several judges as a list.
        progress: Receives progress; default: none.
        command: The command to record.
        fail_under: Fail (``exit_code`` 3) if a result is below its threshold here, or missing: ``{"demo.anls": 0.9}``.
        log_to: Trackers to send the run to when it has ended, by name, with their arguments:
            ``{"wandb": {"project": "vlm"}}``. The outcome is in ``logged`` of the result, and changes nothing.
        on_end: A command of the shell to run when the run has ended, however it ended. It gets ``POLYMETER_RUN``,
            ``POLYMETER_STATUS`` and ``POLYMETER_EXIT_CODE``, and the outcome as JSON on stdin; its own failure is
            reported and changes nothing.
        **options: Fields of ``polymeter.RunOptions`` (``limit``, ``seed``, ``include_paths``, ``output``, …).

    Raises:
        PlanError: if the run is impossible as specified; no request has been sent.
        DataError: if a dataset cannot be opened; no request has been sent.
    """
    refuse_while_loading()
    named, objects = tasks_given(tasks)
    request = make_request(
        model, named, options, model_path=model_path, model_args=model_args, roles=roles, command=command
    )
    marks: dict[str, Any] = {
        "is_strict": request.options.is_strict,
        "fail_under": mapping_of(fail_under, "fail_under"),
    }
    publication = Publication.to(request.options.publish)
    trackers = make_trackers(log_to)
    end = OnEnd(on_end)
    request = replace(
        request,
        options=request.options.model_copy(update={"publish": publication.url}),
        check_plan=publication.checking(partial(check_thresholds, fail_under or {})),
        began=end.began,
        after_pilot=printing_estimate(progress or Silence()),
    )

    def measured() -> RunResult:
        result = publication.of(replace(run_request(request, progress or Silence()), **marks))
        return send_to_all(result, trackers, log_to or {})

    with holding(objects):
        return end.around(measured)


def make_request(
    model: ModelLike,
    named: Sequence[str],
    options: Mapping[str, Any],
    *,
    model_path: str = "",
    model_args: Mapping[str, Any] | None = None,
    roles: Roles | None = None,
    command: str = "",
) -> RunRequest:
    """Make the request of a new evaluation; the arguments are those of ``evaluate``.

    Raises:
        PlanError: if an option, a file to import or the model is not valid.
    """
    own_options = RunOptions.make(as_tuples(options))
    _require_places(own_options)
    _require_cluster(own_options)
    merged = with_settings(own_options, options)
    for file in merged.imports:
        import_file(file)
    try:
        made_from = model_of(model, model_path, model_args)
    except PlanError as error:
        raise naming_imports(error, str(model), merged.imports) from None
    return RunRequest(
        made_from,
        tuple(map(_absolute_file, named)),
        merged,
        role_models(roles),
        command,
        typed_data=tuple(own_options.data),
        meanwhile=get_report_ready,
    )


def printing_estimate(progress: Progress) -> AfterPilot:
    """Return what a run does after its pilot: it reports what the rest will need, and continues, unless that is surely
    more than its cap allows.

    Args:
        progress: Receives the estimate.
    """

    def after(pilot: EndedPilot) -> str:
        from polymeter.analysis.cost.costing import estimate_run, over_cap
        from polymeter.report.run.cost_table import cost_lines

        estimate = estimate_run(pilot.plan, progress, pilot=pilot)
        document = estimate.document()
        for line in (*cost_lines(document), *document["notes"]):
            progress.note(line)
        progress.stage("samples")
        return over_cap(estimate, pilot.plan.options.max_cost)

    return after


@naming_places()
def resume(  # noqa: PLR0913  (callers name them)
    path: Path | str,
    *,
    tasks: Sequence[PythonTask] = (),
    model: Model | None = None,
    roles: Mapping[str, Model] | None = None,
    model_args: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    command: str = "",
    fail_under: Mapping[str, float] | None = None,
    log_to: LogTo | None = None,
    on_end: str = "",
    **options: Any,
) -> RunResult:
    """Continue a run that stopped, or return the results of one that is finished.

    Completed samples are not run again, unless other code of Polymeter scored them: those are scored again from their
    stored answers, so that all scores of a run are made by one version.

    Args:
        path: The run folder.
        tasks: The tasks in Python that the run was started with, if no file holds them.
        model: The model object, if the run was started with one. A finished run needs none.
        roles: The same for further models by role.
        model_args: Arguments of the model that cannot change an answer, in place of those that the run was started
            with: where its endpoint is now (``base_url``), how its server is started here (``server_args``).
        progress: Receives progress; default: none.
        command: The command to record.
        fail_under: As for ``evaluate``.
        log_to: As for ``evaluate``.
        on_end: As for ``evaluate``.
        **options: Fields of ``polymeter.RunOptions`` that may change; ``None``: as the run was started.

            - ``retry_errors``: which samples without a score are run again. By default those that failed (an endpoint
              that gave up, a row that cannot be read, scoring code that raised) or are unscored for want of a verdict,
              but not those that the model refused; ``True``: all of them; ``False``: none, they stay as they ended.
            - ``is_strict``: whether warnings are errors, and a number that is missing a whole member or subset.
            - ``is_strict_resume``: whether to refuse if an endpoint's address, Polymeter's code or a task's sources
              changed since the run began.
            - ``allow_generated_code``: whether code that the model writes may run. It must be said again.
            - ``report_samples``, and ``publish``, whose empty text means nowhere.
            - Where models are computed from now on: ``executor``, ``replicas``, ``judge_replicas``,
              ``gpus_per_replica``, ``cpus_per_replica``, ``address``, ``lease_timeout_s``.

    Raises:
        PlanError: if there is no run at ``path``, it cannot be continued here, or ``is_strict_resume`` refuses it.
    """
    end = OnEnd(on_end)
    moves = RunOptions.placements()  # of these None is a value: in this process
    changes = checked_changes({name: value for name, value in options.items() if value is not None or name in moves})
    marks: dict[str, Any] = {
        "is_strict": changes.get("is_strict", False),
        "fail_under": mapping_of(fail_under, "fail_under"),
    }
    models = {**mapping_of(roles, "roles"), **({"model": model} if model is not None else {})}
    model_args = mapping_of(model_args, "model_args")
    try:
        request = resume_request(Path(path), {**_NOT_TAKEN_OVER, **changes}, command, models, model_args)
    except PlanError:
        # What the manifest does not hold (a model object, a secret) is needed only to go on with a run.
        finished = None if changes.get("is_strict_resume") else _if_finished(Path(path))
        if finished is None:
            raise
        found = replace(finished, **marks)
        if "report_samples" in changes:
            found.write_report(changes["report_samples"])
        trackers = make_trackers(log_to)
        publication = Publication.to(changes.get("publish", ""))
        return end.around(lambda: send_to_all(publication.of(found), trackers, log_to or {}))
    for file in request.options.imports:
        import_file(file)
    trackers = make_trackers(log_to)
    publication = Publication.to(request.options.publish)
    check_plan = publication.checking(partial(check_thresholds, fail_under or {}))
    request = replace(request, check_plan=check_plan, meanwhile=get_report_ready, began=end.began)

    def resumed() -> RunResult:
        result = publication.of(replace(run_request(request, progress or Silence()), **marks))
        return send_to_all(result, trackers, log_to or {})

    with holding(tasks):
        return end.around(resumed)


def checked_changes(changes: Mapping[str, Any], command: str = "resume") -> dict[str, Any]:
    """Options that may change when a run is continued or run again, and no others.

    Args:
        changes: The options.
        command: The command whose flags they may be.

    Raises:
        PlanError: if one is another, or its value is not valid.
    """
    known = RunOptions.flags(command)
    unknown = sorted(changes.keys() - known.keys())
    if unknown:
        hint = did_you_mean(unknown[0], known) or f"These can: {', '.join(known)}."
        raise PlanError(f"{unknown[0]!r} cannot be changed when a run is resumed.", hint=hint)
    options = RunOptions.make(changes)
    return {name: getattr(options, name) for name in changes}


def _if_finished(path: Path) -> RunResult | None:
    """The results of a run all of whose samples were scored; none of one that was imported, which is not a run of this
    tool.
    """
    found = open_run(path)
    if imported_from(found.folder.read_manifest()):
        return None
    return found if found.is_complete and not found.n_failed and not is_partial(found.results) else None


def run_request(request: RunRequest, progress: Progress) -> RunResult:
    """Carry out a request to run an evaluation or to resume one.

    Raises:
        PlanError: if it is impossible as requested.
        DataError: if a dataset cannot be opened.
    """
    with allowances(request.options):
        return carried_out(lambda: run(request, progress), request.options.report_samples)


@contextmanager
def allowances(options: RunOptions) -> Iterator[None]:
    """Limit what may be fetched inside the block, as the options say."""
    with (
        without_hub() if options.is_offline else nullcontext(),
        private_allowed() if options.allow_private_urls else nullcontext(),
    ):
        yield


def carried_out(evaluation: Callable[[], RunOutcome], report_samples: int | Literal["all"] | None = None) -> RunResult:
    """Carry out an evaluation, and write its HTML report; if it ended early, that and the partial results.

    Args:
        evaluation: The evaluation.
        report_samples: How many samples of each task the report shows; ``None``: as the manifest says.

    Raises:
        StorageError: if the run folder cannot be written.
    """
    outcome = evaluation()
    if outcome.status == "complete":
        try:
            write_report(outcome.folder, outcome.results, report_samples)
        except StorageError as error:
            raise resumable(error, outcome.folder) from error
        results = outcome.results
    else:
        results = write_partial_if_possible(outcome.folder)
    return RunResult(outcome.folder, outcome.status, results, outcome.n_failed, outcome.reason)


def absolute_places(places: Mapping[str, str]) -> dict[str, str]:
    """Existing paths made absolute, so that a run can be resumed from another folder; other texts stay unchanged."""
    return {name: str(Path(path).resolve()) if Path(path).exists() else path for name, path in places.items()}


def with_settings(own: RunOptions, given: Mapping[str, Any]) -> RunOptions:
    """Options with what the user's settings add.

    Args:
        own: The options.
        given: Those that were named.

    Raises:
        PlanError: if the settings are not valid.
    """
    settings = read_settings()
    return own.model_copy(
        update={
            "data": {**settings.data, **absolute_places(own.data)},
            "weights": {**settings.weights, **absolute_places(own.weights)},
            "imports": tuple(file.resolve() if file.exists() else file for file in own.imports),
            "include_paths": (*settings.include_paths, *own.include_paths),
            "cache_dir": own.cache_dir or settings.cache_dir,
            "parity": own.parity if "parity" in given else settings.parity,
            "skip_unfit": own.skip_unfit if "skip_unfit" in given else settings.skip_unfit,
            **{name: rule for name, rule in settings.showing.items() if name not in given},
        }
    )


def _require_cluster(options: RunOptions) -> None:
    """Refuse the address of a cluster that the run would not use."""
    if options.address is not None and options.executor != "ray":
        raise PlanError(
            "--address names a Ray cluster, but the run does not use one.",
            where="--address",
            hint="Add --executor ray, or leave --address out.",
        )


def _require_places(options: RunOptions) -> None:
    """Refuse paths among the options that nothing can have, before anything is looked for there."""
    for what, place in (("The run folder", options.output), ("The folder of the journal", options.journal_dir)):
        if place is not None:
            require_place(place, what)
    for place in (*options.include_paths, *options.imports):
        require_place(place, "A path of the options")
    for what, places in (("data", options.data), ("weights", options.weights)):
        for name, file in places.items():
            require_place(file, f"--{what} {name}")


def _absolute_file(name: str) -> str:
    file, chosen = file_and_name(name)
    if not is_task_file(file):
        return name
    require_place(file, "The file of a task")
    mark = f"{CHOSEN}{chosen}" if chosen else ""
    return f"{named_place(Path(file))}{mark}" if Path(file).is_file() else name


def model_of(model: ModelLike, path: str = "", args: Mapping[str, Any] | None = None) -> ModelSpec | Model:
    """The spec that a name stands for; a spec or a model stays what it is.

    Raises:
        PlanError: if there is no such backend.
    """
    if path:
        require_place(path, "The model's file")
        path = str(Path(path).resolve()) if Path(path).exists() else path
    args = mapping_of(args, "model_args")
    require_shallow(args, "The model's arguments")
    if isinstance(model, str):
        return parse_model(model, path=path, args=args)
    return replace(model, path=path or model.path) if isinstance(model, ModelSpec) else model


def role_model(role: str, which: ModelLike) -> ModelSpec | Model:
    """As ``model_of``, for the model in a role: errors name the role's option.

    Raises:
        PlanError: if there is no such backend.
    """
    try:
        return model_of(which)
    except PlanError as error:
        if error.where != "--model":
            raise
        raise PlanError(error.what, where=f"--{role}", hint=error.hint.replace("--model ", f"--{role} ")) from None


def role_models(roles: Roles | None) -> dict[str, ModelSpec | Model]:
    """The models by role, each judge of a panel under a role of its own.

    Raises:
        PlanError: if there is no such backend, a panel is empty, or several models have a role other than ``judge``.
    """
    from polymeter.judge.llm_judge import ROLE
    from polymeter.judge.panel import seat

    found: dict[str, ModelSpec | Model] = {}
    for role, which in mapping_of(roles, "roles").items():
        if isinstance(which, str) or not isinstance(which, Sequence):
            found[role] = role_model(role, which)
            continue
        if role != ROLE or not which:
            what = f"The role {role!r} takes one model." if which else "A panel needs judges."
            raise PlanError(what, where=f"--{role}", hint=f"Only the role {ROLE!r} takes a list.")
        found |= {seat(number): role_model(role, one) for number, one in enumerate(which)}
    return found


def as_tuples(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as given, with one path or several as a tuple of paths."""
    several = {name: names_of(options[name], name) for name in ("include_paths", "imports") if name in options}
    return {**options, **{name: tuple(map(Path, paths)) for name, paths in several.items()}}
