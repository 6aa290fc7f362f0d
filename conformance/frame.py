"""What suites share: what a driver observes of a task, files of observations, and child processes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("right", "wrong", "messy")


@dataclass
class Observation:
    """What one tool made of one task with one model.

    Attributes:
        task: The benchmark's name, the same in both tools.
        model: One of `MODELS`, or what the suite calls another model.
        values: Aggregated values by name.
        samples: Scores of each sample: sample → name → value.
        prompts: What the model was shown: sample → text.
        failure: Why there are no values; empty if there are.
        has_draws: Whether a hook was seen to draw random numbers.
    """

    task: str
    model: str
    values: dict[str, Any] = field(default_factory=dict)
    samples: dict[str, dict[str, Any]] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    has_draws: bool = False


def write_observation(file: Path, one: Observation) -> None:
    """Append an observation: what was observed before a crash is kept."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(plain(asdict(one)), ensure_ascii=True) + "\n")


def read_observations(file: Path) -> dict[tuple[str, str], Observation]:
    """Observations by task and model."""
    if not file.exists():
        return {}
    return {(one.task, one.model): one for one in _read(file)}


def _read(file: Path) -> Iterator[Observation]:
    for line in file.read_text(encoding="utf-8").splitlines():
        yield Observation(**json.loads(line))


def plain(value: Any) -> Any:
    """A value as JSON holds it, the same for equal values of both tools; a float that JSON lacks becomes its name."""
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    return f"<{type(value).__name__}>"


def python_of(environment: str) -> Path:
    """The interpreter of a suite's own environment at the repository root; the one that runs this if there is none."""
    own = ROOT / environment / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def run_child(
    python: Path,
    module: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
    timeout_s: float | None = None,
) -> int:
    """Run a driver in an environment, from the repository root; its exit status (124 after the time limit).

    Its output goes to ``log``, or is shown.
    """
    variables = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", **(environment or {})}
    command = [str(python), "-m", module, *arguments]
    if log is None:
        return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode
    with log.open("a", encoding="utf-8") as output:
        try:
            return subprocess.run(
                command, cwd=ROOT, env=variables, stdout=output, stderr=output, check=False, timeout=timeout_s
            ).returncode
        except subprocess.TimeoutExpired:
            return 124


def chunks(names: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    """Parts of a list."""
    return (names[start : start + size] for start in range(0, len(names), size))
