"""Loading dataset classes: the file of a benchmark is run, and the class in it is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.task import TaskSpec
from polymeter.guests import contained
from polymeter.guests.loading.load import authors_code
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.interop.ulmeval.guest_files import load_guest_file
from polymeter.tasks.table.classes import class_for

_VLMEVAL = "vlmeval"
_PACKAGE_IMPORT = re.compile(r"^\s*(?:from|import)\s+(ulmeval|vlmeval)\b", re.MULTILINE)


def load_class(spec: TaskSpec) -> type:
    """The class of a benchmark: that of its file, or for a table without code the one that fits its columns. Runs the
    file.

    Raises:
        PlanError: if the file fails to load, needs a package that is not installed, or has no such class.
    """
    name = spec.config.get("class")
    if name is None:
        return class_for(tuple(spec.config["columns"]))
    members = spec.config.get("members")
    if members is None:
        return _class_in(spec.file, str(name))
    from polymeter.interop.ulmeval.shim.vlmeval.collections import collection_of

    return collection_of({dataset: _class_in(Path(member.file), member.cls) for dataset, member in members.items()})


def dataset_names(file: Path, class_name: str) -> list[str]:
    """The datasets that a class lists as supported. Runs the file.

    Raises:
        PlanError: if the file or the class's method fails, or gives no list of names.
    """
    cls: Any = _class_in(file, class_name)
    with GUEST_LOCK, contained(), authors_code(PlanError, f"Asking {class_name} for its datasets"):
        supported = getattr(cls, "supported_datasets", None)
        names = supported() if callable(supported) else list(getattr(cls, "DATASET_URL", None) or ())
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise PlanError(
            f"supported_datasets of {class_name} gave {str(names)[:80]!r}.",
            where=str(file),
            hint="It must return a list of names.",
        )
    return list(dict.fromkeys(names))


def is_of_vlmeval(file: Path) -> bool:
    """Return whether a file was written for VLMEvalKit, whose models answer with text: by what it imports, else by
    where it lies.
    """
    packages = set(_PACKAGE_IMPORT.findall(file.read_text(encoding="utf-8", errors="replace")))
    return packages == {_VLMEVAL} if packages else _VLMEVAL in file.parts


def _class_in(file: Path, name: str) -> type:
    module = load_guest_file(file)
    cls = getattr(module, name, None)
    if not isinstance(cls, type):
        known = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise PlanError(
            f"{file.name} has no class {name!r} once it is loaded.", where=str(file), hint=did_you_mean(name, known)
        )
    return cls
