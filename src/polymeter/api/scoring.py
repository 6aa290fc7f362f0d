"""Scoring a run again, from Python or from the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.api.imports import import_file
from polymeter.api.on_end import OnEnd
from polymeter.api.result import RunResult
from polymeter.api.running import ModelLike, Roles, carried_out, role_models
from polymeter.api.thresholds import check_thresholds
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.identity import fingerprint
from polymeter.core.machine.places import naming_places
from polymeter.core.model import ModelSpec
from polymeter.core.options import RunOptions, mark_of
from polymeter.core.records.progress import Progress, Silence
from polymeter.core.settings.arguments import mapping_of
from polymeter.core.text.codec import jsonable
from polymeter.core.text.secrets import without_secrets
from polymeter.data.fetching.addresses import private_allowed
from polymeter.exchange.sending import LogTo, make_trackers, send_to_all
from polymeter.judge.panel import seats_of
from polymeter.run.finish.rescore import ANSWERS_ONLY, ScoreRequest, score_again, stored_options
from polymeter.store.folder import open_folder
from polymeter.store.reading.used_verdicts import UsedVerdicts, require_any, sample_ids, used_verdicts
from polymeter.store.verdicts import keep_verdicts
from polymeter.tasks.python.files.session import holding
from polymeter.tasks.python.writing.records import PythonTask


@naming_places()
def score(  # noqa: PLR0913  (callers name them)
    path: Path | str,
    *,
    tasks: Sequence[PythonTask] = (),
    roles: Roles | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    command: str = "",
    fail_under: Mapping[str, float] | None = None,
    log_to: LogTo | None = None,
    on_end: str = "",
    verdicts: bool = False,
    **options: Any,
) -> RunResult:
    """Score a finished or partial run again from its stored answers. Its model gets no requests and is never loaded.

    The scores go into a new run folder, with a copy of the answers; the run itself stays unchanged. A sample whose
    answer is missing has no score. A second call for the same run and output continues where the first stopped.

    Args:
        path: The run folder.
        tasks: The tasks in Python that the run was started with, if no file holds them.
        roles: Models that replace the run's own in these roles, such as ``judge``; several judges as a list. They get
            the requests that the run has no answers to. Without any, the verdicts of the run's own judge count, and no
            model gets requests.
        output: The new run folder; default: beside the run, with the judge in its name.
        progress: Receives progress; default: none.
        command: The command to record.
        fail_under: As for ``evaluate``.
        log_to: As for ``evaluate``.
        on_end: As for ``evaluate``.
        verdicts: Use the verdicts of people beside the run: their scores replace those of the metrics, and samples that
            they excluded have no score. The new run records them; without this option, none are used.
        **options: ``dialect_options``, which are added to the run's, ``parity`` and ``reasoning_tags``, in place of the
            run's, and fields of ``polymeter.RunOptions`` that cannot change a number.

    Raises:
        PlanError: if there is no run, an option could change the model's answers, or the output holds another run.
        DataError: if a dataset cannot be opened.
    """
    run = Path(path)
    models = role_models(roles)
    least = mapping_of(fail_under, "fail_under")
    stored = stored_options(run)
    if seats_of(models):  # a judge that is named replaces the whole panel, and its rule with it
        stored = stored.model_copy(update={"panel": "mean", "panel_quorum": None})
    human = _verdicts_of(run) if verdicts else None
    target = Path(output) if output is not None else _default_output(run, models, human)
    end = OnEnd(on_end)
    request = ScoreRequest(
        run,
        target,
        _changed(stored, options, target, human),
        models,
        command,
        partial(check_thresholds, least),
        end.began,
        human.problems if human is not None else (),
    )
    for file in request.options.imports:
        import_file(file)
    trackers = make_trackers(log_to)

    def scored() -> RunResult:
        with private_allowed() if request.options.allow_private_urls else nullcontext():
            evaluation = partial(score_again, request, progress or Silence())
            result = carried_out(evaluation, request.options.report_samples)
        if human is not None:
            keep_verdicts(run, target)
        result = replace(result, is_strict=request.options.is_strict, fail_under=least)
        return send_to_all(result, trackers, log_to or {})

    with holding(tasks):
        return end.around(scored)


def _verdicts_of(run: Path) -> UsedVerdicts:
    """Return the verdicts beside a run.

    Raises:
        PlanError: if their file is damaged, or there are none.
    """
    folder = open_folder(run)
    tasks = [str(task["name"]) for task in folder.read_manifest(is_whole=True)["tasks"]]
    human = used_verdicts(folder, {task: sample_ids(folder, task) for task in tasks})
    require_any([human], str(run))
    return human


def _changed(stored: RunOptions, options: Mapping[str, Any], output: Path, human: UsedVerdicts | None) -> RunOptions:
    for name in options:
        mark = mark_of(RunOptions, name) if name in RunOptions.model_fields else None
        if mark is None:
            raise PlanError(f"There is no option {name!r}.", hint=did_you_mean(name, RunOptions.model_fields))
        # Those of ``score`` can change a score. A sample that they make ask something else has none.
        if mark == "identity" and name not in RunOptions.flags("score"):
            raise PlanError(
                f"Option {name!r} can change the model's answers, so it cannot change when a run is scored again.",
                hint="Start a new run.",
            )
    changes: Mapping[str, Mapping[str, Any]] = options.get("dialect_options", {})
    # A run that only kept its answers is scored by this.
    kept = {
        name: {**told, ANSWERS_ONLY: False} for name, told in stored.dialect_options.items() if told.get(ANSWERS_ONLY)
    }
    own = {**stored.dialect_options, **kept}
    merged = {**own, **{name: {**own.get(name, {}), **changes[name]} for name in changes}}
    # A folder from elsewhere must not say that code may run here.
    own_choice = {
        "allow_generated_code": bool(options.get("allow_generated_code", False)),
        "is_strict": bool(options.get("is_strict", False)),
    }
    if options.get("replicas") is not None:
        raise PlanError(
            "The model of a run that is scored again is not asked, so it has no replicas.",
            where="replicas",
            hint="A judge on this machine can have some: judge_replicas=N.",
        )
    fixed = {**own_choice, "output": output, "max_errors": None, "is_restart": False, "publish": ""}
    # Where the run's model was computed says nothing of where its answers are scored.
    here = {name: RunOptions.model_fields[name].default for name in RunOptions.placements()}
    # Verdicts that an earlier scoring recorded count only on request, like those beside the run.
    judged = {task: own.document() for task, own in human.tasks.items()} if human is not None else {}
    changed = {**dict(stored), **here, **options, **fixed, "dialect_options": merged, "verdicts": judged}
    return RunOptions.make(changed)


def _default_output(run: Path, roles: Mapping[str, ModelLike], human: UsedVerdicts | None) -> Path:
    """Return a folder beside the run: ``<run>-rescored``, or ``<run>-judge-<model>``, with a digest of the model's
    arguments; ``<run>-verdicts-<digest>`` with verdicts, so that later ones have a folder of their own.
    """
    suffixes = [f"{role}-{_model_name(which)}" for role, which in sorted(roles.items())]
    if human is not None:
        suffixes.append(f"verdicts-{fingerprint({task: own.document() for task, own in human.tasks.items()})[:6]}")
    suffixes = suffixes or ["rescored"]
    name = "-".join([run.resolve().name, *suffixes])
    return run.parent / "".join(char if char.isalnum() or char in "-_.@" else "_" for char in name)


def _model_name(model: ModelLike) -> str:
    if isinstance(model, ModelSpec) and model.args:
        return f"{model}-{fingerprint(without_secrets(jsonable(dict(model.args))))[:6]}"
    return str(model) if isinstance(model, (str, ModelSpec)) else type(model).__name__
