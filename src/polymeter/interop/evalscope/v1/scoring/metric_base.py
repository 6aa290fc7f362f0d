"""``Metric``: from an answer and a reference to a number. Authors subclass it and register it by name."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar


class MetricUnavailableError(RuntimeError):
    """There is no score: the input of a metric cannot be used, or it failed. The sample leaves the mean."""


class Metric(ABC):
    """A metric of one sample; it takes lists, too.

    Args:
        *args: The author's.
        **kwargs: The author's, from the entry of ``metric_list``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: B027  (subclasses need not have one)
        pass

    @abstractmethod
    def apply(self, predictions: list[Any], references: list[Any]) -> Sequence[Any]:
        """The values of some answers.

        Args:
            predictions: The answers.
            references: A reference for each.
        """

    def prepare_reference(self, target: Any) -> Any:
        """The reference of a sample as this metric takes it: the only accepted answer.

        Raises:
            ValueError: if the target has none or several.
        """
        return target.single()

    def __call__(self, prediction: Any, reference: Any) -> Any:
        """The value of one answer."""
        return self.apply([prediction], [reference])[0]


class SingletonMetric(Metric):
    """A metric with one object in a process, because a model belongs to it. ``_init_once`` makes it ready."""

    _instance: ClassVar[Any]
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        with SingletonMetric._lock:
            if "_instance" not in vars(cls):
                cls._instance = super().__new__(cls)
            return cls._instance

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with SingletonMetric._lock:
            if not hasattr(self, "_init_done"):
                self._init_once(*args, **kwargs)
                self._init_done = True

    def _init_once(self, *args: Any, **kwargs: Any) -> None:
        """Prepare the metric with the arguments of its first use."""


class T2IMetric(SingletonMetric):
    """A metric of an image and a text."""

    def apply(self, images: list[Any], texts: list[Any], **kwargs: Any) -> Any:  # type: ignore[override]
        """The values of some images.

        Args:
            images: Paths of images.
            texts: A text for each.
            **kwargs: The author's.
        """

    def __call__(self, image: Any, text: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """The value of one image."""
        return self.apply([image], [text], **kwargs)[0]
