"""Local files in place of model ids: what the run says (``--weights ID=PATH``), else what the environment says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from polymeter.core.errors import PlanError

WEIGHTS_VARIABLE = "POLYMETER_WEIGHTS"
_PLACES: ContextVar[Mapping[str, str]] = ContextVar("local files in place of model ids")


@contextmanager
def weights_from(places: Mapping[str, str]) -> Iterator[None]:
    """Within this, ids are read from these places, before those of the environment."""
    token = _PLACES.set({**_PLACES.get({}), **places})
    try:
        yield
    finally:
        _PLACES.reset(token)


def weights_place(name: str) -> str:
    """Where a model is read from: its local place if it has one, else its id.

    Raises:
        PlanError: ``POLYMETER_WEIGHTS`` is not of its form.
    """
    return _PLACES.get({}).get(name) or named_places(WEIGHTS_VARIABLE).get(name, name)


def named_places(variable: str) -> dict[str, str]:
    """The places ``ID=PATH;ID=PATH`` that an environment variable names. An id may hold a colon, so semicolons part
    them.

    Raises:
        PlanError: One has no ``=``.
    """
    found = {}
    for text in os.environ.get(variable, "").split(";"):
        name, equals, place = text.partition("=")
        if text and not (equals and name and place):
            raise PlanError(f"{text!r} is not of the form ID=PATH.", where=variable)
        if text:
            found[name] = str(Path(place).resolve()) if Path(place).exists() else place
    return found
