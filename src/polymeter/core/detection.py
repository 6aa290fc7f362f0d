"""Detectors: what finds things in an image, for metrics that compare an image with what a prompt asks for.

How detections are compared with a scene is the business of ``polymeter.metrics.composition``.
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
    """A thing found in an image.

    Attributes:
        label: Its class.
        colour: The name of its colour; ``None`` if the detector did not look.
        box: Where it is.
        score: How sure the detector is, from 0 to 1.
    """

    label: str
    colour: str | None
    box: Box
    score: float = 1.0


class Detector(ABC):
    """Finds things in an image. Making one is cheap; weights are read when it is first used."""

    @property
    @abstractmethod
    def colours(self) -> Collection[str]:
        """The names that it gives to colours."""

    @abstractmethod
    def detect(self, image: Any, labels: Sequence[str] = (), *, is_counting: bool = False) -> list[Detection]:
        """The things it finds.

        Args:
            image: A Pillow image, or a path, bytes or URL of one.
            labels: Classes to look for. A detector with classes of its own may report others as well.
            is_counting: Report only what it is nearly sure of, as GenEval does for prompts about numbers.

        Raises:
            DataError: if the image cannot be read.
            PlanError: if it cannot know a class that is looked for, since not finding it would say nothing.
        """

    def check(self) -> None:
        """Check, without reading weights, that it will work. Called before anything is asked of a model.

        Raises:
            PlanError: if a package or its network is missing.
        """
        return None
