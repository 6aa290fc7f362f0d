"""Generated images beside what the model was given and what they are compared with; two of them under one slider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.report.formatting import clip, one_line
from polymeter.viewer.content.media import Picture
from polymeter.viewer.content.view import Block, SampleView, entry, media_of, messages_of, outputs_of

ORDER = 15
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Drawing:
    """An image with its label and facts. ``kind``: ``input``, ``made`` or ``compared``."""

    picture: Picture
    label: str
    facts: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Gallery:
    """All images of the sample.

    Attributes:
        drawings: They: inputs, generated ones, references.
        left: The place among those that have a file of the one under the left half of the slider; ``None``: no slider.
        right: That of the one under the right half.
        note: What the slider does to images of different sizes; may be empty.
    """

    drawings: tuple[Drawing, ...]
    left: int | None = None
    right: int | None = None
    note: str = ""

    @property
    def shown(self) -> tuple[Drawing, ...]:
        """Those that have a file."""
        return tuple(drawing for drawing in self.drawings if drawing.picture.url)


def make(view: SampleView) -> Block | None:
    """The images of a sample whose model generated some."""
    made = [*_made(view)]
    if not made:
        return None
    exchanges = view.exchanges()
    inputs = [view.media.picture(note) for note in media_of(messages_of(exchanges[0]), "image")]
    named = [
        *(
            Drawing(picture, _numbered("Input", place, len(inputs)), (), "input")
            for place, picture in enumerate(inputs)
        ),
        *(
            Drawing(picture, _numbered("Output" if inputs else "Generated", place, len(made)), facts, "made")
            for place, (picture, facts) in enumerate(made)
        ),
        *_compared(view),
    ]
    gallery = Gallery(tuple(named))
    kinds = [drawing.kind for drawing in gallery.shown]
    left = next((place for kind in ("input", "compared") for place, own in enumerate(kinds) if own == kind), None)
    right = kinds.index("made") if "made" in kinds else None
    if left is not None and right is not None:
        sizes = {(drawing.picture.width, drawing.picture.height) for drawing in gallery.shown}
        note = "The images differ in size; the slider stretches them to that of the left one." if len(sizes) > 1 else ""
        gallery = Gallery(gallery.drawings, left, right, note)
    return Block("drawn", "", "content/drawn.html", gallery, "wide")


def _made(view: SampleView) -> Iterator[tuple[Picture, tuple[str, ...]]]:
    """Each generated image with what is known of it: its seed, what its backend says."""
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


def _compared(view: SampleView) -> Iterator[Drawing]:
    for name, value in entry(view.sample, "log").items():
        note: Any = value.get("image") if isinstance(value, Mapping) else None
        if isinstance(note, Mapping):
            label = clip(one_line(str(name)).replace("_", " ").capitalize(), _LONGEST_NAME)
            yield Drawing(view.media.picture(note), label, (), "compared")


def _numbered(word: str, place: int, n: int) -> str:
    return word if n == 1 else f"{word} {place + 1}"
