"""The checkpoints in a folder: their steps, and the check that all of their files exist.

Training writes a checkpoint in place, so a folder exists long before it can be loaded. A checkpoint is complete once
all files that its own files name exist and nothing has been written to it for a while.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, no_folder
from polymeter.core.machine.places import stored_at

_STATE = "trainer_state.json"
"""The file that Transformers' Trainer writes last into a checkpoint."""
_ARGUMENTS = "training_args.bin"
_PIPELINE = "model_index.json"
_CONFIGS = ("config.json", "adapter_config.json", _PIPELINE)
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")
_SMALL = (".json", ".txt", ".jinja", ".model", ".py")
_NOT_THE_MODEL = re.compile(r"(optimizer|scheduler|scaler|rng_state|random_states|training_args|trainer_state).*")
"""Files of a checkpoint that training resumes from, and that no model is loaded from."""
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.(?P<ending>safetensors|bin)")
_STEPS = (
    re.compile(r"(?:^|[^a-z])(?:checkpoint|ckpt|(?:global[-_]?)?step|iter(?:ation)?)s?[-_=]?(\d+)", re.I),
    re.compile(r"(?:^|[^a-z])epoch[-_=]?(\d+)", re.I),
    re.compile(r"(?:^|[-_.=])(\d+)$"),
)
"""Patterns of names with a step, the most reliable first."""
_UNFINISHED = re.compile(r"(\.|tmp[-_.]).*|.*\.tmp", re.I)
_BLOCK = 64 * 1024
_MOST_BLOCKS = 512
Stamp = tuple[tuple[str, int, int], ...]
"""The files that a model is loaded from: name, size, and time of the last change in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint of a training run.

    Attributes:
        name: The name of its folder or file.
        path: The folder or file.
        step: The training step.
    """

    name: str
    path: Path
    step: int


def find_checkpoints(folder: Path, pattern: str = "*") -> tuple[list[Checkpoint], list[str]]:
    """Return the checkpoints in a folder in the order of their steps, complete or not, and a sentence for each one left
    out.

    Args:
        folder: The folder that training writes into.
        pattern: Only names that match.

    Raises:
        PlanError: if the folder does not exist.
        StorageError: if it cannot be read.
    """
    with stored_at(folder, "Reading the folder of checkpoints"):
        if not folder.is_dir():
            raise PlanError(no_folder(folder), hint="Name the folder that training writes checkpoints to.")
        paths = sorted(folder.iterdir())
    found: dict[int, Checkpoint] = {}
    notes = []
    for path in paths:
        if _UNFINISHED.fullmatch(path.name) or not fnmatchcase(path.name, pattern):
            continue
        if not (path.is_dir() or path.suffix in _WEIGHTS):
            continue
        step = _step(path)
        if step is None:
            continue
        other = found.setdefault(step, Checkpoint(path.name, path, step))
        if other.path != path:
            notes.append(
                f"{path.name} is left out: {other.name} has the same step {step}. Select one by name with --name."
            )
    return sorted(found.values(), key=lambda checkpoint: checkpoint.step), notes


def lacks(checkpoint: Checkpoint, *, is_loaded_by_config: bool, has_state: bool) -> str:
    """Return the part of a checkpoint that is still missing; empty if it is complete.

    Args:
        checkpoint: The checkpoint.
        is_loaded_by_config: Whether the model is loaded by Transformers, so that it needs a configuration.
        has_state: Whether it is one of the Trainer's, which writes ``trainer_state.json`` last.

    Raises:
        StorageError: if the folder cannot be read.
    """
    with stored_at(checkpoint.path, "Reading a checkpoint"):
        if checkpoint.path.is_file():
            return "" if checkpoint.path.stat().st_size else "content"
        names = {path.name for path in checkpoint.path.iterdir()}
        return next(_lacking(checkpoint.path, names, is_loaded_by_config, has_state), "")


def has_trainer_state(checkpoint: Checkpoint) -> bool:
    """Check whether the Trainer has finished writing a checkpoint."""
    return (checkpoint.path / _STATE).is_file()


