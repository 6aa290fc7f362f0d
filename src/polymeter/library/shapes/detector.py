"""The detector ``shapes``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from polymeter.extend import COLOUR_NAMES, Detection, Detector, PlanError, as_rgb, missing_package, unknown_names
from polymeter.library.shapes.recognition import KNOWN, find_shapes

_ANOTHER = "Name a detector that does, such as hf:PATH_OR_ID; for a table: --dialect-option tsv.detector=hf:PATH_OR_ID."


class ShapesDetector(Detector):
    """Finds drawn shapes by their pixels, see ``recognition``. It is as sure of a shape as the outline fits, and no
    stricter when counting.

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
        """Every colour that people name."""
        return COLOUR_NAMES

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """All shapes in the image, whatever is looked for, the surest first.

        Raises:
            DataError: if the image cannot be read.
            PlanError: if it knows no such shape as is looked for.
        """
        others = unknown_names(labels, KNOWN)
        if others:
            raise PlanError(f"The detector 'shapes' knows drawn shapes and no {others[0]!r}.", hint=_ANOTHER)
        detections = [shape.detection() for shape in find_shapes(np.asarray(as_rgb(image))).shapes]
        return sorted(detections, key=lambda thing: -thing.score)
