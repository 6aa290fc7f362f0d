"""What a guest's file means by names of the package that it was written for, when it lies in a folder of its user's.

*Dotted names of a tree* (of tasks, of model wrappers, of benchmarks: ``tool.tasks.x.y``, ``tool.models.z``): here the
same folders may lie under another root, so the name is looked for below each ancestor of the folder that imports it,
first the tree's own folder in a copy of the tool and then the nearest, then below the folders of benchmarks that the
user has named, and then in the tool's own package if that is installed: its files are read, and the package is never
imported. Which trees there are, the systems say.

*Relative imports* (``from ..dataset import x``) of a file that stands for a module inside another system's package
(``tool.dataset.x``): the files beside it come first, then the shim of that package. In a checkout of the package itself
it is the other way round where the shim has the names: there the files beside it are the very modules that the shims
replace.

*Packages of a checkout*: a copy of such a package brings folders of its own (``tool.extra``), and code beside it, which
its users import because they start it from there.

All are lookups only; ``imports`` decides when to make them.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from polymeter.core.installed import installed_packages, is_benchmark_file
from polymeter.core.systems import import_roots, systems
from polymeter.guests.shims import is_shim

_MOST_TREE_LEVELS = 8
_MOST_CHECKOUT_LEVELS = 6

_included: dict[Path, None] = {}  # folders of benchmarks that the user has named in this process


@lru_cache(maxsize=1)
def trees() -> tuple[str, ...]:
    """Prefixes of the dotted names that are looked for on disk."""
    return tuple(tree for system in systems() for tree in system.trees)


@lru_cache(maxsize=1)
def package_names() -> frozenset[str]:
    """The importable packages of all systems."""
    return frozenset(import_roots())


def include_trees(places: Iterable[Path]) -> None:
    """Look for names of the trees below these places too, for as long as the process lives: folders of benchmarks, or
    files in them.
    """
    for place in places:
        _included[(place if place.is_dir() else place.parent).resolve()] = None


def tree_path(name: str, folder: Path | None) -> Path | None:
    """The folder, or the file without its suffix, that a name of one of the trees means; ``None`` if there is none.

    Args:
        name: The dotted name.
        folder: The folder of the file that imports it; ``None``: only included folders are searched.
    """
    tree = next((tree for tree in trees() if name.startswith(tree)), None)
    if tree is None or name in _modules_of_tools():
        return None
    parts = name.removeprefix(tree).split(".")
    ancestors = _ancestors(tree, folder) if folder is not None else []
    # What has come with a guest wins over a shim, and a shim over what lies elsewhere.
    elsewhere: Iterable[Path] = () if is_shim(name) else _included_places(tree, parts[0])
    for place in (*ancestors, *elsewhere):
        path = place.joinpath(*parts)
        if path.with_name(f"{path.name}.py").is_file() or path.is_dir():
            return path
    return None


def _ancestors(tree: str, folder: Path) -> list[Path]:
    """Folders around a file in which a tree may begin. In a copy of the tool a name means the same as there, also where
    a nearer folder is called like it (``lm_eval.tasks.ifeval`` in ``lm_eval/tasks/leaderboard/ifeval``).
    """
    inside = tuple(tree.rstrip(".").split("."))
    found = [folder, *folder.parents][:_MOST_TREE_LEVELS]
    return sorted(found, key=lambda place: place.parts[-len(inside) :] != inside)


def _included_places(tree: str, first: str) -> Iterator[Path]:
    """Folders in which a tree may begin: an included one, the tree's own folder inside a checkout, or what the folder
    of the wanted name itself lies in.
    """
    inside = tree.rstrip(".").split(".")
    for folder in _included:
        yield from (folder.joinpath(*inside[depth:]) for depth in range(len(inside), -1, -1))
        if folder.name == first:
            yield folder.parent
    for package in installed_packages():
        if tree == f"{package.record.package}.{package.record.folder.replace('/', '.')}.":
            yield package.folder


def tree_file(name: str, folder: Path) -> Path | None:
    """The source file that a module of one of the trees means; ``None`` if there is none. Arguments as for
    ``tree_path``.
    """
    path = tree_path(name, folder)
    if path is None:
        return None
    for candidate in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@lru_cache(maxsize=1)
def _modules_of_tools() -> frozenset[str]:
    """Modules that lie beside the folders of a tree and are the tool's own: a guest's file of that name is another."""
    return frozenset(
        f"{tree}{module}" for system in systems() for tree, modules in system.trees.items() for module in modules
    )


def parent_packages(packages: Iterable[str], levels: int, below: Sequence[str] = ()) -> tuple[str, ...]:
    """The dotted packages some levels above others, with ``below`` appended; those above the top level are left out."""
    parents: dict[str, None] = {}
    for package in packages:
        parts = package.split(".")
        kept = parts[: len(parts) - levels]
        if kept:
            parents[".".join([*kept, *below])] = None
    return tuple(parents)


def is_checkout(folder: Path) -> bool:
    """Whether a folder belongs to a copy of one of the packages that have shims."""
    ancestors = [folder, *folder.parents][:_MOST_CHECKOUT_LEVELS]
    checkouts = [checkout for system in systems() for checkout in system.checkouts.items()]
    return any(path.name == root and (path / inside).is_dir() for path in ancestors for root, inside in checkouts)


def package_root(folder: Path) -> Path | None:
    """The folder of a system's package that a folder lies in, by its name (``…/ulmeval`` of ``…/ulmeval/dataset``)."""
    ancestors = [folder, *folder.parents][:_MOST_CHECKOUT_LEVELS]
    return next((path for path in ancestors if path.name in package_names()), None)


