"""Environment variables: those that are set for a while, and those that name local files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from polymeter.core.errors import PlanError

WEIGHTS_VARIABLE = "POLYMETER_WEIGHTS"


@contextmanager
def environment_set(values: Mapping[str, str]) -> Iterator[None]:
    """Variables have these values inside, and afterwards those that they had before, or none."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


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
