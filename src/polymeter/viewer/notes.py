"""The notes and tags that people leave on samples: ``notes.jsonl`` beside the run.

The file only grows (``store.appending``). Each line is one action: a note with tags was added, or one was deleted. A
line that cannot be read is passed over, and kept.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.store.appending import append, now, read_lines

FILE = "notes.jsonl"
LONGEST_NOTE, LONGEST_TAG, MOST_TAGS = 20_000, 60, 20
_WHAT = "the notes"
_SEPARATOR = re.compile(r"[,;\n]+")


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a sample.

    Attributes:
        id: Its own id.
        task: The task.
        sample: The id of the sample.
        text: The note; may be empty if there are tags.
        tags: The tags.
        by: The author's name; may be empty.
        at: When, as ISO 8601 in UTC.
    """

    id: str
    task: str
    sample: str
    text: str
    tags: tuple[str, ...]
    by: str
    at: str


def read_notes(run: Path) -> list[Note]:
    """Return the notes of a run that were not deleted, the oldest first.

    Raises:
        StorageError: if the file cannot be read.
    """
    notes: dict[str, Note] = {}
    for line in read_lines(run / FILE, _WHAT):
        entry = line.entry or {}
        if entry.get("taken_back"):
            notes.pop(str(entry["taken_back"]), None)
        elif (note := _note(entry)) is not None:
            notes.setdefault(note.id, note)
    return [*notes.values()]


def leave_note(run: Path, task: str, sample: str, text: str, tags: Iterable[str], by: str = "") -> Note:
    """Append a note.

    Raises:
        PlanError: if there is nothing to note, or it is too much.
        StorageError: if it cannot be written.
    """
    text, own = text.replace("\r\n", "\n").strip(), tuple(dict.fromkeys(tags))
    if not text and not own:
        raise PlanError("The note is empty.", hint="Write a note, or add a tag.")
    if len(text) > LONGEST_NOTE or len(own) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in own):
        raise PlanError(
            f"A note has at most {LONGEST_NOTE:,} characters, and {MOST_TAGS} tags of {LONGEST_TAG} characters each."
        )
    note = Note(uuid.uuid4().hex[:16], task, sample, text, own, by.strip()[:LONGEST_TAG], now())
    append(run / FILE, asdict(note), _WHAT)
    return note


def take_back(run: Path, note: str, by: str = "") -> None:
    """Delete a note: append that it no longer counts. The note itself stays in the file.

    Raises:
        StorageError: if it cannot be written.
    """
    append(run / FILE, {"taken_back": note, "by": by.strip()[:LONGEST_TAG], "at": now()}, _WHAT)


def tags_in(text: str) -> tuple[str, ...]:
    """The tags in a text, separated by commas."""
    found = (" ".join(tag.split()) for tag in _SEPARATOR.split(text))
    return tuple(dict.fromkeys(tag.lstrip("#").strip() for tag in found if tag.lstrip("#").strip()))


def tag_counts(notes: Iterable[Note]) -> dict[str, int]:
    """Return the number of samples with each tag."""
    found: dict[str, set[tuple[str, str]]] = {}
    for note in notes:
        for tag in note.tags:
            found.setdefault(tag, set()).add((note.task, note.sample))
    return {tag: len(samples) for tag, samples in sorted(found.items())}


def _note(entry: Mapping[str, Any]) -> Note | None:
    tags = entry.get("tags", ())
    if not all(isinstance(entry.get(name), str) for name in ("id", "task", "sample")) or not isinstance(tags, list):
        return None
    text, by, at = (str(entry.get(name) or "") for name in ("text", "by", "at"))
    return Note(entry["id"], entry["task"], entry["sample"], text, tuple(str(tag) for tag in tags), by, at)
