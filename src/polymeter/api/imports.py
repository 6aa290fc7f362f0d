"""A user's Python files, which register models and more, and what to say where a name is not among them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.registries import MODELS
from polymeter.guests.door import current_mode
from polymeter.guests.loading.user_files import import_file


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


def refuse_while_loading() -> None:
    """Refuse to run anything while a file is loaded as a benchmark or a model: the run would load it again.

    Raises:
        PlanError: if a file is being loaded.
    """
    if current_mode() == "load":
        raise PlanError(
            "A file that is loaded as a benchmark calls polymeter.evaluate itself.",
            hint='Put the call under: if __name__ == "__main__":',
        )


__all__ = ["import_file", "naming_imports", "refuse_while_loading"]
