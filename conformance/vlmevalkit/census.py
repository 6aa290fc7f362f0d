"""The census of VLMEvalKit's own datasets in Polymeter: the names and presets that are listed without running anything,
with the class that each belongs to there; and which of the registered classes load.

A class that needs packages which are not installed is loaded once more with empty modules in their place: it would
load with them. A checkout with fewer classes or names than that of August 2026 is counted by what it has.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.contained import only_this_machine, reason
from conformance.frame import python_of, run_child

_ENVIRONMENT = ".venv-vlmevalkit"
_LEAST_LOADED = 230 / 243
_SHOWN = 160


def census_of(checkout: Path) -> bool:
    """Print what is listed, what differs from the original's list, and what loads; whether it is enough.

    Args:
        checkout: The folder that contains ``vlmeval``.
    """
    from polymeter.core.names.catalog import Root
    from polymeter.guests.loading.neighbours import include_trees
    from polymeter.interop.ulmeval.tasks.index import index

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as work:
        theirs = _stated(checkout, Path(work))
    only_this_machine()
    include_trees([checkout])
    catalog = index([Root(checkout)])
    is_good = _compare_names(theirs["names"], catalog) and _compare_presets(theirs["presets"], catalog)
    for problem in catalog.problems:
        print(f"  problem: {problem.where}: {problem.message[:_SHOWN]}")
    loaded = _Loaded()
    loaded.load({cls: _file_of(module, checkout) for cls, module in theirs["classes"]})
    return _print_loaded(loaded, len(theirs["classes"])) and is_good


def _stated(checkout: Path, work: Path) -> dict[str, Any]:
    """The classes, names and presets that the original states, asked in its own environment."""
    out = work / "names.json"
    run_child(
        python_of(_ENVIRONMENT),
        "conformance.vlmevalkit.names_original",
        [str(checkout), str(out)],
        log=work / "names.log",
    )
    if not out.exists():
        raise SystemExit((work / "names.log").read_text(encoding="utf-8")[-2000:])
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def _compare_names(theirs: Mapping[str, tuple[str, str]], catalog: Any) -> bool:
    from polymeter.interop.ulmeval.tasks.listing.presets import PRESETS
    from polymeter.interop.ulmeval.tasks.reading import read_file

    wrong = []
    for name, (cls, module) in theirs.items():
        entry = catalog.entries.get(name)
        owner = None if entry is None else read_file(entry.file).owner_of(name)
        path = Path(*module.split("."))
        is_there = entry is not None and entry.file.with_suffix("").parts[-len(path.parts) :] == path.parts
        is_package = entry is not None and entry.file.name == "__init__.py" and entry.file.parent.name == path.name
        if owner is None or owner.name != cls or not (is_there or is_package):
            wrong.append(f"{name}: {'not listed' if owner is None else owner.name}, there {cls}")
    _print_wrong(f"{len(theirs) - len(wrong)} of {len(theirs)} names are listed with their class", wrong)
    ours = [entry.name for entry in catalog if entry.file.name != PRESETS]
    extra = [name for name in ours if name not in theirs]
    print(f"  {len(extra)} names of classes that are in no list: {', '.join(extra) or 'none'}")
    return not wrong


def _compare_presets(theirs: Mapping[str, tuple[str, str, Mapping[str, Any]]], catalog: Any) -> bool:
    from polymeter.interop.ulmeval.tasks.specs import load

    wrong = []
    for name, (cls, _, arguments) in theirs.items():
        entry = catalog.entries.get(name)
        if entry is None:
            wrong.append(f"{name}: not listed")
            continue
        (spec,) = load(entry, catalog).tasks
        ours = {"dataset": spec.config["dataset"], **spec.config["arguments"]}
        if (spec.name, spec.config["class"], ours) != (name, cls, arguments):
            wrong.append(f"{name}: {spec.config['class']} {ours}, there {cls} {arguments}")
    _print_wrong(f"{len(theirs) - len(wrong)} of {len(theirs)} presets are listed with class and arguments", wrong)
    return not wrong


def _print_wrong(title: str, wrong: list[str]) -> None:
    print(title)
    for line in wrong:
        print(f"  {line}")


@dataclass
class _Loaded:
    """What became of the classes.

    Attributes:
        whole: Classes that load.
        lacking: Classes that load where the packages are, by these.
        failed: The others, by cause.
    """

    whole: list[str] = field(default_factory=list)
    lacking: dict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    failed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def load(self, files: Mapping[str, Path | None]) -> None:
        """Load classes as they are, and then those that lack packages with empty modules in their place."""
        lacking: dict[str, str] = {}
        for cls, file in files.items():
            error = _error_of(cls, file)
            missing = _missing(error)
            if error is None:
                self.whole.append(cls)
            elif missing is None:
                self.failed[reason(error)[:_SHOWN]].append(cls)
            else:
                lacking[cls] = missing
        for cls, missing in lacking.items():
            self._load_with(cls, files[cls], missing)

    def _load_with(self, cls: str, file: Path | None, missing: str | None) -> None:
        from conformance.vlmevalkit.absent import AbsentFinder

        packages: dict[str, None] = {}
        error: BaseException | None = None
        while missing is not None and missing not in packages:
            packages[missing] = None
            finder = AbsentFinder(frozenset(packages))
            sys.meta_path.append(finder)
            error = _error_of(cls, file)
            missing = _missing(error)
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
                del sys.modules[name]
        if error is None:
            self.lacking[tuple(sorted(packages))].append(cls)
        else:
            self.failed[reason(error)[:_SHOWN]].append(cls)


def _error_of(cls: str, file: Path | None) -> BaseException | None:
    try:
        _load(cls, file)
    except (Exception, SystemExit) as error:
        return error
    return None


def _print_loaded(loaded: _Loaded, n_classes: int) -> bool:
    n_lacking, n_failed = (sum(map(len, groups.values())) for groups in (loaded.lacking, loaded.failed))
    print(f"{len(loaded.whole) + n_lacking} of {n_classes} registered classes load where their packages are")
    print(f"  {len(loaded.whole)} of them here; {n_lacking} need packages that are not installed:")
    for packages, names in sorted(loaded.lacking.items()):
        print(f"    {', '.join(packages)}: {', '.join(names)}")
    print(f"  {n_failed} do not load{':' if n_failed else ''}")
    for cause, names in sorted(loaded.failed.items()):
        print(f"    {', '.join(names)}: {cause}")
    return len(loaded.whole) + n_lacking >= _LEAST_LOADED * n_classes


def _file_of(module: str, checkout: Path) -> Path | None:
    path = checkout.joinpath(*module.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def _load(cls: str, file: Path | None) -> None:
    """Load a class as a run does; a collection is a class of Polymeter's."""
    from polymeter.interop.ulmeval.guest_files import load_guest_file

    if file is None:
        raise FileNotFoundError(f"the checkout has no file of {cls}")
    if file.name == "__init__.py":
        from polymeter.interop.ulmeval.shim.vlmeval.collections import ConcatDataset as found
    else:
        found = getattr(load_guest_file(file), cls)
    if found.__name__ != cls:
        raise TypeError(f"{cls} is {found!r}")


def _missing(error: BaseException | None) -> str | None:
    """The package whose absence an error is about."""
    for cause in _causes(error):
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            return cause.name.partition(".")[0]
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
