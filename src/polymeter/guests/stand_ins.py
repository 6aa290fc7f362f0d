"""What a relative import means in a file that was written to lie inside a foreign package (``ulmeval.dataset.x``) and
lies in a folder of its user's: its neighbours first, then the stand-in of that package.

In a checkout of the package itself it is the other way round where the stand-in has what is asked for: there the
neighbours are the very modules that the stand-ins replace.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from polymeter.core.systems import systems

_MOST_LEVELS = 6


def parent_places(places: Iterable[str], levels: int, below: Sequence[str] = ()) -> tuple[str, ...]:
    """Dotted packages some levels above others, and what lies below them; those that would be above the top are left
    out.
    """
    found: dict[str, None] = {}
    for place in places:
        parts = place.split(".")
        kept = parts[: len(parts) - levels]
        if kept:
            found[".".join([*kept, *below])] = None
    return tuple(found)


def is_checkout(folder: Path) -> bool:
    """Whether a folder belongs to a copy of one of the packages that we stand in for."""
    ancestors = [folder, *folder.parents][:_MOST_LEVELS]
    checkouts = [checkout for system in systems() for checkout in system.checkouts.items()]
    return any(place.name == root and (place / inside).is_dir() for place in ancestors for root, inside in checkouts)


def names_near(base: Path, name: str, wanted: Sequence[str]) -> frozenset[str]:
    """Which names of ``from .name import …`` come from files below ``base``."""
    place = base.joinpath(*name.split(".")) if name else base
    if name and (place.with_name(f"{place.name}.py").is_file() or (place / "__init__.py").is_file()):
        return frozenset(wanted)
    return frozenset(item for item in wanted if (place / f"{item}.py").is_file() or (place / item).is_dir())


def stand_in(packages: Iterable[str], name: str, wanted: Sequence[str]) -> tuple[ModuleType | None, bool]:
    """The stand-in that ``from .name import …`` means, and whether it has all that is asked for.

    Args:
        packages: The dotted packages that ``.`` may be, the likeliest first.
        name: What follows the dots; may be empty.
        wanted: The names that are imported, ``*`` for all.
    """
    first: ModuleType | None = None
    for package in packages:
        module = _module(f"{package}.{name}" if name else package, wanted)
        if module is not None and all(item == "*" or hasattr(module, item) for item in wanted):
            return module, True
        first = first or module
    return first, False


def joined(name: str, sources: Iterable[tuple[ModuleType, Iterable[str]]]) -> ModuleType:
    """A module that holds names of several."""
    module = ModuleType(name)
    for source, names in sources:
        vars(module).update({item: getattr(source, item) for item in names})
    return module


def _module(name: str, wanted: Sequence[str]) -> ModuleType | None:
    """A stand-in, with those of its modules that are wanted; ``None`` when there is none of that name."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
    for item in wanted:
        if item != "*" and not hasattr(module, item) and hasattr(module, "__path__"):
            _module(f"{name}.{item}", ())
    return module
