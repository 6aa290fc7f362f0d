"""The same text rows in every form that Polymeter runs, beside a plain loop over them and beside installed peers.

Each form asks the same questions of a model that costs nothing, scores and keeps every answer. Everything is a whole
process. What is compared runs in turn, so that a machine that is slow for a while is slow for all; the ratio of the
medians counts.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import data
from benchmarks.measure import Measured, measure

FORMS = ("templates", "hooks", "adapter", "table", "dataset class")
PEERS = {"lmms-eval": Path(".venv-lmms-eval/bin/python"), "EvalScope": Path(".venv-evalscope/bin/python")}
"""What is compared with, and the interpreter of an environment in which it is installed."""
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Work:
    """Some work as a command line.

    Attributes:
        name: What is shown.
        command: The command.
        output: The folder that it writes; removed before each run.
    """

    name: str
    command: tuple[str, ...]
    output: Path


def our_work(folder: Path, n_rows: int) -> list[Work]:
    """One run of Polymeter for each form, over rows made in ``folder``."""
    polymeter = str(Path(sys.executable).with_name("polymeter"))
    places = data.text_forms(folder, n_rows)
    return [
        Work(
            form,
            (polymeter, "run", "--model", "mock", *words, "--output", str(folder / f"run-{number}"), "--quiet"),
            folder / f"run-{number}",
        )
        for number, (form, words) in enumerate(places.items())
    ]


def plain_loop(folder: Path) -> Work:
    """A loop that asks, compares and writes each row, and does nothing else."""
    output = folder / "loop"
    return Work("plain loop", (sys.executable, "-m", "benchmarks.plain_loop", str(folder), str(output)), output)


def peer_work(folder: Path) -> list[Work]:
    """One run of each peer that is installed, over the same rows in the form that it reads."""
    work = []
    for number, (name, python) in enumerate(PEERS.items()):
        output = folder / f"peer-{number}"
        if (_ROOT / python).exists():
            command = (str(_ROOT / python), "-m", "benchmarks.peers", name, str(folder), str(output))
            work.append(Work(name, command, output))
    return work


def in_turn(work: list[Work], folder: Path, *, n: int, n_warm: int = 1) -> dict[str, list[Measured]]:
    """Every command ``n`` times, in turn, after ``n_warm`` runs of each that count for nothing: they fill caches.

    Raises:
        RuntimeError: if one fails.
    """
    found: dict[str, list[Measured]] = {one.name: [] for one in work}
    for turn in range(n_warm + n):
        for one in work:
            shutil.rmtree(one.output, ignore_errors=True)
            measured = measure(list(one.command), cwd=_ROOT, log=folder / "bench.log")
            if turn >= n_warm:
                found[one.name].append(measured)
    return found


def medians(found: dict[str, list[Measured]]) -> dict[str, float]:
    """The median wall time of each, in seconds."""
    return {name: median(one.wall_s for one in runs) for name, runs in found.items()}
