"""Detectors: they find objects in an image, for metrics that compare an image with its prompt.

``polymeter.metrics.composition`` compares the detections with a scene.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

Box = tuple[float, float, float, float]
"""Left, top, right and bottom edge in pixels; y grows downwards."""


@dataclass(frozen=True, slots=True)
class Detection:
    """An object found in an image.

    Attributes:
        label: Its class.
        colour: The name of its colour; ``None`` if the detector does not name colours.
        box: Where it is.
        score: The detector's confidence, from 0 to 1.
    """

    label: str
    colour: str | None
    box: Box
    score: float = 1.0


class Detector(ABC):
    """Finds objects in an image. Making a detector is cheap; weights are read when it is first used."""

    @property
    @abstractmethod
    def colours(self) -> Collection[str]:
        """The names of the colours that it distinguishes."""

    @abstractmethod
    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """The objects in an image.

        Args:
            image: A Pillow image, or a path, bytes or URL of one.
            labels: Classes to look for. A detector with a fixed set of classes may report others as well.
            is_counting: Report only detections of high confidence, as GenEval does for prompts about numbers.

        Raises:
            DataError: if the image cannot be read.
            PlanError: if it does not know one of the classes, because then finding none would mean nothing.
        """

    def check(self) -> None:
        """Check, without reading weights, that it will work. Called before any request is made.

        Raises:
            PlanError: if a package or its weights are missing.
        """
        return None
