"""Environment variables: setting them temporarily, and reading those that name local files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.text.secrets import remember

WEIGHTS_VARIABLE = "POLYMETER_WEIGHTS"


@contextmanager
def environment_set(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables inside the block; afterwards they have their former values, or are unset again."""
    remember(dict(values))
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
    """The paths that an environment variable ``ID=PATH;ID=PATH`` gives to ids. They are separated by semicolons because
    an id may contain a colon.

    Raises:
        PlanError: if one of them is not of the form ``ID=PATH``.
    """
    paths = {}
    for text in os.environ.get(variable, "").split(";"):
        name, equals, path = text.partition("=")
        if text and not (equals and name and path):
            raise PlanError(f"{text!r} is not of the form ID=PATH.", where=variable)
        if text:
            paths[name] = str(Path(path).resolve()) if Path(path).exists() else path
    return paths
