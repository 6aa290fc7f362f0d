"""Loading of a user's Python file, in each process that needs its registrations."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from polymeter.core.errors import PlanError, boundary
from polymeter.core.media.sources import digest
from polymeter.guests.door import in_mode
from polymeter.guests.opened_sources import loading_sources


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
    from polymeter.guests.shims.finder import switch_on_shims

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
