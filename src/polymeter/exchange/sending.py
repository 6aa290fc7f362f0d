"""Sending of finished runs to trackers: by the command that made them, or later from their folders.

A tracker receives a finished run, never a running one, as plain data. Errors of a tracker are reported; they change
neither the results nor the exit code.
"""

from __future__ import annotations

import inspect
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.api.result import RunResult, open_run
from polymeter.core.errors import PlanError, PolymeterError, TrackerError, boundary, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.names.registries import TRACKERS
from polymeter.core.names.registry import missing_package
from polymeter.core.records.tracker import TrackedNumber, TrackedRun, TrackedSample, Tracker
from polymeter.core.settings.arguments import mapping_of
from polymeter.core.text.json_text import encodable
from polymeter.core.text.secrets import remember, without_secrets

if TYPE_CHECKING:
    from polymeter.api.records import SampleRecord

LogTo = Mapping[str, Mapping[str, Any]]
"""Trackers by name, each with its arguments."""
_LOCAL = ("data", "weights")
"""Options whose values are places on this machine."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The outcome of sending a run to a tracker.

    Attributes:
        tracker: The tracker's name.
        place: Where you can view the run; empty if it was not sent.
        error: Why it was not sent; empty if it was.
        arguments: The tracker's arguments, without keys and tokens.
    """

    tracker: str
    place: str
    error: str
    arguments: Mapping[str, Any]


@naming_places()
def log_run(run: RunResult | Path | str, to: str, **arguments: Any) -> str:
    """Send a finished run to a tracker: ``log_run("runs/a", "wandb", project="vlm")``.

    Args:
        run: The run, or its folder.
        to: ``wandb``, ``mlflow``, ``tensorboard``, ``hub``, or a tracker of another package.
        **arguments: The tracker's arguments.

    Returns:
        Where you can view the run.

    Raises:
        PlanError: if the tracker, its argument or the run does not exist, a package is missing, or the run has not
            ended.
        TrackerError: if the run could not be sent.
    """
    tracker = make_tracker(to, arguments)
    found = run if isinstance(run, RunResult) else open_run(run)
    return _send(tracker, to, require_ended(found), {})


def require_ended(run: RunResult) -> RunResult:
    """Return the run if it has ended.

    Raises:
        PlanError: if it has not.
    """
    if not run.is_complete:
        folder = str(run.folder.path)
        hint = f"Continue it with: polymeter resume {shlex.quote(folder)}"
        state = f"it failed: {run.reason}" if run.status == "failed" else f"it is {run.status}."
        raise PlanError(f"The run has not ended: {state}", where=folder, hint=hint)
    return run


def make_trackers(log_to: LogTo | None) -> dict[str, Tracker]:
    """Make trackers by name.

    Raises:
        PlanError: as for ``make_tracker``.
    """
    return {name: make_tracker(name, told) for name, told in mapping_of(log_to, "log_to").items()}


def make_tracker(name: str, arguments: Mapping[str, Any]) -> Tracker:
    """Make a tracker. This happens before any request, so mistakes show early.

    Raises:
        PlanError: if the tracker is unknown, has no such argument or needs another one, or a package is missing.
    """
    arguments = mapping_of(arguments, f"log_to[{name!r}]")
    remember(arguments)
    factory = TRACKERS.get(name)
    parameters = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    where = f"tracker {name!r}"
    for key in arguments:
        if key not in parameters and not takes_any:
            hint = did_you_mean(key, parameters) or f"Its arguments: {', '.join(parameters) or 'none'}."
            raise PlanError(f"The tracker {name!r} has no argument {key!r}.", where=where, hint=hint)
    for key, parameter in parameters.items():
        needed = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if needed and parameter.default is parameter.empty and key not in arguments:
            raise PlanError(f"The tracker {name!r} needs {key!r}.", where=where, hint=f"Write {name}:{key}=…")
    with boundary(PlanError, f"Creating the tracker {name!r}"):
        try:
            return factory(**arguments)
        except ModuleNotFoundError as error:
            raise missing_package(error.name or "?", where, TRACKERS.find(name).extra) from error


def send_to_all(
    result: RunResult, trackers: Mapping[str, Tracker], log_to: LogTo, further: Mapping[str, Path] | None = None
) -> RunResult:
    """Send a run to trackers if it has ended, and return the result with the outcomes.

    Args:
        result: The run.
        trackers: The trackers by name.
        log_to: Their arguments.
        further: Further files to send.
    """
    return replace(result, logged=(*result.logged, *_outcomes(result, trackers, log_to, further or {})))


