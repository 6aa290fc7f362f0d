"""The meaning of names of the package that a guest's file was written for, if the file is in a user's folder.

*Dotted names of a tree* (of tasks, of model wrappers, of benchmarks: ``tool.tasks.x.y``, ``tool.models.z``): here the
same folders may lie under another root, so the name is looked for below each ancestor of the folder that imports it,
first the tree's own folder in a copy of the tool and then the nearest, then below the folders of benchmarks that the
user has named, and then in the tool's own package if that is installed: its files are read, and the package is never
imported. The systems list the trees.

*Relative imports* (``from ..dataset import x``) of a file that stands for a module inside another system's package
(``tool.dataset.x``): the files beside it come first, then the shim of that package. In a checkout of the package itself
the shim comes first if it has the names: there the files beside it are the very modules that the shims replace.

*Names that the shims supply* take precedence inside a copy of the package over the copy's own file of that name, in any
form of import: that file is the very module that the shim replaces, and may call a provider by itself. Below a tree
this holds only for the tool's own modules, and for systems whose authors put their files into the tool's own folders
(``checkouts``): otherwise the files of a tree have come with the task. A name that the shim does not have is the
file's.

*Packages of a checkout*: a copy of such a package brings folders of its own (``tool.extra``), and code beside it, which
its users import because they start it from there.

All are lookups only; ``imports`` decides when to make them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from types import ModuleType

from polymeter.core.names.installed import installed_packages, is_benchmark_file
from polymeter.core.names.systems import import_roots, systems
from polymeter.guests.shims.tables import ShimModule, holds, is_only_refused, is_shim

_MOST_TREE_LEVELS = 8
_MOST_CHECKOUT_LEVELS = 6

_included: dict[Path, None] = {}  # folders of benchmarks that the user has named in this process


def trees() -> tuple[str, ...]:
    """Prefixes of the dotted names that are looked for on disk."""
    return tuple(tree for system in systems() for tree in system.trees)


def package_names() -> frozenset[str]:
    """The importable packages of all systems."""
    return frozenset(import_roots())


def include_trees(places: Iterable[Path]) -> None:
    """Look for names of the trees below these places too, for the life of the process: folders of benchmarks, or files
    in them.
    """
    for place in places:
        _included[(place if place.is_dir() else place.parent).resolve()] = None


def appended_folders() -> list[Path]:
    """Folders that a script has put on the path of a tree's package (``tool.tasks.__path__.append(…)``)."""
    packages = (sys.modules.get(tree.rstrip(".")) for tree in trees())
    paths = (
        package.__path__ for package in packages if isinstance(package, ShimModule) and hasattr(package, "__path__")
    )
    return list(dict.fromkeys(folder for path in paths for place in path if (folder := Path(place).resolve()).is_dir()))


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
    is_replaced = folder is None or is_supplied(name, folder)
    ancestors = [] if folder is None or is_replaced else _ancestors(tree, folder)
    # Files that came with a guest take precedence over a shim, and a shim over files elsewhere.
    elsewhere: Iterable[Path] = () if is_shim(name) else _included_places(tree, parts[0])
    # A file of another folder of a copy of the tool (``tool.api``) means the copy's tree (``tool.models``) too.
    own = checkout_path(name, folder) if folder is not None and ancestors else None
    near = [*(place.joinpath(*parts) for place in ancestors), *([] if own is None else [own])]
    for path in chain(near, (place.joinpath(*parts) for place in elsewhere)):
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
    for folder in (*appended_folders(), *_included):
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
    """Return whether a folder belongs to a copy of one of the packages that have shims."""
    ancestors = [folder, *folder.parents][:_MOST_CHECKOUT_LEVELS]
    checkouts = [checkout for system in systems() for checkout in system.checkouts.items()]
    return any(path.name == root and (path / inside).is_dir() for path in ancestors for root, inside in checkouts)


def package_root(folder: Path) -> Path | None:
    """The folder of a system's package that a folder lies in, by its name (``…/ulmeval`` of ``…/ulmeval/dataset``)."""
    ancestors = [folder, *folder.parents][:_MOST_CHECKOUT_LEVELS]
    return next((path for path in ancestors if path.name in package_names()), None)


def name_in_copy(folder: Path) -> str:
    """The dotted name that a folder has in the copy of a system's package that it lies in, judged by where it lies;
    empty if it lies in none.
    """
    root = package_root(folder)
    if root is None or not _is_laid_out(root):
        return ""
    return ".".join([root.name, *folder.relative_to(root).parts])


def is_supplied(name: str, folder: Path) -> bool:
    """Return whether the shims answer for a name of a system's package where a copy of the package has a file of that
    name.

    Args:
        name: The dotted name of a module.
        folder: The folder of the file that imports it: in a copy of that package, or not.
    """
    if not is_shim(name) or is_only_refused(name) or name.partition(".")[0] != name_in_copy(folder).partition(".")[0]:
        return False
    return not name.startswith(trees()) or name in _modules_of_tools() or is_checkout(folder)


def lacking_in_shim(name: str, wanted: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the names of ``from name import …`` that the shim of a supplied module does not have. A module below it
    counts as one that it has if it is supplied itself.
    """
    return tuple(item for item in wanted if item != "*" and not _is_held(name, item, folder))


def _is_held(name: str, item: str, folder: Path) -> bool:
    below = f"{name}.{item}"
    return is_supplied(below, folder) if is_shim(below) else holds(name, item)


def _is_laid_out(root: Path) -> bool:
    """Return whether a folder that is called like a system's package is laid out like it."""
    if (root / "__init__.py").is_file():
        return True
    inside = (tree.removeprefix(f"{root.name}.").rstrip(".") for tree in trees() if tree.startswith(f"{root.name}."))
    return any((root / place).is_dir() for place in inside)


def checkout_path(name: str, folder: Path) -> Path | None:
    """The folder, or the file without its suffix, that a name below a system's package means in the copy of that
    package that a folder lies in, where the shims have no such module; ``None`` if there is none.

    Args:
        name: The dotted name.
        folder: The folder of the file that imports it.
    """
    top, _, below = name.partition(".")
    root = package_root(folder)
    if root is None or not below or root.name != top or is_shim(name):
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


def names_beside(base: Path, name: str, wanted: Sequence[str]) -> frozenset[str]:
    """Return the names of ``from .name import …`` that come from files below ``base``."""
    path = base.joinpath(*name.split(".")) if name else base
    if name and (path.with_name(f"{path.name}.py").is_file() or (path / "__init__.py").is_file()):
        return frozenset(wanted)
    return frozenset(item for item in wanted if (path / f"{item}.py").is_file() or (path / item).is_dir())


def shim_of(packages: Iterable[str], name: str, wanted: Sequence[str]) -> tuple[ModuleType | None, bool]:
    """The shim that ``from .name import …`` means, and whether it has all the names.

    Args:
        packages: The dotted packages that ``.`` may be, the likeliest first.
        name: The name after the dots; may be empty.
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
    """Return a shim, with those of its modules that are requested; ``None`` if there is none of that name. Files of the
    user's folders are never used for it: a file in one checkout does not replace a file in another.
    """
    if not is_shim(name):
        return None
    module = importlib.import_module(name)
    for item in wanted:
        if item != "*" and not hasattr(module, item) and hasattr(module, "__path__"):
            _shim(f"{name}.{item}", ())
    return module
