"""Weights & Biases: results with their uncertainty in the summary, samples as tables with images, files as an artifact.

Weights & Biases also records the command line, the output and the installed packages of a process, and reports its own
errors. All of that is turned off: a command line may contain a key, and the user asked for the run only.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.environment import environment_set
from polymeter.core.records.tracker import TrackedNumber, TrackedRun, TrackedSample, sample_limit

_OURS = ("settings", "config", "self")
_SETTINGS = {
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
    "disable_code": True,
    "disable_git": True,
    "console": "off",
    "silent": True,
}
_COLUMNS = ("name", "kind", "task", "subset", "metric", "filter", "value", "stderr", "low", "high", "n")


class WandbTracker:
    """A tracker that sends runs to Weights & Biases, or, with ``mode=offline``, to a folder for ``wandb sync``.

    If the process has an unfinished run of Weights & Biases, such as that of a training run, the results become part of
    it.

    Args:
        samples: The number of samples of each task to send, or ``all``.
        report: Whether ``results.json`` and ``report.html`` are sent.
        step: The step of the results, such as that of a checkpoint; default: none.
        **init: Arguments of ``wandb.init``: ``project``, ``entity``, ``name``, ``group``, ``job_type``, ``tags``, ….

    Raises:
        PlanError: if ``wandb.init`` has no such argument.
    """

    def __init__(self, *, samples: int | str = 100, report: bool = True, step: int | None = None, **init: Any) -> None:
        with _quiet():
            import wandb

            wandb.Settings(**_SETTINGS)  # fails before the run if the settings do not fit this version
        known = [name for name in inspect.signature(wandb.init).parameters if name not in _OURS]
        for name in init:
            if name not in known:
                hint = (
                    did_you_mean(name, [*known, "samples", "report", "step"]) or f"Its arguments: {', '.join(known)}."
                )
                raise PlanError(f"The tracker 'wandb' has no argument {name!r}.", hint=hint)
        if isinstance(init.get("tags"), str):
            init["tags"] = [init["tags"]]
        init = {name: _not_as_number(value) for name, value in init.items()}
        self._init = init
        self._limit = sample_limit(samples)
        self._has_report = report
        self._step = step

    def send(self, run: TrackedRun) -> str:
        with _quiet():
            import wandb

            begun = wandb.run
            init = {"project": "polymeter", "name": run.name, "job_type": "eval", **self._init}
            own = begun or wandb.init(settings=wandb.Settings(**_SETTINGS), **init)
            try:
                self._fill(wandb, own, run)
            except BaseException:
                if begun is None:
                    own.finish(exit_code=1)
                raise
            place = str(Path(own.dir).parent if own.offline else own.url or own.id)
            if begun is None:
                own.finish()
            return place

    def _fill(self, wandb: Any, own: Any, run: TrackedRun) -> None:
        own.config.update({"polymeter": json.loads(json.dumps(run.config, default=str))}, allow_val_change=True)
        own.log({**{number.name: number.value for number in run.numbers}, **run.usage}, step=self._step)
        own.summary.update({name: value for number in run.numbers for name, value in _summary(number)})
        own.summary.update(run.usage)
        results = wandb.Table(columns=list(_COLUMNS))
        for number in run.numbers:
            results.add_data(*_table_row(number))
        tables = {"results": results}
        for task in run.tasks:
            samples = [*run.samples(task, self._limit)]
            if samples:
                tables[f"samples/{task}"] = _table(wandb, samples)
        own.log(tables, step=self._step)
        files = {path.name: path for path in run.files} | dict(run.further) if self._has_report else {}
        if files:
            artifact = wandb.Artifact(f"polymeter-{own.id}", type="evaluation")
            for name, path in files.items():
                artifact.add_file(str(path), name=name)
            own.log_artifact(artifact)


@contextmanager
def _quiet() -> Iterator[None]:
    with environment_set({"WANDB_ERROR_REPORTING": "false"}):
        yield


def _not_as_number(value: Any) -> Any:
    """Return a name that looks like a number as text."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _summary(number: TrackedNumber) -> Iterator[tuple[str, float]]:
    further = {"stderr": number.stderr, "interval_low": number.low, "interval_high": number.high, "n": number.n}
    yield number.name, number.value
    yield from ((f"{number.name}_{what}", value) for what, value in further.items() if value is not None)


def _table_row(number: TrackedNumber) -> list[Any]:
    names = (number.name, number.kind, number.owner, number.subset, number.metric, number.filter)
    return [*names, number.value, number.stderr, number.low, number.high, number.n]


def _table(wandb: Any, samples: Sequence[TrackedSample]) -> Any:
    metrics = list(dict.fromkeys(name for sample in samples for name in sample.scores))
    n_shown, n_generated = (max(len(getattr(s, what)) for s in samples) for what in ("shown", "generated"))
    images = [*_numbered("shown", n_shown), *_numbered("generated", n_generated)]
    texts = ("id", "subset", "status", "prompt", "answer", "target", "error")
    table = wandb.Table(columns=[*texts, *(f"score/{name}" for name in metrics), *images], allow_mixed_types=True)
    for sample in samples:
        shown, generated = (
            _images(wandb, paths, n) for paths, n in ((sample.shown, n_shown), (sample.generated, n_generated))
        )
        scores = [sample.scores.get(name) for name in metrics]
        table.add_data(*(getattr(sample, name) or "" for name in texts), *scores, *shown, *generated)
    return table


def _numbered(what: str, n: int) -> list[str]:
    return [f"{what} {number}" if number > 1 else what for number in range(1, n + 1)]


def _images(wandb: Any, paths: Sequence[Any], n: int) -> list[Any]:
    found = [wandb.Image(str(path)) if path.is_file() else None for path in paths]
    return [*found, *[None] * (n - len(found))]
