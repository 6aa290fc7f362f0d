"""A sample as one row of a list, one line of a table or one tile: its question, file, answer, target and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.attempts import is_of_part
from polymeter.core.records.stored_samples import (
    answer_text,
    error_text,
    first_messages,
    images_of,
    media_names,
    media_of,
    named,
    text_of,
)
from polymeter.core.rows import QUESTION_COLUMNS
from polymeter.report.formatting import as_float, clip, count, one_line
from polymeter.report.sample_values import short_sample_value
from polymeter.report.table import spread_value
from polymeter.store.media import media_path
from polymeter.viewer.browsing import Browsed
from polymeter.viewer.found_words import gist
from polymeter.viewer.pages.media import address_of
from polymeter.viewer.pages.verdicts import mark_of

_GIST = 200
_LONGEST_VALUE = 24
_MOST_CHIPS = 4
"""They fill the two lines of a row."""


@dataclass(frozen=True, slots=True)
class ScoreChip:
    """A metric's value of one sample.

    Attributes:
        name: The metric, with the filter that the answers went through.
        text: Its value.
        step: Its step on the scale of colours; ``None``: it has no place on one.
        is_right: Whether the sample is right by it; ``None``: another metric decides.
    """

    name: str
    text: str
    step: int | None = None
    is_right: bool | None = None


@dataclass(frozen=True, slots=True)
class SampleInShort:
    """A sample in short.

    Attributes:
        index: Its index.
        id: Its id.
        address: Its page.
        subset: Its subset, with slashes; empty: none.
        status: Its status.
        error: The reason why it has no score; empty if it has one.
        question: The text of its prompt.
        file: The name of its first file; empty: none has a name.
        n_more_files: The number of its other named files.
        answer: The answer that was scored, or the number of generated images.
        target: The expected answer.
        chips: Its values, the most important first.
        image: The address of its first image; empty: it has none.
        tags: The tags that people left.
        n_notes: The number of notes on it.
        verdict: The verdict of a person that counts most, in a word; empty: none.
        blind: The ablations by which it was answered right without its media; empty: none.
        words: The words of the search that found it.
        place: The text that was searched; empty: all.
    """

    index: int
    id: str
    address: str
    subset: str
    status: str
    error: str
    question: str
    file: str
    n_more_files: int
    answer: str
    target: str
    chips: tuple[ScoreChip, ...]
    image: str
    tags: tuple[str, ...]
    n_notes: int
    verdict: str = ""
    blind: str = ""
    words: tuple[str, ...] = ()
    place: str = ""

    def found_in(self, place: str) -> tuple[str, ...]:
        """The words to mark in one of its texts (``prompt``, ``answer``, ``target``, ``file`` or ``id``)."""
        return self.words if self.place in ("", place) else ()

    @property
    def name(self) -> str:
        """The name that a reader knows it by: its file, else its id."""
        return self.file or self.id

    @property
    def shown(self) -> tuple[ScoreChip, ...]:
        """The values that a row has place for."""
        return self.chips[:_MOST_CHIPS]

    @property
    def others(self) -> str:
        """The other values, in words."""
        return ", ".join(f"{chip.name} {chip.text}" for chip in self.chips[_MOST_CHIPS:])

    def chip(self, name: str) -> ScoreChip | None:
        """The value of a metric; ``None``: it has none."""
        return next((chip for chip in self.chips if chip.name == name), None)


def sample_row(own: Browsed, sample: Mapping[str, Any], first_metric: str = "") -> SampleInShort:
    """Return a sample in short.

    Args:
        own: Its task in its run.
        sample: The sample.
        first_metric: The metric whose value stands first, such as the one by which rows are sorted.
    """
    messages = first_messages(sample)
    notes, drawn, files = own.notes_on(str(sample["id"])), images_of(sample), media_names(messages)
    words, place = own.filters.texts, own.filters.place

    def short(text: Any, where: str) -> str:
        return "" if text is None else gist(str(text), _GIST, words if place in ("", where) else ())

    chips = sorted(score_chips(own, sample), key=lambda chip: chip.name != one_line(first_metric))
    return SampleInShort(
        index=int(sample["index"]),
        id=one_line(str(sample["id"])),
        address=own.address("sample", (("index", str(sample["index"])),)),
        subset="/".join(one_line(str(part)) for part in sample["subset"] or ()),
        status=str(sample["status"]),
        error=short(error_text(sample), ""),
        question=short(_question(messages) or _question_of_row(sample["doc"]), "prompt"),
        file=short(files[0], "file") if files else "",
        n_more_files=max(len(files) - 1, 0),
        answer=short(answer_text(sample), "answer") or (count(len(drawn), "image") if drawn else ""),
        target=short(sample["target"], "target"),
        chips=tuple(chips),
        image=next(images_of_sample(own, sample), ""),
        tags=tuple(dict.fromkeys(tag for note in notes for tag in note.tags)),
        n_notes=len(notes),
        verdict=mark_of(own.judged.get(str(sample["id"]), ())),
        blind=", ".join(own.blind.get(str(sample["id"]), ())),
        words=words,
        place=place,
    )


def score_chips(own: Browsed, sample: Mapping[str, Any]) -> Iterator[ScoreChip]:
    """The values of a sample; of a value with keys its numbers, if it has some. Its page shows those of its repeats."""
    for score in sample["scores"]:
        if is_of_part(str(score["filter"])):
            continue
        parts = [*spread_value(str(score["metric"]), score["value"])]
        numbers = [pair for pair in parts if as_float(pair[1]) is not None]
        for metric, value in numbers or parts:
            name = named(metric, str(score["filter"]))
            found = own.axes.get(name)
            figure = as_float(value)
            step = None if found is None else found.step(figure)
            text = clip(short_sample_value(metric, value), _LONGEST_VALUE)
            yield ScoreChip(one_line(name), text, step, _is_right(own, name, figure))


def images_of_sample(
    own: Browsed, sample: Mapping[str, Any], *, given: bool = True, generated: bool = True
) -> Iterator[str]:
    """The addresses of a sample's images, those that the model made before those that it was given."""
    names = [*images_of(sample)] if generated else []
    if given:
        noted = media_of(first_messages(sample))
        names += [str(note["file"]) for kind, note in noted if kind != "audio" and note.get("file")]
    for name in names:
        if media_path(own.folder.media, name).exists():
            yield address_of(own.run.key, name)


def _question(messages: Sequence[Mapping[str, Any]]) -> str:
    """The last text of a user in the first request, below instructions and examples; else all of its text."""
    asked = (text for message in reversed(messages) if message["role"] == "user" and (text := text_of([message])))
    return next(asked, "") or text_of(messages)


def _question_of_row(row: Any) -> str:
    """The field of a row that holds its question by its name: a request that failed is not stored."""
    fields = row if isinstance(row, Mapping) else {}
    return next((str(fields[name]) for name in QUESTION_COLUMNS if isinstance(fields.get(name), str)), "")


def _is_right(own: Browsed, name: str, value: float | None) -> bool | None:
    main = own.main
    if main is None or name != main.name or value is None:
        return None
    return value < main.middle if main.is_lower_better else value > main.middle
