"""Generated images beside the model's inputs and the references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.content.media import Picture
from polymeter.report.content.view import Block, BlockView, entry, media_of, messages_of, outputs_of
from polymeter.report.formatting import clip, one_line

ORDER = 15
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class ShownImage:
    """An image with its label and facts. ``kind``: ``input``, ``made`` or ``compared``."""

    picture: Picture
    label: str
    facts: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Gallery:
    """All images of the sample: inputs, generated ones, references."""

    drawings: tuple[ShownImage, ...]


def make(view: BlockView) -> Block | None:
    """The images of a sample whose model generated some."""
    found = drawings_of(view)
    if not found:
        return None
    return Block("drawn", "", "content/drawn.html", Gallery(found), "side" if len(found) == 1 else "wide")


def drawings_of(view: BlockView) -> tuple[ShownImage, ...]:
    """Inputs, generated images and references; none if the model generated no image."""
    made = [*_made(view)]
    if not made:
        return ()
    inputs = [view.media.picture(note) for note in media_of(messages_of(view.exchanges()[0]), "image")]
    word = "Output" if inputs else "Generated"
    return (
        *(ShownImage(one, _numbered("Input", place, len(inputs)), (), "input") for place, one in enumerate(inputs)),
        *(ShownImage(one, _numbered(word, place, len(made)), facts, "made") for place, (one, facts) in enumerate(made)),
        *_compared(view),
    )


def _made(view: BlockView) -> Iterator[tuple[Picture, tuple[str, ...]]]:
    """Each generated image with its facts: its seed, and the backend's note."""
    for exchange in view.exchanges():
        seeds = entry(entry(exchange, "request"), "ask").get("seeds")
        place = 0
        for output in outputs_of(exchange):
            images = output.get("images")
            for name in images if isinstance(images, list) else ():
                seed = seeds[place] if isinstance(seeds, list) and place < len(seeds) else None
                place += 1
                facts = [] if seed is None else [f"seed {seed}"]
                if output.get("note"):
                    facts.append(clip(one_line(str(output["note"])), 200))
                yield view.media.picture({"file": name}), tuple(facts)


def _compared(view: BlockView) -> Iterator[ShownImage]:
    for name, value in entry(view.sample, "log").items():
        note: Any = value.get("image") if isinstance(value, Mapping) else None
        if isinstance(note, Mapping):
            label = clip(one_line(str(name)).replace("_", " ").capitalize(), _LONGEST_NAME)
            yield ShownImage(view.media.picture(note), label, (), "compared")


def _numbered(word: str, place: int, n: int) -> str:
    return word if n == 1 else f"{word} {place + 1}"