def _outcomes(
    result: RunResult, trackers: Mapping[str, Tracker], log_to: LogTo, further: Mapping[str, Path]
) -> Iterator[Logged]:
    for name, tracker in trackers.items():
        arguments = without_secrets(dict(log_to.get(name) or {}))
        if not result.is_complete:
            yield Logged(name, "", f"The run has not ended: it is {result.status}.", arguments)
            continue
        try:
            yield Logged(name, _send(tracker, name, result, further), "", arguments)
        except PolymeterError as error:
            yield Logged(name, "", str(error), arguments)
        except KeyboardInterrupt:  # the user does not want to wait for a service; the run is complete anyway
            yield Logged(name, "", "It was interrupted.", arguments)


def _send(tracker: Tracker, name: str, result: RunResult, further: Mapping[str, Path]) -> str:
    with boundary(TrackerError, f"Sending the run to {name!r}"):
        return str(tracker.send(tracked_run(result, further)))


def tracked_run(result: RunResult, further: Mapping[str, Path] | None = None) -> TrackedRun:
    """Return a finished run as trackers receive it."""
    manifest = result.folder.read_manifest()
    return TrackedRun(
        result.folder.path.resolve().name,
        result.folder.path,
        str(result.results.get("model") or manifest["model"].get("name") or ""),
        {entry["name"]: _task(entry) for entry in manifest["tasks"]},
        _config(manifest),
        tuple(_tracked_numbers(result.results)),
        lambda task: (_sample(sample) for sample in result.samples(task)),
        lambda folder, limit: result.to_parquet(folder, media="bytes", limit=None if limit == "all" else limit),
        dict(further or {}),
        {
            f"usage/{role}/{model}/{name}": value
            for (role, model), counts in result.usage.items()
            for name, value in counts.document().items()
            if isinstance(value, (int, float))
        }
        | {
            f"usage/{role}/{model}/cost": counts.cost.low
            for (role, model), counts in result.usage.items()
            if counts.cost.low is not None and counts.cost.low == counts.cost.high
        },
    )


def _task(entry: Mapping[str, Any]) -> dict[str, Any]:
    config = entry.get("config") or {}
    return {
        "title": str(entry.get("alias") or entry["name"]),
        "version": str(entry.get("version") or ""),
        "num_fewshot": entry.get("num_fewshot", 0),
        "n_samples": entry.get("n_samples"),
        "dataset": _public(str(config.get("dataset_path") or "")),
        "dataset_config": str(config.get("dataset_name") or ""),
        "split": str(config.get("test_split") or config.get("validation_split") or ""),
        "source_hash": entry.get("source_hash"),
        "dataset_fingerprint": entry.get("dataset_fingerprint"),
    }


def _public(place: str) -> str:
    """Return a dataset's id, or the name of a path on this machine."""
    return Path(place).name if Path(place).is_absolute() or place.startswith((".", "~")) else place


def _config(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in the manifest that produced the results. It holds no secrets; paths on this machine are
    left out.
    """
    identity = {name: value for name, value in manifest["options"]["identity"].items() if name not in _LOCAL}
    kept = ("polymeter", "python", "packages", "hardware", "started", "seconds", "usage", "parity")
    return {
        "model": manifest["model"].get("name"),
        "model_identity": manifest["model"].get("identity"),
        "roles": {role: which.get("name") for role, which in manifest.get("roles", {}).items()},
        "options": identity,
        "tasks": {
            entry["name"]: {name: value for name, value in _task(entry).items() if name != "title"}
            for entry in manifest["tasks"]
        },
        **{name: manifest[name] for name in kept if manifest.get(name) is not None},
    }


def _tracked_numbers(results: Mapping[str, Any]) -> Iterator[TrackedNumber]:
    from polymeter.report.run.summary import result_rows

    for row in result_rows(results):
        value = _finite(row["value"])
        if value is None:
            continue
        filtered = "" if row["filter"] in (None, "", "none") else f",{row['filter']}"
        name = "/".join(part for part in (row["name"], row["subset"], row["metric"]) if part) + filtered
        ends = (_finite(row["stderr"]), _finite(row["interval_low"]), _finite(row["interval_high"]))
        n = row["n"] if isinstance(row["n"], int) else None
        facts = (row["kind"], row["name"], row["subset"], row["metric"], row["filter"] or "none")
        yield TrackedNumber(name, *facts, value, *ends, n, row["higher_is_better"])


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def _sample(sample: SampleRecord) -> TrackedSample:
    scores = {name: _finite(value) for name, value in sample.scores.items()}
    target = sample.target
    return TrackedSample(
        sample.task,
        sample.id,
        "/".join(sample.subset),
        sample.status,
        encodable(sample.prompt),
        None if sample.answer is None else encodable(sample.answer),
        None if target is None else encodable(target),
        encodable(sample.error),
        {name: value for name, value in scores.items() if value is not None},
        tuple(path for path in sample.media if path.suffix.lower() in _IMAGES),
        sample.images,
    )


_IMAGES = frozenset((".jpg", ".jpeg", ".png", ".gif", ".webp"))
"""The file endings of image previews; audio files have other endings."""
