"""Tasks about images of one colour, and a model that looks at their pixels, for tests of ablations."""

from __future__ import annotations

import random
from pathlib import Path

from PIL import Image as Pictures

from polymeter.core.request import Request
from polymeter.models.mock import MockBatch

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "white": (250, 250, 250)}


def write_colours(
    folder: Path, name: str, n: int, *, leaks: bool = False, options: bool = False, n_images: int | None = None
) -> Path:
    """Write a table of questions about the colour of an image, and its images.

    Args:
        folder: Where to.
        name: The name of the table.
        n: The number of rows.
        leaks: Whether the question names the colour.
        options: Whether each row lists the colours as options.
        n_images: The number of different images; default: one for each row.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names, lines = [*COLOURS], ["image,question,answer" + (",A,B,C,D" if options else "")]
    for number in range(n):
        shown = number if n_images is None else number % n_images
        colour = names[shown % len(names)]
        size = (8 + shown % 5, 6 + shown // 5 % 7)
        path = folder / f"{name}-{shown}.png"
        if not path.exists():
            picture = Pictures.new("RGB", size, COLOURS[colour])
            picture.putpixel((0, 0), (shown % 256, shown // 256, 7))  # so that no two images are equal
            picture.save(path)
        about = f"the {colour} square number {number}" if leaks else f"square number {number}"
        answer = "ABCD"[names.index(colour)] if options else colour
        listed = "," + ",".join(names) if options else ""
        lines.append(f"{path.name},What colour has {about}?,{answer}{listed}")
    file = folder / f"{name}.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def colour_of(request: Request) -> str:
    """The colour in the last corner of the first image; empty if there is no image, or it has none of the colours."""
    for image in request.images():
        picture = image.open()
        pixel = picture.getpixel((picture.width - 1, picture.height - 1))
        return next((name for name, colour in COLOURS.items() if colour == pixel), "")
    return ""


class Looker(MockBatch):
    """Names the colour that the text names, else the one that it sees, else one at random; wrong now and then.

    Args:
        slips: How often it answers something wrong.
    """

    def __init__(self, slips: float = 0.0) -> None:
        super().__init__(self.look, identity={"backend": "looker", "slips": slips})
        self.asked: list[Request] = []
        self.slips = slips

    def look(self, request: Request) -> str:
        self.asked.append(request)
        assert request.origin is not None
        draw = random.Random(f"{request.origin.task}/{request.origin.sample}/{len([*request.images()])}")
        if draw.random() < self.slips:
            return "mauve"
        asked = "\n".join(line for line in request.text.splitlines() if line[1:2] != ".")
        named = next((name for name in COLOURS if name in asked), "")
        answer = named or colour_of(request) or draw.choice([*COLOURS])
        options = [line for line in request.text.splitlines() if line.endswith(f". {answer}")]
        return options[0][0] if options else answer


def texts(request: Request) -> list[str]:
    """The texts and the kinds of media of a request, in order."""
    parts = [part for message in request.messages for part in message.parts]
    return [part.text if part.modality == "text" else part.modality for part in parts]
