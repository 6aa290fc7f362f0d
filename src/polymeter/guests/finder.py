"""The finder: ``import lmms_eval.x`` gives ``polymeter.interop.lmms_eval.shim.lmms_eval.x``, the same module object under both names;
so do ``evalscope``, ``ulmeval`` and ``vlmeval``.

Nothing is installed under another project's name; one entry of ``sys.meta_path`` answers for it. What a task's own
collection brings (``lmms_eval.tasks.mmbench.en_utils``) never gets here: guests' imports look there first.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from polymeter.core.errors import PlanError
from polymeter.core.systems import import_roots


def install() -> None:
    """Make the foreign names importable, for as long as the process lives. Calling it again changes nothing.

    Raises:
        PlanError: The real package is loaded already, so its code and ours would mix.
    """
    if any(isinstance(finder, _ShimFinder) for finder in sys.meta_path):
        return
    for name in import_roots():
        loaded = sys.modules.get(name)
        if loaded is not None and not loaded.__name__.startswith("polymeter."):  # ours, under its other name
            raise PlanError(
                f"The package {name!r} is loaded already, so Polymeter cannot stand in for it.",
                where=str(getattr(loaded, "__file__", None) or name),
                hint=f"Evaluate in a process that does not import {name} first.",
            )
    sys.meta_path.insert(0, _ShimFinder())


class _ShimFinder(MetaPathFinder):
    """Answers for the foreign names and for nothing else."""

    def __init__(self) -> None:
        self._roots = import_roots()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, _, rest = fullname.partition(".")
        homes = self._roots.get(top)
        if homes is None:
            return None
        for home in homes:
            ours = f"{home}.{rest}" if rest else home
            found = _find(ours)
            if found is not None:
                is_package = found.submodule_search_locations is not None
                return ModuleSpec(fullname, _Alias(ours), origin=found.origin, is_package=is_package)
        raise ModuleNotFoundError(_what_is_missing(fullname, rest), name=fullname)


class _Alias(Loader):
    """Gives a module that has another name already.

    Args:
        real: That name.
    """

    def __init__(self, real: str) -> None:
        self._real = real
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._real)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just written the alias's spec over the module's own, which relative imports and pickle
        # need.
        module.__spec__ = self._spec


def _find(name: str) -> ModuleSpec | None:
    """The spec of one of our modules, found without importing it; its packages are imported."""
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None


def _what_is_missing(fullname: str, rest: str) -> str:
    """A sentence for a name that is not there, with the near ones."""
    top = fullname.partition(".")[0]
    known = [f"{top}.{name}" for home in import_roots()[top] for name in _stand_ins(home)]
    near = get_close_matches(fullname, known, n=3, cutoff=0.6)
    hint = f" Near: {', '.join(near)}." if near else ""
    if rest.startswith("tasks."):
        hint += " If another task folder has it, put the two folders side by side, as they are in lmms-eval."
    if rest.startswith(("models.simple.", "models.chat.")):
        hint += (
            " Wrappers of lmms-eval itself do not come with Polymeter: put its file in simple/ or chat/, side by side."
        )
    if top in ("ulmeval", "vlmeval") and rest.startswith(("dataset.", "ulm.", "vlm.")):
        hint += " Benchmarks and wrappers of other people do not come with Polymeter: put their files side by side."
    return f"Polymeter's stand-in for {top} has no module {fullname!r}.{hint}"


def _stand_ins(home: str) -> list[str]:
    """Dotted names of all our modules below a package, found without importing them."""
    spec = importlib.util.find_spec(home)
    found: list[str] = []
    waiting = [("", place) for place in (spec.submodule_search_locations or [] if spec else [])]
    while waiting:
        prefix, place = waiting.pop()
        for info in pkgutil.iter_modules([place]):
            found.append(f"{prefix}{info.name}")
            if info.ispkg:
                waiting.append((f"{prefix}{info.name}.", str(Path(place) / info.name)))
    return found
