"""Detectors by name: ``NAME``, or ``NAME:PATH_OR_ID`` for those that read weights, such as ``hf:PATH_OR_ID``."""

from __future__ import annotations

import inspect
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import weights_place
from polymeter.core.media.detection import Detector
from polymeter.core.names.registries import DETECTORS

_PLACE = "place"
"""The argument of a detector's factory for a folder or hub id. Authors write it, so it keeps its name."""


def make_detector(name: str = "shapes", **settings: Any) -> Detector:
    """Make a detector. Its weights are read when it is first used.

    Args:
        name: ``shapes``, ``hf:`` with the hub id or folder of an object detection model, or a registered name.
        **settings: Keyword arguments of that detector; for ``hf:``, see ``HfDetector``.

    Raises:
        PlanError: if the detector is unknown, or a package is missing.
    """
    kind, _, place = name.partition(":")
    if kind not in DETECTORS:
        raise _no_detector(name)
    factory = DETECTORS.get(kind)
    parameters = inspect.signature(factory).parameters
    takes_place = _PLACE in parameters
    needs_place = takes_place and parameters[_PLACE].default is inspect.Parameter.empty
    if (place and not takes_place) or (needs_place and not place):
        raise _no_detector(name)
    if settings and not parameters:
        hint = f"The detector {kind!r} accepts no settings, but {', '.join(sorted(settings))} was given."
        raise _no_detector(name, hint)
    return factory(place, **settings) if place else factory(**settings)


def check_detector(name: str) -> None:
    """Check that a detector is available, without reading its weights.

    Raises:
        PlanError: if the detector is unknown, a package is missing, or the network does not exist.
    """
    make_detector(name).check()


def local_name(name: str) -> str:
    """Return a detector's name, with its id replaced by the folder that ``--weights ID=PATH`` gives."""
    kind, colon, place = name.partition(":")
    return f"{kind}{colon}{weights_place(place)}" if colon else name


def _no_detector(name: str, hint: str = "") -> PlanError:
    names = [":".join([kind, *DETECTORS.find(kind).takes]) for kind in DETECTORS]
    hint = hint or did_you_mean(name, names) or f"Known: {', '.join(names)}."
    return PlanError(f"There is no detector {name!r}.", where="detector", hint=hint)
