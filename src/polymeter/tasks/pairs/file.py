"""Files of pairs: JSON Lines. The first line describes the comparison, and each other line is one pair.

A pair has ``id``, ``task``, ``sample``, ``cluster``, ``first`` and ``second`` (names of runs), ``prompt`` and
``answers`` (the first's and the second's). Prompt and answers are lists of parts: ``{"text": …}`` or ``{"image": …}``,
a file relative to that of the pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.content import Image, Part, Text
from polymeter.core.errors import DataError
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest
from polymeter.core.text.codec import compact_json

SCHEMA_VERSION = 1
KIND = "pairs"
StoredParts = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PairsHeader:
    """The first line of a file.

    Attributes:
        runs: The names of the runs whose answers are compared, in the order of their numbers.
        models: The names of their models.
        rubric: The criteria for a better answer, as the judge reads them.
        n_pairs: The number of pairs.
        has_images: Whether the judge sees images.
        notes: Notes for the reader of the results.
    """

    runs: tuple[str, ...]
    models: tuple[str, ...]
    rubric: str
    n_pairs: int
    has_images: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to one prompt.

    Attributes:
        id: Unique in the file.
        task: The task that the prompt is of.
        sample: The sample's id in it.
        cluster: What the sample shares with others; ``None``: nothing.
        first: The name of the run whose answer comes first here.
        second: The name of the other one.
        prompt: What both models were sent.
        answers: The first's answer and the second's.
    """

    id: str
    task: str
    sample: str
    cluster: str | None
    first: str
    second: str
    prompt: StoredParts
    answers: tuple[StoredParts, StoredParts] = field(default=((), ()))

    @property
    def is_same(self) -> bool:
        """True if both answers are equal, so that there is nothing to judge."""
        return self.answers[0] == self.answers[1]

    @property
    def unit(self) -> str:
        """The shared key of the comparisons of one sample, and of those in its cluster."""
        return f"{self.task}: {self.sample if self.cluster is None else f'cluster {self.cluster}'}"


def write_pairs(path: Path, head: PairsHeader, pairs: Iterable[AnswerPair]) -> None:
    """Write a file of pairs, all or nothing."""
    with replacing(path) as file:
        file.write(compact_json({"schema_version": SCHEMA_VERSION, "kind": KIND, **asdict(head)}) + "\n")
        for pair in pairs:
            file.write(compact_json(asdict(pair)) + "\n")


def read_head(path: Path) -> dict[str, Any]:
    """The first line of a file.

    Raises:
        DataError: if the file is not one of pairs.
    """
    with path.open(encoding="utf-8") as file:
        return _head(file.readline(), path)


class AnswerPairs:
    """The pairs of a file; only their lines are in memory.

    Args:
        path: The file.

    Raises:
        DataError: if it is not one of pairs, or is not whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        content = path.read_bytes()
        first, *lines = content.splitlines()
        self.head = _head(first.decode(errors="replace"), path)
        self._lines = lines
        self.digest = digest(content)
        if len(lines) != self.head["n_pairs"]:
            raise DataError(
                f"The file has {len(lines)} pairs, and its first line says {self.head['n_pairs']}.",
                where=str(path),
                hint="It was cut: make it again with 'polymeter pairwise'.",
            )

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, index: int) -> AnswerPair:
        try:
            row = json.loads(self._lines[index])
            row["answers"] = tuple(row["answers"])
            return AnswerPair(**row)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError("This line is not a pair of answers.", where=f"{self.path}:{index + 2}") from error

    def __iter__(self) -> Iterator[AnswerPair]:
        return (self[index] for index in range(len(self)))

    def parts(self, stored: StoredParts) -> tuple[Part, ...]:
        """The parts of a prompt or an answer, with images that are read when they are needed.

        Raises:
            DataError: if an image is not below the folder of the file.
        """
        return tuple(Image(self._image(part["image"])) if "image" in part else Text(part["text"]) for part in stored)

    def _image(self, name: str) -> Path:
        path = self.path.parent / name
        if not path.resolve().is_relative_to(self.path.parent.resolve()):
            raise DataError(f"The image {name!r} is not in the folder of its pairs.", where=str(self.path))
        return path


def _head(line: str, path: Path) -> dict[str, Any]:
    try:
        head = json.loads(line)
        is_one = head["kind"] == KIND and int(head["schema_version"]) <= SCHEMA_VERSION
    except (ValueError, KeyError, TypeError):
        is_one = False
    if not is_one:
        raise DataError(
            "This is not a file of pairs that this version reads.",
            where=f"{path}:1",
            hint="'polymeter pairwise' writes them.",
        )
    return {key: value for key, value in head.items() if key not in ("kind", "schema_version")}
