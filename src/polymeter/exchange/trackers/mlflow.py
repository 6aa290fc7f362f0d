"""MLflow: settings as parameters, numbers as metrics, samples as tables and the report as artifacts."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from polymeter.core.machine.environment import environment_set
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.shown_images import as_shown
from polymeter.core.records.tracker import TrackedRun, TrackedSample, flat, sample_limit

T = TypeVar("T")

_LONGEST_VALUE = 500
_LONGEST_NAME = 250
_PARAMS_AT_ONCE = 100
_METRICS_AT_ONCE = 1000
"""The limits of MLflow's interface."""
_UNFIT = re.compile(r"[^\w\-. :/]", re.ASCII)
"""Characters that the name of a metric or parameter may not contain."""


class MlflowTracker:
    """A tracker that sends runs to an MLflow server or database.

    Args:
        tracking_uri: The server or database; default: MLflow's own setting, such as ``MLFLOW_TRACKING_URI``.
        experiment: The name of the experiment. It is created if it does not exist.
        run_name: The name of the run; default: the run folder's.
        step: The step of the metrics, such as that of a checkpoint.
        run_id: An existing run to add to, such as that of a training run; default: a new one.
        tags: Tags of the run.
        samples: The number of samples of each task to send as a table with images, or ``all``.
        report: Whether ``results.json`` and ``report.html`` are sent.
    """

    def __init__(
        self,
        *,
        tracking_uri: str = "",
        experiment: str = "polymeter",
        run_name: str = "",
        step: int = 0,
        run_id: str = "",
        tags: Mapping[str, Any] | None = None,
        samples: int | str = 100,
        report: bool = True,
    ) -> None:
        with _quiet():
            import mlflow  # noqa: F401  (found missing before the run)
        self._uri = tracking_uri
        self._experiment = experiment
        self._name = str(run_name)
        self._run_id = run_id
        self._step = step
        self._tags = dict(tags or {})
        self._has_report = report
        self._limit = sample_limit(samples)

    def send(self, run: TrackedRun) -> str:
        with _quiet():
            from mlflow import MlflowClient

            client = MlflowClient(tracking_uri=self._uri or None)
            if self._run_id:
                self._fill(client, self._run_id, run)
                return f"{client.tracking_uri} run {self._run_id}"
            found = client.get_experiment_by_name(self._experiment)
            place = found.experiment_id if found is not None else client.create_experiment(self._experiment)
            tags = {"polymeter.model": run.model, **{str(key): str(value) for key, value in self._tags.items()}}
            made = client.create_run(place, run_name=self._name or run.name, tags=tags).info.run_id
            try:
                self._fill(client, made, run)
            except BaseException:
                client.set_terminated(made, status="FAILED")
                raise
            client.set_terminated(made, status="FINISHED")
            return f"{client.tracking_uri} experiment {self._experiment}, run {made}"

    def _fill(self, client: Any, run_id: str, run: TrackedRun) -> None:
        from mlflow.entities import Metric, Param

        # An existing run keeps its own parameters: MLflow refuses a parameter that is given twice.
        params = (
            [] if self._run_id else [Param(_fit_name(key), _value(value)) for key, value in flat(run.config).items()]
        )
        for some in _chunks(params, _PARAMS_AT_ONCE):
            client.log_batch(run_id, params=some)
        now_ms = int(time.time() * 1000)
        metrics = [Metric(_fit_name(name), value, now_ms, self._step) for name, value in _metrics(run)]
        for some in _chunks(metrics, _METRICS_AT_ONCE):
            client.log_batch(run_id, metrics=some)
        for task in run.tasks:
            table = _table([*run.samples(task, self._limit)])
            if table:
                client.log_table(run_id, data=table, artifact_file=f"samples/{_fit_name(task).replace('/', '_')}.json")
        for path in (*run.files, *run.further.values()) if self._has_report else ():
            client.log_artifact(run_id, str(path))


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn off MLflow's usage reports inside the block. MLflow sends them to its makers by default."""
    with environment_set({"MLFLOW_DISABLE_TELEMETRY": "true"}):
        yield


def _metrics(run: TrackedRun) -> Iterator[tuple[str, float]]:
    for number in run.numbers:
        further = {"stderr": number.stderr, "interval_low": number.low, "interval_high": number.high, "n": number.n}
        yield number.name, number.value
        yield from ((f"{number.name}_{what}", float(value)) for what, value in further.items() if value is not None)
    yield from run.usage.items()


def _table(samples: Sequence[TrackedSample]) -> dict[str, list[Any]]:
    """Return samples by column, each with its first input image or generated image."""
    if not samples:
        return {}
    metrics = dict.fromkeys(name for sample in samples for name in sample.scores)
    table: dict[str, list[Any]] = {
        **{name: [getattr(sample, name) for sample in samples] for name in ("id", "subset", "status")},
        **{
            name: [getattr(sample, name) or "" for sample in samples]
            for name in ("prompt", "answer", "target", "error")
        },
        **{f"score/{name}": [sample.scores.get(name) for sample in samples] for name in metrics},
    }
    for what in ("shown", "generated"):
        first = [next(iter(getattr(sample, what)), None) for sample in samples]
        if any(first):
            table[what] = [_image(path) for path in first]
    return table


def _image(path: Any) -> Any:
    """Return the image in a file as MLflow shows it in a table; empty if it cannot be read."""
    import mlflow
    from PIL import UnidentifiedImageError

    if path is None:
        return ""
    try:
        with opened_image(path) as image:
            return mlflow.Image(as_shown(image).convert("RGB"))
    except (UnidentifiedImageError, OSError):
        return ""


def _fit_name(text: str) -> str:
    return _UNFIT.sub("_", text)[:_LONGEST_NAME]


def _value(value: Any) -> str:
    return str(value)[:_LONGEST_VALUE]


def _chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some