def checkout_path(name: str, folder: Path) -> Path | None:
    """The folder, or the file without its suffix, that a name below a system's package means in the copy of that
    package that a folder lies in, where the shims have no such module; ``None`` if there is none.

    Args:
        name: The dotted name.
        folder: The folder of the file that imports it.
    """
    top, _, below = name.partition(".")
    root = package_root(folder)
    if root is None or not below or root.name != top or has_shim(name):
        return None
    path = root.joinpath(*below.split("."))
    return path if path.with_name(f"{path.name}.py").is_file() or path.is_dir() else None


def beside_checkout(top: str, folder: Path) -> Path | None:
    """The folder around the copy of a system's package that a folder lies in, if it has a module of that name."""
    root = package_root(folder)
    if root is None or top in package_names() or is_benchmark_file(f"{folder}/"):
        return None  # beside an installed package lie all other installed packages
    around = root.parent
    return around if (around / f"{top}.py").is_file() or (around / top).is_dir() else None


def has_shim(name: str) -> bool:
    """Whether there is a shim of that name."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # a package above it is missing
        return False


def names_beside(base: Path, name: str, wanted: Sequence[str]) -> frozenset[str]:
    """Which names of ``from .name import …`` come from files below ``base``."""
    path = base.joinpath(*name.split(".")) if name else base
    if name and (path.with_name(f"{path.name}.py").is_file() or (path / "__init__.py").is_file()):
        return frozenset(wanted)
    return frozenset(item for item in wanted if (path / f"{item}.py").is_file() or (path / item).is_dir())


def shim_of(packages: Iterable[str], name: str, wanted: Sequence[str]) -> tuple[ModuleType | None, bool]:
    """The shim that ``from .name import …`` means, and whether it has all the names.

    Args:
        packages: The dotted packages that ``.`` may be, the likeliest first.
        name: What follows the dots; may be empty.
        wanted: The names that are imported, ``*`` for all.
    """
    first: ModuleType | None = None
    for package in packages:
        module = _shim(f"{package}.{name}" if name else package, wanted)
        if module is not None and all(item == "*" or hasattr(module, item) for item in wanted):
            return module, True
        first = first or module
    return first, False


def joined(name: str, sources: Iterable[tuple[ModuleType, Iterable[str]]]) -> ModuleType:
    """A module that holds names of several modules."""
    module = ModuleType(name)
    for source, names in sources:
        vars(module).update({item: getattr(source, item) for item in names})
    return module


def _shim(name: str, wanted: Sequence[str]) -> ModuleType | None:
    """A shim, with those of its modules that are wanted; ``None`` if there is none of that name."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None
    for item in wanted:
        if item != "*" and not hasattr(module, item) and hasattr(module, "__path__"):
            _shim(f"{name}.{item}", ())
    return module
