"""A callback for the Trainer of Transformers that measures each checkpoint as it is saved.

The Trainer finds its methods by name, so it imports neither torch nor transformers. The measurement runs in a separate
process and does not touch the memory, random state and processes of the training run.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from polymeter.analysis.tracking.child import ANSWER
from polymeter.core.children.child import Child
from polymeter.core.errors import PlanError
from polymeter.core.settings.arguments import Names, names_of

_LOGGER = logging.getLogger("polymeter")
_CHILD = "polymeter.analysis.tracking.child"
_TAIL = 600
"""The most characters of the process's output that are reported when it fails."""
_OF_THE_TRAINING = ("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
_OF_ITS_LAUNCHER = ("MASTER_", "TORCHELASTIC_", "ACCELERATE_", "FSDP_", "DEEPSPEED_")
"""Environment variables that would make the measurement act as one of the training run's processes."""


class TrackCallback:
    """A callback that measures each checkpoint that the Trainer saves, as ``polymeter track`` does, and logs the
    values.

    If a measurement fails, a warning is logged and training continues. If training runs in several processes, only the
    main one measures, and training does not wait, because the other processes would time out. In a single process,
    training waits.

    Args:
        tasks: Names, globs, groups or tags, or paths of files and folders.
        wait: Whether training waits for each measurement. Default: only if it runs in one process.
        stop_on_regression: Whether to end training when a checkpoint is worse than ``max_regression`` allows.
        timeout_s: The time limit of a measurement, in seconds; default: none.
        log_prefix: The prefix of the names of logged values. Trackers show names with ``eval_`` among the evaluations.
        environment: Environment variables for the measurement, such as another ``CUDA_VISIBLE_DEVICES``.
        **options: Further arguments of ``polymeter.track``, among them options of runs, as plain data.

    Raises:
        PlanError: if an argument is not plain data, or ``stop_on_regression`` is set without ``max_regression``.
    """

    def __init__(
        self,
        tasks: Names,
        *,
        wait: bool | None = None,
        stop_on_regression: bool = False,
        timeout_s: float | None = None,
        log_prefix: str = "eval_polymeter/",
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        if stop_on_regression and options.get("max_regression") is None:
            raise PlanError("stop_on_regression needs the largest tolerated loss.", hint="Add max_regression=0.02.")
        self._asked = _options_as_json({"tasks": list(names_of(tasks, "tasks")), **options})
        self._wait = wait
        self._stops = stop_on_regression
        self._timeout_s = timeout_s
        self._prefix = log_prefix
        self._environment = dict(environment or {})
        self._trainer: weakref.ref[Any] | None = None
        self._child: _TrackingChild | None = None
        self._is_owed = self._is_regressed = False
        self.document: dict[str, Any] = {}
        """The newest curve, as ``polymeter track --json`` prints it."""

    def attach(self, trainer: Any) -> TrackCallback:
        """Add the callback to a Trainer, and log values through it, so that its trackers show them. Without this call,
        they are only in ``state.log_history``.
        """
        if self not in trainer.callback_handler.callbacks:
            trainer.add_callback(self)
        self._trainer = weakref.ref(trainer)
        return self

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Measure the checkpoint that was saved."""
        if state.is_world_process_zero:
            with _failures_logged("The checkpoint was not measured"):
                waits = self._wait if self._wait is not None else int(getattr(args, "world_size", 1)) == 1
                self._start(args, is_last=waits)
                if waits:
                    self._collect(args, state, waits=True)
        return self._stopping(args, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Log the results of a measurement beside training."""
        if state.is_world_process_zero and self._child is not None:
            with _failures_logged("The checkpoint was not measured"):
                self._collect(args, state, waits=False)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Wait for measurements beside training."""
        while state.is_world_process_zero and self._child is not None:
            with _failures_logged("The checkpoint was not measured"):
                self._collect(args, state, waits=True)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Ignore all other events, including those of later versions of the Trainer."""
        if name.startswith("on_"):
            return lambda *args, **kwargs: None
        raise AttributeError(name)

    def _start(self, args: Any, *, is_last: bool) -> None:
        if self._child is not None:
            self._is_owed = True  # measured with the next start, which checks all checkpoints
            return
        _free_memory()
        self._child = _TrackingChild(
            {**self._asked, "folder": str(args.output_dir), "last": is_last}, self._environment, self._timeout_s
        )

    def _collect(self, args: Any, state: Any, *, waits: bool) -> None:
        child = self._child
        if child is None or not child.has_ended(waits=waits):
            return
        self._child = None
        try:
            self.document = child.document()
            for values in _logged(self.document, self._prefix, state.global_step):
                self._log(values, state)
            found = (self.document.get("max_regression") or {}).get("regressions") or []
            self._is_regressed = bool(found)
            for sentence in found:
                _LOGGER.warning("Regression: %s", sentence)
        finally:
            if self._is_owed:
                self._is_owed = False
                self._start(args, is_last=False)

    def _log(self, values: dict[str, float], state: Any) -> None:
        trainer = self._trainer() if self._trainer is not None else None
        if trainer is not None:
            trainer.log(dict(values))
        else:
            state.log_history.append({**values, "epoch": state.epoch, "step": state.global_step})

    def _stopping(self, args: Any, control: Any) -> Any:
        """Return the control, with a stop if any process has seen a regression: all of them must stop at the same
        step.
        """
        if self._stops and _any_process(self._is_regressed, args):
            control.should_training_stop = True
        return control


class _TrackingChild:
    """The process that measures."""

    def __init__(self, asked: Mapping[str, Any], environment: Mapping[str, str], timeout_s: float | None) -> None:
        self._timeout_s = timeout_s
        self._place = tempfile.TemporaryDirectory(prefix="polymeter-track-", ignore_cleanup_errors=True)
        self._answer = Path(self._place.name) / "curve.json"
        self._child = Child(
            [sys.executable, "-m", _CHILD], stdin=subprocess.PIPE, env={**_environment(), **environment}
        )
        with suppress(BrokenPipeError), self._child.stdin as stdin:  # it has already ended; 'document' reports how
            stdin.write(json.dumps({**asked, ANSWER: str(self._answer)}).encode())

    def has_ended(self, *, waits: bool) -> bool:
        """Check whether it has ended. A process that takes too long is killed."""
        if not waits:
            return self._child.status is not None
        try:
            self._child.wait(self._timeout_s)
        finally:  # also if training itself is ended, as by Ctrl-C
            self._child.kill()
        return True

    def document(self) -> dict[str, Any]:
        """Return the document that it wrote.

        Raises:
            RuntimeError: if it wrote none. The message ends with its output.
        """
        try:
            if not self._answer.exists():
                said = self._child.said(4 * _TAIL).strip()  # a character has up to four bytes
                raise RuntimeError(f"the measurement ended with {self._child.status}: …{said[-_TAIL:]}")
            return dict(json.loads(self._answer.read_text(encoding="utf-8")))
        finally:
            self._child.kill()
            self._place.cleanup()


@contextmanager
def _failures_logged(what: str) -> Iterator[None]:
    """Log errors inside the block, so that training continues, unless the user ends it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (hours of training are worth more than any measurement)
        _LOGGER.warning("%s: %s", what, error)


def _logged(document: Mapping[str, Any], prefix: str, step: int) -> Iterator[dict[str, float]]:
    """Yield the values to log: those of each checkpoint that was just measured, and of the one of this step."""
    for point in document["checkpoints"]:
        if point["status"] != "measured":
            if point["step"] in document["new"]:
                _LOGGER.warning("%s was not measured: %s", point["name"], point["error"])
            continue
        if point["step"] not in {*document["new"], step}:
            continue
        values: dict[str, float] = {f"{prefix}step": point["step"]}
        for line in document["lines"]:
            found = next((one for one in line["points"] if one["step"] == point["step"]), None)
            if not line["is_main"] or found is None or not isinstance(found["value"], (int, float)):
                continue
            name = f"{prefix}{line['name']}/{line['metric']}"
            values[name] = found["value"]
            if found["interval"] is not None:
                values[f"{name}_low"], values[f"{name}_high"] = found["interval"]
        yield values


def _options_as_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments in a form that can be passed to another process.

    Raises:
        PlanError: if one is not plain data.
    """
    try:
        return dict(json.loads(json.dumps(options, default=_as_text)))
    except (TypeError, ValueError) as error:
        raise PlanError(f"The measurement runs in another process, to which this cannot be passed: {error}") from None


def _as_text(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not plain data.")


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_THE_TRAINING and not name.startswith(_OF_ITS_LAUNCHER)
    }


def _free_memory() -> None:
    """Release memory of the accelerator that the allocator of the training run keeps without using it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def _any_process(is_so: bool, args: Any) -> bool:
    """Check whether a value is true in any process of the training run."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return is_so
    told = torch.tensor([int(is_so)], device=args.device)
    torch.distributed.all_reduce(told, op=torch.distributed.ReduceOp.MAX)
    return bool(told.item())
