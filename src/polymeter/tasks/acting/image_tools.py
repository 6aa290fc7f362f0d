"""Tools that return pixels of a sample's images: crop, zoom, rotate, and a grid to read coordinates from.

They read the image of the dataset, whole and upright, also if the model is shown a smaller one. Each result states the
size of that image and the part that is shown, in the coordinates of the task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from polymeter.core.acting.episodes import EpisodeScene
from polymeter.core.acting.tools import Tool
from polymeter.core.content import Image, Part, Text

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Coordinates = Literal["fractions", "thousandths", "pixels"]
Box: TypeAlias = tuple[int, int, int, int]
COORDINATES: Mapping[Coordinates, str] = {
    "fractions": "fractions of the image's width and height, from 0 to 1",
    "thousandths": "thousandths of the image's width and height, from 0 to 1000",
    "pixels": "pixels of the original image",
}
"""The scales in which boxes are given, as a model reads about them."""
IMAGE_TOOLS_VERSION = 1
"""Raised whenever a tool returns other pixels or texts for the same call."""
_ZOOM_SIDE = 1024
_ZOOM_MOST = 8
_GRID_DEFAULT = 10
_GRID_MOST = 50


@dataclass(frozen=True, slots=True)
class ImageTool:
    """One of these tools.

    Attributes:
        kind: Its name.
        coordinates: The scale of its boxes.
    """

    kind: str
    coordinates: Coordinates = "fractions"

    @property
    def tool(self) -> Tool:
        """The tool as a model is offered it."""
        description, properties, required = _DESCRIBED[self.kind]
        described = {
            name: {**schema, "description": str(schema["description"]).format(scale=COORDINATES[self.coordinates])}
            for name, schema in {"image": _IMAGE, **properties}.items()
        }
        schema = {"type": "object", "properties": described, "required": list(required)}
        return Tool(self.kind, description, {**schema, "additionalProperties": False})

    def identity(self) -> Any:
        """Everything that can change its results besides its arguments."""
        return [self.kind, self.coordinates, IMAGE_TOOLS_VERSION]

    def use(self, scene: EpisodeScene, arguments: Mapping[str, Any]) -> tuple[Part, ...]:
        """Return the result of a call.

        Raises:
            ValueError: if the arguments name no image or no part of it.
            DataError: if the image cannot be read.
        """
        number = int(arguments.get("image", 1))
        if not 1 <= number <= len(scene.images):
            raise ValueError(f"There is no image {number}: the sample has {len(scene.images)}.")
        image = scene.images[number - 1].shown()
        size = f"Image {number} is {image.width} x {image.height} pixels."
        text, result = _TOOLS[self.kind](self, image, arguments)
        return (Text(f"{size} {text}"), Image(result))

    def box(self, image: PILImage, written: Sequence[float]) -> Box:
        """Return the pixels of a box: left, top, right, bottom, the last two exclusive. What lies outside the image is
        left out.

        Raises:
            ValueError: if nothing of the image is inside.
        """
        scale = {"fractions": image.size, "thousandths": (image.width / 1000, image.height / 1000), "pixels": (1, 1)}
        across, down = scale[self.coordinates]
        left, top, right, bottom = written
        if not (left < right and top < bottom):
            raise ValueError("A box is [left, top, right, bottom], with left < right and top < bottom.")
        pixels = (
            max(0, round(left * across)),
            max(0, round(top * down)),
            min(image.width, round(right * across)),
            min(image.height, round(bottom * down)),
        )
        if pixels[0] >= pixels[2] or pixels[1] >= pixels[3]:
            raise ValueError(f"Nothing of the image lies in this box. Coordinates are {COORDINATES[self.coordinates]}.")
        return pixels

    def written(self, image: PILImage, x: float, y: float) -> tuple[str, str]:
        """Return a place, given in pixels, in the coordinates of the task."""
        if self.coordinates == "pixels":
            return f"{x:.0f}", f"{y:.0f}"
        if self.coordinates == "thousandths":
            return f"{1000 * x / image.width:.0f}", f"{1000 * y / image.height:.0f}"
        return f"{x / image.width:.3f}", f"{y / image.height:.3f}"


def _shown(tool: ImageTool, image: PILImage, box: Box) -> str:
    left, top = tool.written(image, *box[:2])
    right, bottom = tool.written(image, *box[2:])
    size = f"{box[2] - box[0]} x {box[3] - box[1]} pixels"
    return f"This is its part [{left}, {top}, {right}, {bottom}], {size}"


def _crop(tool: ImageTool, image: PILImage, arguments: Mapping[str, Any]) -> tuple[str, PILImage]:
    box = tool.box(image, arguments["box"])
    return f"{_shown(tool, image, box)}.", image.crop(box)


def _zoom(tool: ImageTool, image: PILImage, arguments: Mapping[str, Any]) -> tuple[str, PILImage]:
    """Crop, and enlarge what is small by a whole number, so that no pixel of the image is lost between two others."""
    box = tool.box(image, arguments["box"])
    part = image.crop(box)
    factor = max(1, min(_ZOOM_MOST, _ZOOM_SIDE // max(part.size)))
    shown = _shown(tool, image, box)
    if factor == 1:
        return f"{shown}.", part
    from PIL.Image import Resampling

    larger = part.resize((part.width * factor, part.height * factor), Resampling.BICUBIC)
    return f"{shown}, enlarged {factor} times.", larger


def _rotate(tool: ImageTool, image: PILImage, arguments: Mapping[str, Any]) -> tuple[str, PILImage]:
    from PIL.Image import Resampling

    degrees = float(arguments["degrees"])
    turned = image.rotate(-degrees, Resampling.BICUBIC, expand=True, fillcolor="white")
    size = f"{turned.width} x {turned.height} pixels"
    return f"This is the whole of it, turned by {degrees:g} degrees clockwise, {size}.", turned


def _grid(tool: ImageTool, image: PILImage, arguments: Mapping[str, Any]) -> tuple[str, PILImage]:
    from PIL import ImageDraw, ImageFont

    n = int(arguments.get("lines", _GRID_DEFAULT))
    drawn = image.copy()
    pen = ImageDraw.Draw(drawn)
    width = max(1, min(image.size) // 500)
    font = ImageFont.load_default(max(10, min(image.size) // 40))
    for number in range(n + 1):
        x, y = round(number * (image.width - 1) / n), round(number * (image.height - 1) / n)
        pen.line([(x, 0), (x, image.height)], fill="red", width=width)
        pen.line([(0, y), (image.width, y)], fill="red", width=width)
        across, down = tool.written(image, number * image.width / n, number * image.height / n)
        if number < n:
            pen.text((x + width + 1, width + 1), across, fill="red", font=font)
        if 0 < number < n:
            pen.text((width + 1, y + width + 1), down, fill="red", font=font)
    return (
        f"This is the whole of it, with a grid of {n} x {n} cells. Numbers are {COORDINATES[tool.coordinates]}.",
        drawn,
    )


_IMAGE = {"type": "integer", "minimum": 1, "description": "Number of the image, from 1; default: 1."}
_BOX = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 4,
    "maxItems": 4,
    "description": "Left, top, right and bottom of the part, in {scale}.",
}
_DEGREES = {"type": "number", "minimum": -360, "maximum": 360, "description": "Degrees, clockwise."}
_LINES = {
    "type": "integer",
    "minimum": 1,
    "maximum": _GRID_MOST,
    "description": f"Cells in each direction; default: {_GRID_DEFAULT}. Lines are labelled in {{scale}}.",
}
_DESCRIBED: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]], tuple[str, ...]]] = {
    "crop": ("Show a part of an image at its original resolution.", {"box": _BOX}, ("box",)),
    "zoom": ("Show a part of an image at its original resolution, enlarged if it is small.", {"box": _BOX}, ("box",)),
    "rotate": ("Turn an image.", {"degrees": _DEGREES}, ("degrees",)),
    "grid": ("Show an image with a labelled grid, to read coordinates from.", {"lines": _LINES}, ()),
}
_TOOLS: Mapping[str, Callable[[ImageTool, PILImage, Mapping[str, Any]], tuple[str, PILImage]]] = {
    "crop": _crop,
    "zoom": _zoom,
    "rotate": _rotate,
    "grid": _grid,
}
IMAGE_TOOLS = tuple(_TOOLS)
"""Their names."""
