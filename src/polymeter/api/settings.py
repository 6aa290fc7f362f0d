"""Settings that every entry point honours: local files that replace dataset and model ids, and folders of benchmarks.

They are read from the file that ``POLYMETER_SETTINGS`` names, else from ``polymeter.yaml`` in the working directory,
else from ``settings.yaml`` in the user's configuration folder. The command line overrides them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.environment import WEIGHTS_VARIABLE, named_places
from polymeter.core.media.showing import check_showing, read_showing
from polymeter.core.names.parity import parity_name
from polymeter.core.names.systems import told_system

INCLUDE_VARIABLE = "POLYMETER_INCLUDE_PATH"
DATA_VARIABLE = "POLYMETER_DATA"
PARITY_VARIABLE = "POLYMETER_PARITY"
_MAPPINGS = ("data", "weights")


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The content of a settings file, and what environment variables add.

    Attributes:
        data: ``ID[:CONFIG]`` to path.
        weights: Model id to path.
        include_paths: Folders of benchmarks.
        cache_dir: Where prepared data is kept.
        parity: The system whose values runs take; empty: none.
        skip_unfit: Whether runs leave out tasks that the model cannot do.
        showing: The rules for showing media, by modality, that runs take.
        file: The file, if there was one.
    """

    data: dict[str, str] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    include_paths: tuple[Path, ...] = ()
    cache_dir: Path | None = None
    parity: str = ""
    skip_unfit: bool = False
    showing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    file: Path | None = None


def read_settings() -> UserSettings:
    """The user's settings; relative paths are relative to the file that contains them.

    The folders in ``POLYMETER_INCLUDE_PATH`` (separated as in ``PATH``) are added to those of the file, as are those
    that a script has put on the path of a system's benchmarks, and the pairs ``ID=PATH;ID=PATH`` of ``POLYMETER_DATA``
    and ``POLYMETER_WEIGHTS``, which override it. ``POLYMETER_PARITY`` wins over ``parity`` of the file.

    Raises:
        PlanError: if the file is not a mapping or has an unknown key, ``POLYMETER_SETTINGS`` names a file that does
            not exist, or ``parity`` a system that does not.
    """
    from polymeter.guests.loading.neighbours import appended_folders

    path = _find()
    named = os.environ.get(INCLUDE_VARIABLE, "").split(os.pathsep)
    included = (*(Path(folder) for folder in named if folder), *appended_folders())
    data, weights = named_places(DATA_VARIABLE), named_places(WEIGHTS_VARIABLE)
    parity = os.environ.get(PARITY_VARIABLE, "")
    if path is None:
        return UserSettings(data, weights, include_paths=included, parity=_parity(parity, PARITY_VARIABLE))
    from polymeter.core.text.yaml_text import read_yaml

    content = read_yaml(path, what="settings file") or {}
    if not isinstance(content, dict):
        raise PlanError(
            "The settings file must be a mapping.", where=str(path), hint=f"Keys: {', '.join(_setting_names())}."
        )
    folder = path.resolve().parent
    _check_settings(content, path, folder)
    cache_dir = content.get("cache_dir")
    return UserSettings(
        {str(name): str(folder / str(target)) for name, target in (content.get("data") or {}).items()} | data,
        {str(name): str(folder / str(target)) for name, target in (content.get("weights") or {}).items()} | weights,
        (*included, *(_included(folder, str(place)) for place in content.get("include_paths") or ())),
        folder / str(cache_dir) if cache_dir else None,
        _parity(parity, PARITY_VARIABLE) if parity else _parity(str(content.get("parity") or ""), str(path)),
        bool(content.get("skip_unfit")),
        read_showing(content, str(path)).stated(),
        path,
    )


def parity_of(given: str | None) -> str:
    """The system whose values a new run takes: the one given, else that of the settings; empty: none.

    Raises:
        PlanError: if there is no such system.
    """
    return read_settings().parity if given is None else parity_name(given)


def _check_settings(content: Mapping[Any, Any], path: Path, folder: Path) -> None:
    """Refuse a settings file with unknown keys, or with values of another shape than theirs."""
    keys = _setting_names()
    check_showing(content, lambda key: _place(path, key))
    for key, value in content.items():
        where = _place(path, str(key))
        if key not in keys:
            hint = did_you_mean(str(key), keys) or f"Known: {', '.join(keys)}."
            raise PlanError(f"There is no setting {key!r}.", where=where, hint=hint)
        if value is None:
            continue
        if key in _MAPPINGS and not isinstance(value, Mapping):
            raise PlanError(
                f"{key!r} must be a mapping of ids to paths.", where=where, hint=f"Write {key}: {{ID: PATH}}"
            )
        if key == "skip_unfit" and not isinstance(value, bool):
            raise PlanError("'skip_unfit' must be true or false.", where=where, hint="Write skip_unfit: true")
        if key == "include_paths":
            if not isinstance(value, list):
                hint = f"Write include_paths: [{value}]" if isinstance(value, str) else "Write include_paths: [FOLDER]"
                raise PlanError("'include_paths' must be a list of folders.", where=where, hint=hint)
            for item in value:
                if not told_system(_included(folder, str(item)))[1].exists():
                    what = f"The folder {str(item)!r} in include_paths does not exist."
                    raise PlanError(what, where=where, hint=f"It is looked for in {folder}.")


def _setting_names() -> tuple[str, ...]:
    """The options that a settings file may have."""
    from polymeter.core.options import SETTINGS, RunOptions

    return tuple(RunOptions.flags(SETTINGS))


def _included(folder: Path, text: str) -> Path:
    """A folder of benchmarks, with the system before it whose files it holds, if one is named."""
    system, place = told_system(Path(text))
    return Path(f"{system}:{folder / place}") if system else folder / place


def _place(path: Path, key: str) -> str:
    """``file:line`` of a key at the top of a settings file."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    number = next((number for number, line in enumerate(lines, 1) if line.startswith((key, f'"{key}', f"'{key}"))), 0)
    return f"{path}:{number}" if number else str(path)


def _parity(text: str, where: str) -> str:
    try:
        return parity_name(text)
    except PlanError as error:
        raise PlanError(error.what, where=where, hint=error.hint) from None


def _find() -> Path | None:
    named = os.environ.get("POLYMETER_SETTINGS")
    if named:
        if not Path(named).is_file():
            raise PlanError(f"The settings file {named!r} does not exist.", where="POLYMETER_SETTINGS")
        return Path(named)
    in_working_directory = Path("polymeter.yaml")
    if in_working_directory.is_file():
        return in_working_directory
    from platformdirs import user_config_path

    of_user = user_config_path("polymeter") / "settings.yaml"
    return of_user if of_user.is_file() else None
