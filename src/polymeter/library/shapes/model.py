"""The model ``shapes``."""

from __future__ import annotations

import random
from collections.abc import Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from polymeter.extend import (
    ALL_READY,
    BatchModel,
    Error,
    GenerateImage,
    ImageRule,
    ModelError,
    ModelTraits,
    Output,
    Parameters,
    PlanError,
    PolymeterError,
    Request,
    Response,
    shown_image,
)
from polymeter.library.shapes.drawing import draw
from polymeter.library.shapes.editing import edited
from polymeter.library.shapes.layout import placed
from polymeter.library.shapes.reading import read_edit, read_order
from polymeter.library.shapes.slips import slipped, slipped_edit

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

VERSION = "1"
"""The version of the drawing code: raise it if a prompt and seed may give another image."""
_SIDE = 256
_SMALLEST = 32
_LARGEST = 8192
_IGNORED = "the model 'shapes' draws at once and accepts no settings but a size and seeds"


class ShapesModel(BatchModel):
    """A model that draws scenes of shapes from prompts and edits such images, with mistakes on purpose.

    A sample fails if the model does not understand its prompt, or if the shape to edit is not in the image. The same
    prompt and seed give the same image.

    Args:
        error_rate: The probability, from 0 to 1, of a mistake in each aspect that the prompt names: the count, the
            colour and the relation, independently of each other. In an edit, the change as a whole is one aspect.

    Raises:
        PlanError: if ``error_rate`` is not a probability.
    """

    batch_hint = ALL_READY

    def __init__(self, error_rate: float = 0.1) -> None:
        if not 0 <= error_rate <= 1:
            raise PlanError(
                f"The error rate of the model 'shapes' must be a probability from 0 to 1, not {error_rate!r}.",
                where="--model-args error_rate",
            )
        self.traits = ModelTraits(
            family="shapes",
            requests={"generate": False, "loglikelihood": False, "generate_image": True},
            modalities={"text": True, "image": True, "audio": False, "video": False},
        )
        self._error_rate = float(error_rate)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The version of the drawing code, the error rate, and the packages that draw and recognise shapes."""
        return {
            "backend": "shapes",
            "version": VERSION,
            "error_rate": self._error_rate,
            "pillow": metadata.version("pillow"),
            "opencv": _opencv_version(),
        }

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Return the settings of other image models, which have no effect here."""
        return dict.fromkeys(parameters.extra, _IGNORED) if isinstance(parameters, GenerateImage) else {}

    def respond(self, requests: list[Request]) -> list[Response]:
        """Draw or edit the image of every request."""
        return [self._respond(request) for request in requests]

    def _respond(self, request: Request) -> Response:
        parameters = request.parameters
        if not isinstance(parameters, GenerateImage):
            return Response(error=Error("permanent", f"The model 'shapes' cannot answer {parameters.kind!r}."))
        try:
            seed = parameters.repeat if parameters.seed is None else parameters.seed
            return Response((Output(images=(self._image(request, parameters, seed),)),))
        except PolymeterError as error:
            return Response.failed(error)

    def _image(self, request: Request, parameters: GenerateImage, seed: int) -> PILImage:
        prompt = request.text.strip()
        rng = random.Random(f"{VERSION}\x1f{seed}\x1f{prompt}")
        inputs = list(request.images())
        if len(inputs) > 1:
            raise ModelError(f"The model 'shapes' edits one image, but the request has {len(inputs)}.")
        if inputs:
            edit = slipped_edit(read_edit(prompt), self._error_rate, rng)
            shown = shown_image(inputs[0], ImageRule())
            return edited(shown, edit) if edit else shown.copy()
        width, height = parameters.size or (_SIDE, _SIDE)
        if min(width, height) < _SMALLEST:
            raise ModelError(f"The model 'shapes' draws no images smaller than {_SMALLEST} pixels.")
        if max(width, height) > _LARGEST:
            raise ModelError(f"The model 'shapes' draws no images larger than {_LARGEST} pixels.")
        order = slipped(read_order(prompt), self._error_rate, rng)
        shorter = min(width, height)
        return draw(placed(order, width / shorter, height / shorter, rng), width, height)


def _opencv_version() -> str:
    """Return the version of the installed OpenCV, from any of its packages; empty if it is missing."""
    for package in ("opencv-python-headless", "opencv-python", "opencv-contrib-python"):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return ""
