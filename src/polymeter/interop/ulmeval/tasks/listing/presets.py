"""The presets of a copy of VLMEvalKit: names for a class of video benchmarks with arguments of its constructor, as
``video_dataset_config.py`` lists them. The file is read and not run. A run is called by the preset's name.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from polymeter.core.machine.folders import files_below
from polymeter.guests.reading.sources import bytes_of, tree_of
from polymeter.interop.ulmeval.tasks.listing.registry import registry_in
from polymeter.interop.ulmeval.tasks.literals import ClassName, Partial, constants
from polymeter.interop.ulmeval.tasks.reading import DatasetClass, DatasetFile, read_file

PRESETS: Final = "video_dataset_config.py"
ARGUMENTS: Final = "arguments"
"""The key of a spec for what a preset gives to the constructor."""
_LIST = "supported_video_datasets"
_DATASET, _FRAMES, _RATE = "dataset", "nframe", "fps"


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset.

    Attributes:
        of: The name of its class.
        dataset: The dataset that its class is asked for; empty: the class's own default.
        arguments: Further arguments of the constructor.
    """

    of: str
    dataset: str
    arguments: Mapping[str, Any]


def read_presets(path: Path, classes: Mapping[str, DatasetClass]) -> dict[str, Preset]:
    """The presets of a file, by name, in its order.

    Args:
        path: The file.
        classes: Classes by name: presets are made for each of the datasets that some of them list.

    Raises:
        PlanError: if it is not valid Python.
    """
    found = path.stat()
    names = tuple((name, None if item.datasets is None else tuple(item.datasets)) for name, item in classes.items())
    return dict(_presets(path, names, found.st_size, found.st_mtime_ns))


# Each preset that a run names is looked up.
@lru_cache(maxsize=16)
def _presets(
    path: Path, classes: tuple[tuple[str, tuple[str, ...] | None], ...], size: int, mtime_ns: int
) -> Mapping[str, Preset]:
    known: dict[str, Any] = {name: ClassName(name) for name, _ in classes}
    known |= {f"{name}.supported_datasets()": list(names) for name, names in classes if names is not None}
    scope = constants(tree_of(path, bytes_of(path)).body, known)
    listed = scope.get(_LIST)
    if not isinstance(listed, dict):  # of a partial copy, some groups are known
        groups = (value for value in scope.values() if isinstance(value, dict) and value)
        whole = [group for group in groups if all(isinstance(one, Partial) for one in group.values())]
        listed = {name: one for group in whole for name, one in group.items()}
    return {str(name): _preset(one) for name, one in listed.items() if isinstance(one, Partial)}


def sampled_once(cls: type, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a preset as a class accepts them: of one that names a frame rate, a number of frames that is the
    class's default is none. In VLMEvalKit such a preset fails, because the class is given both.

    Args:
        cls: The class.
        arguments: The preset's arguments.
    """
    parameter = inspect.signature(cls).parameters.get(_FRAMES)
    default = None if parameter is None else parameter.default
    is_rate = isinstance(arguments.get(_RATE), (int, float)) and arguments[_RATE] > 0 and _FRAMES not in arguments
    return {**arguments, _FRAMES: 0} if is_rate and isinstance(default, int) and default > 0 else dict(arguments)


def classes_near(path: Path) -> dict[str, tuple[DatasetFile, DatasetClass]]:
    """The classes that a file of presets names, each with its file, read from its copy of the tool.

    Raises:
        PlanError: if a file of theirs is not valid Python.
    """
    found = path.stat()
    names = _names_in(path, found.st_size, found.st_mtime_ns)
    files = (read_file(file) for file in _files_near(path, names))
    return {item.name: (file, item) for file in files for item in file.classes if item.name in names}


# A file that presets refer to is read for each of them.
@lru_cache(maxsize=16)
def _names_in(path: Path, size: int, mtime_ns: int) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree_of(path, bytes_of(path))) if isinstance(node, ast.Name))


def _files_near(path: Path, names: frozenset[str]) -> Iterator[Path]:
    """The files of the classes of these names: those in the list of classes, or all beside and below."""
    registry = registry_in(path.parent)
    if registry.folder is None:
        yield from (file for file in files_below(path.parent, ".py") if file != path)
        return
    files = (registry.file_of(name) for name in sorted(names))
    yield from dict.fromkeys(file for file in files if file is not None)


def _preset(one: Partial) -> Preset:
    arguments = {name: value for name, value in one.arguments.items() if name != _DATASET}
    return Preset(one.of, str(one.arguments.get(_DATASET, "")), arguments)
