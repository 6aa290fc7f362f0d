"""Detectors by name: ``shapes`` for drawn scenes, ``hf:PATH_OR_ID`` for detection models of Transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import weights_place
from polymeter.core.registry import missing_package
from polymeter.metrics.colours import ANCHORS
from polymeter.metrics.composition import Detection, Detector, unknown
from polymeter.metrics.image import as_rgb
from polymeter.metrics.networks import check_network

_NAMES = ("shapes", "hf:PATH_OR_ID")
_ANOTHER = "Name a detector that does, such as hf:PATH_OR_ID; for a table: --dialect-option tsv.detector=hf:PATH_OR_ID."


def make_detector(name: str = "shapes", **settings: Any) -> Detector:
    """Make a detector; weights are read when it is first used.

    Args:
        name: ``shapes``, or ``hf:`` and the hub id or folder of an object detection model.
        **settings: Of ``hf:`` detectors, see ``HfDetector``.

    Raises:
        PlanError: There is no such detector, or a package is missing.
    """
    kind, _, place = name.partition(":")
    if kind == "shapes" and not place and not settings:
        return ShapesDetector()
    if kind == "hf" and place:
        from polymeter.metrics.hf_detector import HfDetector

        return HfDetector(place, **settings)
    hint = did_you_mean(name, _NAMES) or f"Known: {', '.join(_NAMES)}."
    if kind == "shapes" and settings:
        hint = f"The detector 'shapes' takes no settings, but {', '.join(sorted(settings))} was given."
    raise PlanError(f"There is no detector {name!r}.", where="detector", hint=hint)


def check_detector(name: str) -> None:
    """See whether a detector can be had, without reading its weights.

    Raises:
        PlanError: There is no such detector, a package is missing, or there is no such network.
    """
    make_detector(name)
    kind, _, place = name.partition(":")
    if kind == "hf":
        check_network(place, f"the detector {name!r}", "hf")


def local_name(name: str) -> str:
    """A detector's name with the folder that ``--weights ID=PATH`` puts in place of its id."""
    kind, colon, place = name.partition(":")
    return f"{kind}{colon}{weights_place(place)}" if colon else name


class ShapesDetector:
    """Finds drawn shapes on the pixels, see ``polymeter.library.shapes.detector``. It is as sure of a shape as the outline
    fits, and never less strict when counting.

    Raises:
        PlanError: OpenCV is not installed.
    """

    colours = tuple(ANCHORS)

    def __init__(self) -> None:
        try:
            import cv2  # noqa: F401
        except ImportError as error:
            raise missing_package("opencv-python-headless", "the detector 'shapes'", "image-metrics") from error

    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """All shapes that it sees, whatever is looked for, the surest first.

        Raises:
            DataError: The picture cannot be read.
            PlanError: It knows no such shape as is looked for.
        """
        from polymeter.library.shapes.detector import KNOWN, find_shapes

        others = unknown(labels, KNOWN)
        if others:
            raise PlanError(f"The detector 'shapes' knows drawn shapes and no {others[0]!r}.", hint=_ANOTHER)
        found = [shape.detection() for shape in find_shapes(np.asarray(as_rgb(image))).shapes]
        return sorted(found, key=lambda thing: -thing.score)
