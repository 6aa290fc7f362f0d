"""TensorBoard: results as scalars, samples as text and images, in event files.

The files are written by tensorboardX, which needs neither torch nor TensorFlow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.shown_images import as_shown
from polymeter.core.media.sources import digest
from polymeter.core.records.tracker import TrackedRun, TrackedSample, flat, sample_limit

_LONGEST = 500
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")


class TensorBoardTracker:
    """A tracker that writes event files.

    Args:
        folder: TensorBoard's ``--logdir``; default: ``tensorboard`` in the run folder.
        name: The name of the curve, which is a subfolder; default: the run's name.
        step: The step on the horizontal axis, such as that of a checkpoint. Runs with the same name and different steps
            form one curve.
        samples: The number of samples of each task to show, or ``all``.
    """

    def __init__(self, *, folder: str = "", name: str = "", step: int = 0, samples: int | str = 20) -> None:
        import tensorboardX  # noqa: F401  (found missing before the run)

        if not str(step).isdecimal():  # a value from a command line may not be a number
            raise PlanError(f"{step!r} is not a step.", hint="Write step=1000.")
        self._folder = folder
        self._name = str(name)
        self._step = step
        self._limit = sample_limit(samples)

    def send(self, run: TrackedRun) -> str:
        from tensorboardX import SummaryWriter

        base = Path(self._folder) if self._folder else run.folder / "tensorboard"
        folder = base / (self._name or run.name)
        suffix = f".{digest(run.name.encode())[:8]}-{self._step}.polymeter"
        for old in folder.glob(f"events.out.tfevents.*{suffix}"):  # earlier files of the run are replaced, not doubled
            old.unlink()
        with SummaryWriter(str(folder), filename_suffix=suffix) as writer:
            self._write(writer, run)
        return str(base)

    def _write(self, writer: Any, run: TrackedRun) -> None:
        for number in run.numbers:
            writer.add_scalar(number.name, number.value, self._step)
            ends = {"stderr": number.stderr, "interval_low": number.low, "interval_high": number.high}
            for what, value in ends.items():
                if value is not None:
                    writer.add_scalar(f"{number.name}_{what}", value, self._step)
        for name, count in run.usage.items():
            writer.add_scalar(name, count, self._step)
        results = [
            [n.name, f"{n.value:.6g}", _rounded(n.stderr), _interval(n.low, n.high), str(n.n)] for n in run.numbers
        ]
        writer.add_text("results", _table(("score", "value", "stderr", "95 % interval", "n"), results), self._step)
        config = [[name, str(value)] for name, value in flat(run.config).items()]
        writer.add_text("config", _table(("setting", "value"), config), self._step)
        for task in run.tasks:
            self._write_samples(writer, task, [*run.samples(task, self._limit)])

    def _write_samples(self, writer: Any, task: str, samples: Sequence[TrackedSample]) -> None:
        if not samples:
            return
        rows = [[s.id, s.status, s.prompt, s.answer or "", s.target or "", _scores(s), s.error] for s in samples]
        headings = ("id", "status", "prompt", "answer", "target", "scores", "error")
        writer.add_text(f"{task}/samples", _table(headings, rows), self._step)
        for sample in samples:
            for what, paths in (("shown", sample.shown), ("generated", sample.generated)):
                for number, path in enumerate(paths):
                    pixels = _pixels(path)
                    if pixels is not None:
                        tag = f"{task}/{sample.id}/{what}{f'/{number}' if number else ''}"
                        writer.add_image(tag, pixels, self._step, dataformats="HWC")


def _pixels(path: Path) -> Any:
    """Return an image as an array of height × width × 3, or ``None`` if the file is missing or not an image."""
    import numpy as np
    from PIL import UnidentifiedImageError

    try:
        with opened_image(path) as image:
            return np.asarray(as_shown(image).convert("RGB"))
    except (UnidentifiedImageError, OSError):
        return None


def _scores(sample: TrackedSample) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in sample.scores.items())


def _rounded(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, which TensorBoard renders. Text of models and benchmarks is escaped."""
    lines = [headings, ["---"] * len(headings), *([_markdown_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(text: str) -> str:
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return _MARKUP.sub(r"\\\1", " ".join(shown.split()))
