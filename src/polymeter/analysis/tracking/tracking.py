"""``track``: measures each new checkpoint of a training run once, and stores the curve."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from polymeter.analysis.comparison.comparability import check_allowed
from polymeter.analysis.tracking.checkpoints import (
    Checkpoint,
    Settling,
    Stamp,
    content_of,
    find_checkpoints,
    has_trainer_state,
    lacks,
    stamp_of,
)
from polymeter.analysis.tracking.curve import AGAINST, Curve, make_curve
from polymeter.analysis.tracking.pairs import CheckpointPairs
from polymeter.analysis.tracking.record import CheckpointRecord, Record
from polymeter.api.imports import import_file
from polymeter.api.running import Roles, as_tuples, evaluate, model_of, role_models, with_settings
from polymeter.core.errors import PlanError, PolymeterError, StorageError, did_you_mean
from polymeter.core.identity import canonical
from polymeter.core.machine.places import naming_places
from polymeter.core.model import Model, ModelSpec
from polymeter.core.names.parity import parity_with
from polymeter.core.options import RunOptions
from polymeter.core.records.progress import Progress, Silence
from polymeter.core.settings.arguments import Names, mapping_of, names_of
from polymeter.core.text.secrets import without_secrets
from polymeter.run.finish.manifest import identity_of
from polymeter.run.plan.making import make_plan
from polymeter.run.plan.named_paths import catalog_for
from polymeter.run.plan.plan import cache_folder
from polymeter.run.plan.request import RunRequest
from polymeter.run.plan.selection import select
from polymeter.store.folder import RUNS, RunFolder, write_text

CHECKPOINT, STEP = "{checkpoint}", "{step}"
"""The placeholders for the path and the step of a checkpoint in a model and its arguments."""
_TRANSFORMERS = "hf"
_NOT_OF_A_CURVE = ("output", "is_restart")


@dataclass(frozen=True, slots=True)
class WaitClock:
    """The times and clocks of waiting for checkpoints.

    Attributes:
        poll_s: The seconds between two checks of the folder.
        settle_s: The seconds without changes after which a checkpoint is settled.
        sleep: A function that waits for some seconds.
        clock: A monotonic clock in seconds.
        now: The time of day in seconds, as in file times.
    """

    poll_s: float = 30.0
    settle_s: float = 10.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time


@naming_places()
def track(  # noqa: PLR0913  (callers name them)
    folder: Path | str,
    tasks: Names,
    *,
    model: str = _TRANSFORMERS,
    model_path: str = "",
    model_args: Mapping[str, Any] | None = None,
    roles: Roles | None = None,
    output: Path | str | None = None,
    against: str | int = "best",
    metric: str = "",
    allow: Collection[str] = (),
    max_regression: float | None = None,
    allow_undecided: bool = False,
    every: int = 1,
    last: bool = False,
    name: str = "*",
    watch: bool = False,
    until: int | None = None,
    waiting: WaitClock | None = None,
    progress: Progress | None = None,
    on_measured: Callable[[Curve, int], None] | None = None,
    command: str = "",
    on_end: str = "",
    **options: Any,
) -> Curve:
    """Measure each new checkpoint in a folder once, and write the curve as ``curve.html`` and ``curve.csv``.

    A checkpoint is measured when it is complete. If one cannot be measured, its error is recorded, and tracking
    continues with the others. Measured checkpoints stay on the curve if they are deleted.

    Args:
        folder: The folder that training writes checkpoints to.
        tasks: Names, globs, groups or tags, or paths of files and folders.
        model: The model with ``{checkpoint}`` or ``{step}`` in it (``hf:{checkpoint}``), or a backend alone. A backend
            gets the checkpoint as its name unless its arguments name it.
        model_path: As for ``evaluate``; may contain ``{checkpoint}`` too.
        model_args: Arguments for the model's backend; their texts may contain ``{checkpoint}`` and ``{step}``.
        roles: Further models by role, such as ``judge``.
        output: The folder for run folders and curve; default: ``runs/track/`` and the name of the folder.
        against: The reference of each checkpoint: ``best`` (the best before it, for each task by its first metric),
            ``previous``, ``first``, or a step.
        metric: Only this metric; default: the first of each task decides, and all are on the curve.
        allow: Allowed differences between checkpoints besides the model, as for ``compare``.
        max_regression: The largest loss of the newest checkpoint that ``Curve.exit_code`` tolerates. With ``watch``, a
            larger loss ends the watch.
        allow_undecided: Whether ``Curve.exit_code`` also tolerates a loss that the samples cannot decide on.
        every: Only checkpoints whose step is a multiple of this.
        last: Only the newest complete checkpoint.
        name: Only checkpoints whose names match this pattern.
        watch: Continue and wait for new checkpoints, until ``until`` or Ctrl-C.
        until: With ``watch``: end when a checkpoint of this step or a later one has been measured.
        waiting: The times and clocks of waiting.
        progress: Receives progress; default: none.
        on_measured: Called with the curve and the step whenever a checkpoint was measured or failed.
        command: The command to record.
        on_end: A command of the shell to run after each run, as for ``evaluate``.
        **options: Fields of ``polymeter.RunOptions`` for every run.

    Returns:
        The curve, including the checkpoints that earlier calls measured.

    Raises:
        PlanError: if the folder or a task does not exist, or the curve was measured with other settings.
        StorageError: if files cannot be read or written.
    """
    place = Path(folder)
    measuring = Measuring(
        place,
        list(names_of(tasks, "tasks")),
        _with_checkpoint(model, model_path, mapping_of(model_args, "model_args")),
        model_path,
        dict(model_args or {}),
        role_models(roles),
        Path(output) if output is not None else RUNS / "track" / (place.resolve().name or "root"),
        dict(options),
        command,
        on_end,
        progress or Silence(),
        waiting or WaitClock(),
    )
    _check_request(against, allow, max_regression, every)
    find_checkpoints(place, name)  # a missing folder is reported before anything else
    measuring.check_tasks()
    measuring.record.begin(measuring.settings())
    pairs = CheckpointPairs(measuring.record.path, metric=metric, allow=allow)

    def curve(**more: Any) -> Curve:
        measuring.record.read()
        made = make_curve(
            measuring.record,
            place,
            against=against,
            pairs=pairs,
            metric=metric,
            max_regression=max_regression,
            allow_undecided=allow_undecided,
            new=tuple(measuring.tried),
            warnings=(*measuring.notes, *_none_found(measuring, name), *_no_such_step(measuring.record, against)),
            **more,
        )
        write_curve(made)
        return made

    def tell(step: int) -> Curve:
        made = curve()
        if on_measured is not None:
            on_measured(made, step)
        return made

    try:
        while True:
            for checkpoint in measuring.due(every=every, last=last, pattern=name, waits=not watch):
                if not measuring.measure(checkpoint, waits=False):
                    if watch:
                        continue  # another process measures it; the next check finds it measured
                    measuring.progress.stage(f"waiting for another process that measures {checkpoint.name}")
                    measuring.measure(checkpoint, waits=True)
                made = tell(checkpoint.step)
                if watch and made.exit_code == 3:
                    return made
            is_over = until is not None and any(
                step >= until and entry.status == "measured" for step, entry in measuring.record.entries.items()
            )
            if not watch or is_over:
                return curve()
            measuring.progress.stage("waiting for the next checkpoint")
            measuring.waiting.sleep(measuring.waiting.poll_s)
            measuring.record.read()
    except KeyboardInterrupt:
        return curve(status="interrupted")


def write_curve(curve: Curve) -> None:
    """Write the page and the table of a curve.

    Raises:
        StorageError: if they cannot be written.
    """
    from polymeter.report.curve.page import make_curve_page
    from polymeter.report.curve.tables import to_csv

    document = curve.document()
    write_text(curve.table, to_csv(document))
    write_text(curve.page, make_curve_page(document))


@dataclass(slots=True)
class Measuring:
    """The state of tracking: the settings of the measurement, and the measured checkpoints.

    Attributes:
        folder: The folder of the checkpoints.
        tasks: The tasks.
        model: The model, with ``{checkpoint}`` in its place.
        model_path: The file that defines it.
        model_args: Its arguments.
        roles: Further models.
        output: The folder for run folders and curve.
        options: Options of every run.
        command: The user's command, for the record.
        on_end: The command to run after each run.
        progress: Receives progress.
        waiting: The times and clocks of waiting.
        record: The record of the checkpoints.
        settling: The check for checkpoints that are still being written.
        tried: The steps that this call measured or tried to measure.
        notes: Notes for the reader.
    """

    folder: Path
    tasks: list[str]
    model: str
    model_path: str
    model_args: dict[str, Any]
    roles: dict[str, ModelSpec | Model]
    output: Path
    options: dict[str, Any]
    command: str
    on_end: str
    progress: Progress
    waiting: WaitClock
    record: Record = field(init=False)
    settling: Settling = field(init=False)
    tried: dict[int, Stamp] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Prepare the record."""
        self.record = Record(self.output)
        self.settling = Settling(self.waiting.settle_s, self.waiting.now, self.waiting.clock)

    def check_tasks(self) -> None:
        """Check options, tasks and backend before the first checkpoint is measured.

        Raises:
            PlanError: if an option, a task or the backend does not exist.
        """
        for name in _NOT_OF_A_CURVE:
            if name in self.options:
                raise PlanError(f"Option {name!r} does not apply to a whole curve.")
        options = self._merged()
        for file in options.imports:
            import_file(file)
        model_of(self.model.partition(":")[0])
        named = catalog_for(self.tasks, options.include_paths, cache_folder(options), parity_with(options.parity))
        select(named.patterns, named.catalog)

    def settings(self) -> dict[str, Any]:
        """Return the settings that all points of a curve share, as plain data without secrets."""
        roles = {
            role: str(which) if isinstance(which, (str, ModelSpec)) else type(which).__name__
            for role, which in sorted(self.roles.items())
        }
        of_roles = {role: dict(which.args) for role, which in self.roles.items() if isinstance(which, ModelSpec)}
        settings = {
            "checkpoints": str(self.folder.resolve()),
            "tasks": self.tasks,
            "model": self.model,
            "model_path": self.model_path,
            "model_args": canonical(self.model_args),
            "roles": roles,
            "role_args": canonical(of_roles),
            "options": self._merged().identity(),
        }
        return without_secrets(settings)  # type: ignore[no-any-return]

    def due(self, *, every: int, last: bool, pattern: str, waits: bool) -> list[Checkpoint]:
        """Return the checkpoints that are complete and not measured yet, in order.

        Args:
            every: Only steps that are multiples of this.
            last: Only the newest one that is complete.
            pattern: Only names that match.
            waits: Whether to wait once for checkpoints that have just been written to.

        Raises:
            StorageError: if the folder cannot be read.
        """
        ready, young = self._look(every, pattern)
        if young and waits:
            self.progress.stage("waiting until the newest checkpoint is written")
            self.waiting.sleep(max(young.values()))
            ready, young = self._look(every, pattern)
            self.notes += [f"{name} was still being written." for name in young]
        ready = ready[-1:] if last else ready
        return [checkpoint for checkpoint in ready if self._is_due(checkpoint)]

    def measure(self, checkpoint: Checkpoint, *, waits: bool) -> bool:
        """Measure a checkpoint, unless another process measures it or has measured it.

        Args:
            checkpoint: The checkpoint.
            waits: Whether to wait for a process that measures it.

        Returns:
            Whether it is done, by any process.

        Raises:
            StorageError: if the run folder cannot be written.
            KeyboardInterrupt: if the run was interrupted. Its answers are kept.
        """
        claim = self.record.claim(checkpoint.step, waits=waits)
        if claim is None:
            return False
        try:
            self.record.read()
            if not self._is_due(checkpoint):
                return True
            entry = self._measured(checkpoint)
            self.record.add(entry)
        finally:
            claim.release()
        if entry.error == _INTERRUPTED:
            raise KeyboardInterrupt
        return True

    def _look(self, every: int, pattern: str) -> tuple[list[Checkpoint], dict[str, float]]:
        """Return the complete checkpoints, and the names of those that may be complete, with the seconds to wait for
        them.
        """
        found, notes = find_checkpoints(self.folder, pattern)
        self.notes = [note for note in self.notes if note not in notes] + notes
        is_by_config = self.model.partition(":")[0] == _TRANSFORMERS
        has_state = any(map(has_trainer_state, found))
        ready, young = [], {}
        for checkpoint in found:
            if checkpoint.step % every:
                continue
            lacking = lacks(checkpoint, is_loaded_by_config=is_by_config, has_state=has_state)
            note = f"{checkpoint.name} is not complete: {lacking} is missing."
            self.notes = [one for one in self.notes if not one.startswith(f"{checkpoint.name} is not complete")]
            if lacking:
                known = self.record.entries.get(checkpoint.step)
                self.notes += [] if known is not None and known.status == "measured" else [note]
            elif left_s := self.settling.left_s(checkpoint):
                young[checkpoint.name] = left_s
            else:
                ready.append(checkpoint)
        return ready, young

    def _is_due(self, checkpoint: Checkpoint) -> bool:
        entry, stamp = self.record.entries.get(checkpoint.step), stamp_of(checkpoint)
        if self.tried.get(checkpoint.step) == stamp:
            return False  # it has just failed, and would fail again
        return entry is None or entry.status != "measured" or entry.stamp != stamp

    def _measured(self, checkpoint: Checkpoint) -> CheckpointRecord:
        stamp, content = stamp_of(checkpoint), content_of(checkpoint)
        before = self.record.entries.get(checkpoint.step)
        if before is not None and before.status == "measured" and before.content == content:
            return replace(before, stamp=stamp)  # the files were only touched or copied
        self.progress.stage(f"measuring {checkpoint.name}")
        self.tried[checkpoint.step] = stamp
        entry = CheckpointRecord(checkpoint.step, checkpoint.name, "failed", stamp=stamp, content=content)
        try:
            run = self._run_folder(checkpoint, before, content)
            result = evaluate(
                self._model(checkpoint),
                self.tasks,
                model_path=_filled(self.model_path, checkpoint),
                model_args=self._args(checkpoint),
                roles=self.roles,
                progress=self.progress,
                command=self.command,
                on_end=self.on_end,
                output=self.output / run,
                **self.options,
            )
        except StorageError:
            raise
        except PolymeterError as error:
            where = f" [{error.where}]" if error.where else ""
            self.progress.note(f"{checkpoint.name} cannot be measured: {error.what}{where}")
            return replace(entry, error=f"{error.what}{where}")
        if result.status == "complete":
            return replace(entry, status="measured", run=run)
        reason = _INTERRUPTED if result.status == "interrupted" else result.reason
        return replace(entry, status="unfinished", run=run, error=reason)

    def _run_folder(self, checkpoint: Checkpoint, before: CheckpointRecord | None, content: str) -> str:
        """Return the name of the run folder: that of this very run, or a new one.

        Raises:
            PlanError: if the model cannot be made.
        """
        names = [str(checkpoint.step)]
        while RunFolder(self.output / names[-1]).is_begun():
            names.append(f"{checkpoint.step}-{len(names) + 1}")
        *begun, new = names
        if not begun:
            return new
        newest = begun[-1]
        # A model's identity may be its path alone, so files that changed count as well.
        is_other = before is not None and before.run == newest and before.content != content
        if not is_other and self._is_same(checkpoint, newest):
            return newest
        self.notes.append(
            f"{checkpoint.name} has changed since it was measured: it was measured again into {new}; "
            f"the earlier run is still in {newest}."
        )
        self.progress.note(self.notes[-1])
        return new

    def _is_same(self, checkpoint: Checkpoint, run: str) -> bool:
        """Check whether a run folder contains the run of this checkpoint, by the manifest's identity."""
        request = RunRequest(
            model_of(self._model(checkpoint), _filled(self.model_path, checkpoint), self._args(checkpoint)),
            tuple(self.tasks),
            self._merged(),
        )
        manifest = RunFolder(self.output / run).read_manifest()
        return bool(identity_of(make_plan(request))["model"] == manifest["identity"].get("model"))

    def _merged(self) -> RunOptions:
        return with_settings(RunOptions.make(as_tuples(self.options)), self.options)

    def _model(self, checkpoint: Checkpoint) -> str:
        return str(_filled(self.model, checkpoint))

    def _args(self, checkpoint: Checkpoint) -> dict[str, Any]:
        return dict(_filled(self.model_args, checkpoint))


