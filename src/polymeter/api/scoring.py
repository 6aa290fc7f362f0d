"""Scoring a run again, from Python or from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.api.imports import import_file
from polymeter.api.running import ModelLike, RunResult, carried_out, model_of
from polymeter.core.codec import jsonable
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelSpec
from polymeter.core.options import RunOptions, mark_of
from polymeter.core.progress import Progress, Silence
from polymeter.engine.rescoring import ScoreRequest, score_again, stored_options

_RULES = ("dialect_options",)
"""Settings that can change a score and none of the model's answers."""


def score(
    path: Path | str,
    *,
    roles: Mapping[str, ModelLike] | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> RunResult:
    """Score a finished or partial run again, from its stored answers. Its model is not asked, made or loaded.

    The scores go into a run folder of their own, with a copy of the answers; the run is not changed. A sample whose
    answer is missing has no score. Called again for the same run and output, it goes on where it stopped.

    Args:
        path: The run folder.
        roles: Models in place of the run's own in these roles, such as ``judge``. They are asked for what the run does
            not hold of them. Without any, the verdicts of the run's own judge count, and nobody is asked.
        output: The new run folder; default: beside the run, with the judge in its name.
        progress: Who watches.
        command: What to record as the command.
        **options: ``dialect_options``, which are added to the run's own, and fields of ``polymeter.RunOptions`` that
            cannot change a number.

    Raises:
        PlanError: There is no run, an option would change what the model answers, or the output holds another run.
        DataError: A dataset cannot be opened.
    """
    run, wanted = Path(path), roles or {}
    stored = stored_options(run)
    target = Path(output) if output is not None else _default_output(run, wanted)
    request = ScoreRequest(
        run,
        target,
        _changed(stored, options, target),
        {role: model_of(which) for role, which in wanted.items()},
        command,
    )
    for file in request.options.imports:
        import_file(file)
    return carried_out(lambda: score_again(request, progress or Silence()))


def _changed(stored: RunOptions, options: Mapping[str, Any], output: Path) -> RunOptions:
    for name in options:
        mark = mark_of(RunOptions, name) if name in RunOptions.model_fields else None
        if mark is None:
            raise PlanError(f"There is no option {name!r}.", hint=did_you_mean(name, RunOptions.model_fields))
        if mark == "identity" and name not in _RULES:
            raise PlanError(
                f"Option {name!r} can change what the model answers, so a run cannot be scored again with another one.",
                hint="Start a new run.",
            )
    rules: Mapping[str, Mapping[str, Any]] = options.get("dialect_options", {})
    told = {dialect: {**stored.dialect_options.get(dialect, {}), **rules[dialect]} for dialect in rules}
    fixed = {"output": output, "max_errors": None, "is_restart": False}
    return RunOptions.make({**dict(stored), **options, **fixed, "dialect_options": {**stored.dialect_options, **told}})


def _default_output(run: Path, roles: Mapping[str, ModelLike]) -> Path:
    """Beside the run: ``<run>-rescored``, or ``<run>-judge-<model>``, with a digest of the model's arguments."""
    place = run.resolve()
    words = [f"{role}-{_name(which)}" for role, which in sorted(roles.items())] or ["rescored"]
    name = "-".join([place.name, *words])
    return run.parent / "".join(sign if sign.isalnum() or sign in "-_.@" else "_" for sign in name)


def _name(model: ModelLike) -> str:
    if isinstance(model, ModelSpec) and model.args:
        return f"{model}-{fingerprint(jsonable(dict(model.args)))[:6]}"
    return str(model) if isinstance(model, (str, ModelSpec)) else type(model).__name__
