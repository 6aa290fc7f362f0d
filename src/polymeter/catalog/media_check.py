"""Checks of the media files that the rows of a task name, without decoding them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from polymeter.catalog.trying import first_prompt
from polymeter.core.content import Image, Part, Text, readable_image
from polymeter.core.errors import DataError, PolymeterError, boundary
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import is_url
from polymeter.core.task import Task
from polymeter.report.formatting import count

_MOST_ROWS = 5000
"""The number of rows that are looked at: each takes a fraction of a millisecond."""


def unusable_media(task: Task) -> str:
    """A sentence about the rows whose media files are missing or hold no image; empty if there are none, or the task's
    own code gives the media, which may take any time.

    Args:
        task: The open task.
    """
    if task.is_guest or task.needs.modalities <= {"text"}:
        return ""
    looked_at = min(len(task.samples), _MOST_ROWS)
    found = [(index, reason) for index in range(looked_at) if (reason := _reason(task, index))]
    if not found:
        return ""
    of = f"{looked_at:,}" if looked_at == len(task.samples) else f"the first {looked_at:,}"
    index, reason = found[0]
    return f"{count(len(found), 'row')} of {of} cannot be asked. The first is sample {task.samples[index].id}: {reason}"


def _reason(task: Task, index: int) -> str:
    """Return the reason why the media of a row cannot be used; empty if they can."""
    try:
        for part in _prompt_parts(task, index):
            if isinstance(part, Text) or is_url(part.source):
                continue
            if isinstance(part, Image):
                _check_image(part)
    except DataError as error:
        return f"{error.what} {error.hint}".strip()
    except PolymeterError:  # playing reports what else is wrong with a row
        return ""
    return ""


def _prompt_parts(task: Task, index: int) -> Iterator[Part]:
    for request in first_prompt(task, task.samples[index]).requests:
        for message in request.messages:
            yield from message.parts


def _check_image(image: Image) -> None:
    """Read the header of an image.

    Raises:
        DataError: if its file is missing, or holds no image.
    """
    file = Path(image.place())
    if file.is_absolute() and file.is_file():  # without reading all of it
        with boundary(DataError, f"Opening the image {file}"), readable_image(lambda: str(file)), opened_image(file):
            return
    image.size()
    image.release()