def stamp_of(checkpoint: Checkpoint) -> Stamp:
    """Return a stamp that changes when the files that a model is loaded from change.

    Raises:
        StorageError: if they cannot be read.
    """
    with stored_at(checkpoint.path, "Reading a checkpoint"):
        if checkpoint.path.is_file():
            paths = [checkpoint.path]
        else:
            paths = [path for place in ("*", "*/*") for path in checkpoint.path.glob(place)]
            paths = [path for path in paths if path.suffix in (*_WEIGHTS, *_SMALL) and path.is_file()]
            paths = [path for path in paths if not _NOT_THE_MODEL.fullmatch(path.name)]
        stats = [(str(path.relative_to(checkpoint.path.parent)), path.stat()) for path in sorted(paths)]
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def content_of(checkpoint: Checkpoint) -> str:
    """Return a digest of the files that a model is loaded from. For a large file, the digest covers its size and blocks
    that are spread evenly over it. Training changes every matrix, and reading whole files would take longer than many
    measurements.

    Raises:
        StorageError: if they cannot be read.
    """
    state = hashlib.blake2b(digest_size=16)
    for name, size, _ in stamp_of(checkpoint):
        path = checkpoint.path.parent / name
        n_blocks = min(_MOST_BLOCKS, -(-size // _BLOCK))
        state.update(json.dumps([name.removeprefix(checkpoint.name), size]).encode())
        with stored_at(path, "Reading a checkpoint"), path.open("rb") as file:
            for number in range(n_blocks):
                file.seek(number * max(0, size - _BLOCK) // max(1, n_blocks - 1))
                state.update(file.read(_BLOCK))
    return state.hexdigest()


class Settling:
    """A check of whether a checkpoint has not changed for a while.

    The time of a file's last change may come from another machine's clock. So a checkpoint is also settled if two
    checks, separated by the same time, found it unchanged.

    Args:
        least_s: The seconds without changes after which a checkpoint is settled.
        now: The time of day in seconds, as in file times.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self, least_s: float, now: Callable[[], float] = time.time, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._least_s = least_s
        self._now = now
        self._clock = clock
        self._seen: dict[Path, tuple[Any, float]] = {}

    def left_s(self, checkpoint: Checkpoint) -> float:
        """Return the seconds for which a checkpoint must still stay unchanged; 0: it is settled.

        Raises:
            StorageError: if its files cannot be read.
        """
        with stored_at(checkpoint.path, "Reading a checkpoint"):
            inside = checkpoint.path.glob("**/*") if checkpoint.path.is_dir() else ()
            stats = {str(path): path.stat() for path in (checkpoint.path, *inside) if path.exists()}
        state = {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}
        before, since = self._seen.get(checkpoint.path, (None, 0.0))
        if before != state:
            since = self._clock()
            self._seen[checkpoint.path] = (state, since)
        age = self._now() - max(stat.st_mtime for stat in stats.values()) if stats else 0.0
        return max(0.0, self._least_s - max(age, self._clock() - since))


def _lacking(path: Path, names: set[str], is_loaded_by_config: bool, has_state: bool) -> Iterator[str]:
    if is_loaded_by_config and not names & set(_CONFIGS):
        yield "config.json"
    for name in sorted(names):
        is_read = name in (*_CONFIGS, _STATE) or name.endswith(".index.json")
        content = _json(path / name) if is_read else {}
        if content is None:
            yield f"the rest of {name}"
        elif name == _PIPELINE:
            yield from sorted(_components(content) - names)
        else:
            yield from sorted({str(shard) for shard in content.get("weight_map", {}).values()} - names)
    weights = [name for name in names if name.endswith(_WEIGHTS) and not _NOT_THE_MODEL.fullmatch(name)]
    if is_loaded_by_config and _PIPELINE not in names and not weights:
        yield "its weights"
    yield from sorted(_shards(names) - names)
    for name in weights:
        if name.endswith(".safetensors") and not _is_whole(path / name):
            yield f"the rest of {name}"
    if (has_state or _ARGUMENTS in names) and _STATE not in names:
        yield _STATE


def _components(pipeline: dict[str, Any]) -> set[str]:
    """Return the folders of a Diffusers pipeline: its components that have a library and a class."""
    listed = {name: value for name, value in pipeline.items() if isinstance(value, list) and not name.startswith("_")}
    return {name for name, value in listed.items() if value and value[0] is not None}


def _shards(names: set[str]) -> set[str]:
    """Return all shards that belong to the existing ones, by their names."""
    return {
        f"{found['stem']}-{number:05d}-of-{found['total']}.{found['ending']}"
        for found in filter(None, map(_SHARD.fullmatch, names))
        for number in range(1, int(found["total"]) + 1)
    }


def _is_whole(path: Path) -> bool:
    """Check whether a file of safetensors has the length in its header: 8 bytes with the length of a JSON that has the
    places of all tensors.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 + length:
            return False
        try:
            head = json.loads(file.read(length))
        except ValueError:
            return False
    ends = [tensor["data_offsets"][1] for name, tensor in head.items() if name != "__metadata__"]
    return bool(size >= 8 + length + max(ends, default=0))


def _json(path: Path) -> dict[str, Any] | None:
    """Return the content of a JSON file, or ``None`` if it is not complete."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _step(path: Path) -> int | None:
    name = path.name if path.is_dir() else path.stem
    for pattern in _STEPS:
        told = pattern.findall(name)
        if told:
            return int(told[-1])
    state = _json(path / _STATE) if path.is_dir() else None
    step = (state or {}).get("global_step")
    return step if isinstance(step, int) else None
