"""One flat YAML of a task: what people share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from polymeter.guests.refs import FunctionRef


class _Dumper(yaml.SafeDumper):
    """Writes function tags as paths from the new file's folder, or as whole paths."""

    place: Path | None = None
    is_anywhere: bool = False


def _represent_function(dumper: _Dumper, ref: FunctionRef) -> yaml.Node:
    name = ref.name
    if ref.source_file() is not None:
        if dumper.is_anywhere:
            name = f"{Path(ref.directory).resolve().as_posix()}/{name}"
        elif dumper.place is not None:
            folder = Path(os.path.relpath(ref.directory, dumper.place)).as_posix()
            name = name if folder == "." else f"{folder}/{name}"
    return dumper.represent_scalar("!function", name)


def _represent_text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text.strip("\n") else None)


_Dumper.add_representer(FunctionRef, _represent_function)
_Dumper.add_representer(str, _represent_text)


def flatten(values: Mapping[str, Any], place: Path | None = None) -> str:
    """A whole configuration as one YAML text that loads again.

    Args:
        values: Resolved top-level keys.
        place: Folder where the text will lie; function tags are written to resolve from there. ``None``: as they were.
    """

    class Dumper(_Dumper):
        pass

    Dumper.place = None if place is None else place.resolve()
    return str(yaml.dump(dict(values), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))


_HEAD = (
    "# Everything stands in this file; functions and data files beside the original are named by their whole path.\n"
)


def flatten_anywhere(values: Mapping[str, Any], directory: Path) -> str:
    """A whole configuration as one YAML text that loads again from any folder of this machine.

    Args:
        values: Resolved top-level keys.
        directory: Folder of the original; data files that lie there are named by their whole path.
    """

    class Dumper(_Dumper):
        is_anywhere = True

    whole = dict(values)
    kwargs = whole.get("dataset_kwargs")
    if isinstance(kwargs, Mapping) and "data_files" in kwargs:
        whole["dataset_kwargs"] = {**kwargs, "data_files": _whole(kwargs["data_files"], directory)}
    return _HEAD + str(yaml.dump(whole, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))


def _whole(files: Any, directory: Path) -> Any:
    if isinstance(files, Mapping):
        return {name: _whole(item, directory) for name, item in files.items()}
    if isinstance(files, (list, tuple)):
        return [_whole(item, directory) for item in files]
    place = directory / str(files)
    return str(place.resolve()) if place.exists() else files
