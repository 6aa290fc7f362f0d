"""The detector ``shapes``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from polymeter.extend import COLOUR_NAMES, Detection, Detector, PlanError, as_rgb, missing_package, unknown_names
from polymeter.library.shapes.recognition import KNOWN, find_shapes

_ANOTHER = "Name a detector that does, such as hf:PATH_OR_ID; for a table: --dialect-option tsv.detector=hf:PATH_OR_ID."


class ShapesDetector(Detector):
    """Finds drawn shapes by their pixels, see ``recognition``. Its score for a shape is how well the outline fits;
    counting is no stricter.

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
        """Every colour that has a common name."""
        return COLOUR_NAMES

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """All shapes in the image, whichever labels are looked for, by falling score.

        Raises:
            DataError: if the image cannot be read.
            PlanError: if a label is not a shape that it knows.
        """
        others = unknown_names(labels, KNOWN)
        if others:
            raise PlanError(f"The detector 'shapes' knows drawn shapes and no {others[0]!r}.", hint=_ANOTHER)
        detections = [shape.detection() for shape in find_shapes(np.asarray(as_rgb(image))).shapes]
        return sorted(detections, key=lambda thing: -thing.score)
