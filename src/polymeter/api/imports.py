"""Loading a user's Python file, so that it registers its models, metrics and benchmarks."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from polymeter.core.errors import PlanError, boundary
from polymeter.core.registries import MODELS
from polymeter.core.sources import digest
from polymeter.guests.door import in_mode
from polymeter.guests.opened_sources import loading_sources


def naming_imports(error: PlanError, model: str, files: Sequence[Path]) -> PlanError:
    """The error for a model that nobody has registered, with what the imported files registered instead.

    Args:
        error: The error.
        model: What was asked for.
        files: The files of ``--import``.
    """
    backend = model.partition(":")[0]
    if not files or backend in MODELS:
        return error
    places = {name: MODELS.find(name).place for name in MODELS}
    hints = []
    for file in files:
        names = [name for name, place in places.items() if place.startswith(str(file.resolve()))]
        if names:
            hints.append(f"{file.name} registers {' and '.join(map(repr, names))}.")
        else:
            hints.append(
                f"{file.name} registers no model: write @polymeter.register_model({backend!r}) above its class."
            )
    return PlanError(error.what, where=error.where, hint=" ".join(hints))


def import_file(path: Path) -> None:
    """Load a Python file once, under a private name, for its registrations.

    Raises:
        PlanError: if the file does not exist or cannot be loaded.
    """
    path = path.resolve()
    if not path.is_file():
        raise PlanError(f"The file {str(path)!r} does not exist.", where="--import")
    name = f"_polymeter_import_{digest(str(path).encode())[:12]}_{path.stem}"
    if name in sys.modules:
        return
    from polymeter.guests.shims import switch_on_shims

    switch_on_shims()
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PlanError(f"{path} is not a Python file.", where="--import")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with in_mode("load"), loading_sources(path), boundary(PlanError, f"Loading {path.name}"):
            spec.loader.exec_module(module)
    except PlanError:
        del sys.modules[name]
        raise
