"""Evaluating, from Python or from the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.api.imports import import_file, naming_imports
from polymeter.api.offline import without_hub
from polymeter.api.partial import is_partial, write_partial_if_possible
from polymeter.api.result import RunResult, get_report_ready, open_run, write_report
from polymeter.api.settings import read_settings
from polymeter.api.thresholds import check_thresholds
from polymeter.core.errors import PlanError, StorageError
from polymeter.core.garbage import RareCollections
from polymeter.core.model import Model, ModelSpec
from polymeter.core.options import RunOptions, require_shallow
from polymeter.core.places import naming_places, require_place
from polymeter.core.progress import Progress, Silence
from polymeter.data.addresses import private_allowed
from polymeter.engine.run import RunOutcome, RunRequest, parse_model, resumable, resume_request, run
from polymeter.engine.selection import file_endings, named_place

if TYPE_CHECKING:
    pass
ModelLike = str | ModelSpec | Model


@naming_places()
def evaluate(  # noqa: PLR0913  (callers name them)
    model: ModelLike,
    tasks: Sequence[str] | str,
    *,
    model_path: str = "",
    model_args: Mapping[str, Any] | None = None,
    roles: Mapping[str, ModelLike] | None = None,
    progress: Progress | None = None,
    command: str = "",
    is_strict: bool = False,
    fail_under: Mapping[str, float] | None = None,
    **options: Any,
) -> RunResult:
    """Measure a model on some tasks. The same call with the same ``output`` continues where it stopped.

    Args:
        model: A name (``ocr``, ``hf:org/name``), a spec, or a model object.
        tasks: Names, globs, groups, tags, or YAML files.
        model_path: A file or package that defines the model, for wrappers written for other systems.
        model_args: Arguments for the model's backend.
        roles: Further models by role, such as ``judge``.
        progress: Receives progress; default: none.
        command: The command to record.
        is_strict: Fail (``exit_code`` 1) if a group lacks a member, or a task a subset, although no sample failed.
        fail_under: Fail (``exit_code`` 3) if a number is below its threshold here, or missing: ``{"demo.anls": 0.9}``.
        **options: Fields of ``polymeter.RunOptions`` (``limit``, ``seed``, ``include_paths``, ``output``, …).

    Raises:
        PlanError: if the run is impossible as specified; no request has been sent.
        DataError: if a dataset cannot be opened; no request has been sent.
    """
    own_options = RunOptions.make(_as_tuples(options))
    _require_places(own_options)
    settings = read_settings()
    merged = own_options.model_copy(
        update={
            "data": {**settings.data, **absolute_places(own_options.data)},
            "weights": {**settings.weights, **absolute_places(own_options.weights)},
            "include_paths": (*settings.include_paths, *own_options.include_paths),
            "cache_dir": own_options.cache_dir or settings.cache_dir,
            "parity": own_options.parity if "parity" in options else settings.parity,
            "skip_unfit": own_options.skip_unfit if "skip_unfit" in options else settings.skip_unfit,
        }
    )
    for file in merged.imports:
        import_file(file)
    try:
        made_from = model_of(model, model_path, model_args)
    except PlanError as error:
        raise naming_imports(error, str(model), merged.imports) from None
    request = RunRequest(
        made_from,
        tuple(_absolute_file(name) for name in ([tasks] if isinstance(tasks, str) else tasks)),
        merged,
        {role: role_model(role, which) for role, which in (roles or {}).items()},
        command,
        check_plan=partial(check_thresholds, fail_under or {}),
        typed_data=tuple(own_options.data),
        meanwhile=get_report_ready,
    )
    return replace(run_request(request, progress or Silence()), is_strict=is_strict, fail_under=dict(fail_under or {}))


@naming_places()
def resume(  # noqa: PLR0913  (callers name them)
    path: Path | str,
    *,
    model: Model | None = None,
    roles: Mapping[str, Model] | None = None,
    retry_errors: bool | None = None,
    is_strict_resume: bool | None = None,
    progress: Progress | None = None,
    command: str = "",
    is_strict: bool = False,
    fail_under: Mapping[str, float] | None = None,
) -> RunResult:
    """Continue a run that stopped, or return the results of one that is finished.

    Completed samples are not run again, unless other code of Polymeter scored them: those are scored again from their
    stored answers, so that all scores of a run are made by one version.

    Args:
        path: The run folder.
        model: The model object, if the run was started with one. A finished run needs none.
        roles: The same for further models by role.
        retry_errors: Which samples without a score are run again. ``None``: those that failed (an endpoint that gave
            up, a row that cannot be read, scoring code that raised) or are unscored for want of a verdict, but not
            those that the model refused; ``True``: all of them; ``False``: none, they stay as they ended.
        is_strict_resume: Whether to refuse if an endpoint's address, Polymeter's code or the sources of a task changed
            since the run began. ``None``: as the run was started.
        progress: Receives progress; default: none.
        command: The command to record.
        is_strict: As for ``evaluate``.
        fail_under: As for ``evaluate``.

    Raises:
        PlanError: if there is no run at ``path``, it cannot be continued here, or ``is_strict_resume`` refuses it.
    """
    strictness = {} if is_strict_resume is None else {"is_strict_resume": is_strict_resume}
    models = {**(roles or {}), **({"model": model} if model is not None else {})}
    try:
        request = resume_request(Path(path), {"retry_errors": retry_errors, **strictness}, command, models)
    except PlanError:
        # What the manifest does not hold (a model object, a secret) is needed only to go on with a run.
        finished = None if is_strict_resume else _if_finished(Path(path))
        if finished is None:
            raise
        return replace(finished, is_strict=is_strict, fail_under=dict(fail_under or {}))
    for file in request.options.imports:
        import_file(file)
    request = replace(request, check_plan=partial(check_thresholds, fail_under or {}), meanwhile=get_report_ready)
    return replace(run_request(request, progress or Silence()), is_strict=is_strict, fail_under=dict(fail_under or {}))


def _if_finished(path: Path) -> RunResult | None:
    """The results of a run all of whose samples were scored."""
    found = open_run(path)
    return found if found.is_complete and not found.n_failed and not is_partial(found.results) else None


def run_request(request: RunRequest, progress: Progress) -> RunResult:
    """Carry out a request to run an evaluation or to go on with one.

    Raises:
        PlanError: if it is impossible as requested.
        DataError: if a dataset cannot be opened.
    """
    with allowances(request.options):
        return carried_out(lambda: run(request, progress))


@contextmanager
def allowances(options: RunOptions) -> Iterator[None]:
    """What may be fetched inside the block, as the options say."""
    with (
        without_hub() if options.is_offline else nullcontext(),
        private_allowed() if options.allow_private_urls else nullcontext(),
    ):
        yield


def carried_out(evaluation: Callable[[], RunOutcome]) -> RunResult:
    """Carry out an evaluation, and write its HTML report; if it ended early, that and the results of what there is.

    Raises:
        StorageError: if the run folder cannot be written.
    """
    with _RARE_COLLECTIONS:
        outcome = evaluation()
        if outcome.status == "complete":
            try:
                write_report(outcome.folder, outcome.results)
            except StorageError as error:
                raise resumable(error, outcome.folder) from error
            results = outcome.results
        else:
            results = write_partial_if_possible(outcome.folder)
    return RunResult(outcome.folder, outcome.status, results, outcome.n_failed, outcome.reason)


_RARE_COLLECTIONS = RareCollections()


def absolute_places(places: Mapping[str, str]) -> dict[str, str]:
    """Existing paths made absolute, so that a run can be resumed from another folder; other texts stay unchanged."""
    return {name: str(Path(path).resolve()) if Path(path).exists() else path for name, path in places.items()}


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
    if not name.endswith(file_endings()):
        return name
    require_place(name, "The file of a task")
    return str(named_place(Path(name))) if Path(name).is_file() else name


def model_of(model: ModelLike, path: str = "", args: Mapping[str, Any] | None = None) -> ModelSpec | Model:
    """The spec that a name stands for; a spec or a model stays what it is.

    Raises:
        PlanError: if there is no such backend.
    """
    if path:
        require_place(path, "The model's file")
        path = str(Path(path).resolve()) if Path(path).exists() else path
    require_shallow(args or {}, "The model's arguments")
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


def _as_tuples(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with single paths and lists of them as tuples of paths."""
    normalised = dict(options)
    for name in ("include_paths", "imports"):
        value = normalised.get(name)
        if isinstance(value, (str, Path)):
            normalised[name] = (Path(value),)
        elif value is not None:
            normalised[name] = tuple(Path(item) for item in value)
    return normalised
