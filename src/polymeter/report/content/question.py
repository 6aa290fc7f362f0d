"""The question of a sample: the text that the model was asked; and the heading that tells samples apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.rows import QUESTION_COLUMNS
from polymeter.report.content.media import origin_of
from polymeter.report.content.text import ShownText, visible
from polymeter.report.content.view import Block, BlockView, entry, media_of, question_at, texts_of
from polymeter.report.formatting import clip, one_line

ORDER = 5
_LONGEST_WHOLE = 240
_MOST_LINES = 4
"""A heading holds a question of at most this many characters and lines as a whole."""
_LONGEST_HEADING = 100


@dataclass(frozen=True, slots=True)
class SampleHeading:
    """The heading of a sample. ``is_question``: it is the whole question, so no block repeats that."""

    text: str
    is_question: bool = False


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """The texts of the question, and the number of messages before it, such as examples."""

    texts: tuple[ShownText, ...]
    n_before: int


def heading(view: BlockView) -> SampleHeading:
    """Return the name of the first file that the model was shown; else the question; else the sample's id."""
    name = next(_file_names(view), "")
    if name:
        return SampleHeading(name)
    texts, _ = _question(view)
    whole = "\n".join(texts).strip()
    is_short = len(whole) <= _LONGEST_WHOLE and whole.count("\n") < _MOST_LINES
    # A blank or a character that must be made visible is shown exactly, in the block.
    if whole and is_short and all(not run.kind for run in visible(whole.replace("\n", " ")).runs):
        return SampleHeading(whole, is_question=True)
    return SampleHeading(clip(one_line(_first_line(whole) or _asked_by_row(view)), _LONGEST_HEADING) or _id(view))


def make(view: BlockView) -> Block | None:
    """Return the question of the first request; ``None``: it has no text, or the page's heading is the question."""
    texts, n_before = _question(view)
    if not any(texts) or (view.is_headed and heading(view).is_question):
        return None
    title = "Prompt" if any(output.get("images") for output in view.outputs()) else "Question"
    return Block(
        "question", title, "content/question.html", ShownQuestion(tuple(map(visible, texts)), n_before), "asked"
    )


def _question(view: BlockView) -> tuple[list[str], int]:
    messages = view.first_messages()
    place = question_at(messages)
    return (texts_of(messages[place]), place) if place >= 0 else ([], 0)


def _first_line(text: str) -> str:
    """Return the first line if that is a question by itself, without the choices or rules below it; else the text."""
    first = text.partition("\n")[0].strip()
    return first if first.endswith("?") else text


def _asked_by_row(view: BlockView) -> str:
    """Return the question of the row of a sample that was never asked; empty if no column is named for one."""
    doc = entry(view.sample, "doc")
    return next((doc[name] for name in QUESTION_COLUMNS if isinstance(doc.get(name), str)), "")


def _id(view: BlockView) -> str:
    name = one_line(str(view.sample.get("id")))
    return f"Sample {name}" if name.isdecimal() else name


def _file_names(view: BlockView) -> Iterator[str]:
    messages = view.first_messages()
    for kind in ("image", "video", "audio"):
        for note in media_of(messages, kind):
            if name := _file_name(note):
                yield name


def _file_name(note: Mapping[str, Any]) -> str:
    """The name of a medium's file without its folders; empty if nothing names one."""
    named = origin_of(note)
    if named.startswith("data:"):
        return ""
    return clip(one_line(named.replace("\\", "/").rstrip("/").rpartition("/")[2]), _LONGEST_HEADING)
