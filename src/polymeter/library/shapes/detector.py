"""The detector ``shapes``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from polymeter.extend import COLOUR_NAMES, Detection, Detector, PlanError, as_rgb, missing_package, unknown_names
from polymeter.library.shapes.recognition import KNOWN, find_shapes

_ANOTHER = "Name a detector that does, such as hf:PATH_OR_ID; for a table: --dialect-option tsv.detector=hf:PATH_OR_ID."


class ShapesDetector(Detector):
    """A detector that finds drawn shapes by their pixels; see ``recognition``. The score of a shape is the fit of its
    outline, from 0 to 1. Counting uses the same threshold.

    Raises:
        PlanError: if OpenCV is not installed.
    """

    def __init__(self) -> None:
        try:
            import cv2  # noqa: F401
        except ImportError as error:
            raise missing_package("opencv-python-headless", "the detector 'shapes'", "image-metrics") from error

    @property
    def colours(self) -> Collection[str]:
        """The names of all common colours."""
        return COLOUR_NAMES

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """Return all shapes in the image, the highest score first. ``labels`` does not limit them.

        Raises:
            DataError: if the image cannot be read.
            PlanError: if a label is not the name of a known shape.
        """
        others = unknown_names(labels, KNOWN)
        if others:
            raise PlanError(f"The detector 'shapes' knows drawn shapes, but not {others[0]!r}.", hint=_ANOTHER)
        detections = [shape.detection() for shape in find_shapes(np.asarray(as_rgb(image))).shapes]
        return sorted(detections, key=lambda thing: -thing.score)