_INTERRUPTED = "interrupted"


def _check_request(against: str | int, allow: Collection[str], max_regression: float | None, every: int) -> None:
    check_allowed(allow)
    if isinstance(against, str) and against not in AGAINST:
        hint = did_you_mean(against, AGAINST) or f"Known: {', '.join(AGAINST)}, or a step."
        raise PlanError(f"{against!r} is not a checkpoint to compare with.", where="--against", hint=hint)
    if max_regression is not None and not max_regression >= 0:
        raise PlanError("The largest tolerated loss must be 0 or more.", where=f"--max-regression {max_regression}")
    if every < 1:
        raise PlanError("It must be 1 or more.", where=f"--every {every}")


def _with_checkpoint(model: str, model_path: str, model_args: Mapping[str, Any]) -> str:
    """Return the model with the checkpoint in its name, unless something else names it.

    Raises:
        PlanError: if the model would be the same for every checkpoint.
    """
    if any(mark in str([model, model_path, dict(model_args)]) for mark in (CHECKPOINT, STEP)):
        return model
    if ":" in model:
        raise PlanError(
            f"{model} would be the same model for every checkpoint.",
            where="--model",
            hint="Name the backend alone, or write {checkpoint} into the model or its arguments: "
            f"--model '{model.partition(':')[0]}:{{checkpoint}}'.",
        )
    return f"{model}:{CHECKPOINT}"


def _filled(value: Any, checkpoint: Checkpoint) -> Any:
    """Fill the checkpoint into a text, or into the texts in a collection; ``{step}`` alone becomes a number."""
    if isinstance(value, str):
        if value == STEP:
            return checkpoint.step
        path = str(checkpoint.path.resolve())
        return value.replace(STEP, str(checkpoint.step)).replace(CHECKPOINT, path)
    if isinstance(value, Mapping):
        return {key: _filled(item, checkpoint) for key, item in value.items()}
    return [_filled(item, checkpoint) for item in value] if isinstance(value, (list, tuple)) else value


def _none_found(measuring: Measuring, pattern: str) -> list[str]:
    """Return a sentence if nothing was measured yet and no note gives a reason."""
    if measuring.record.entries or measuring.notes:
        return []
    named = "" if pattern == "*" else f" called {pattern}"
    return [f"{measuring.folder} contains no checkpoint{named} yet: a folder or file with a step in its name."]


def _no_such_step(record: Record, against: str | int) -> list[str]:
    entry = record.entries.get(against) if isinstance(against, int) else None
    if isinstance(against, int) and (entry is None or entry.status != "measured"):
        return [f"Step {against} is not measured, so nothing is compared with it."]
    return []
