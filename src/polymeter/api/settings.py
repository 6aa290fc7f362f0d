"""Settings that every entry point honours: local files that replace dataset and model ids, and folders of benchmarks.

They are read from the file that ``POLYMETER_SETTINGS`` names, else from ``polymeter.yaml`` in the working directory,
else from ``settings.yaml`` in the user's configuration folder. The command line overrides them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from polymeter.core.environment import WEIGHTS_VARIABLE, named_places
from polymeter.core.errors import PlanError, did_you_mean

INCLUDE_VARIABLE = "POLYMETER_INCLUDE_PATH"
DATA_VARIABLE = "POLYMETER_DATA"
_KEYS = ("data", "weights", "include_paths", "cache_dir")


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The content of a settings file, and what environment variables add.

    Attributes:
        data: ``ID[:CONFIG]`` to path.
        weights: Model id to path.
        include_paths: Folders of benchmarks.
        cache_dir: Where prepared data is kept.
        file: The file, if there was one.
    """

    data: dict[str, str] = field(default_factory=dict)
    weights: dict[str, str] = field(default_factory=dict)
    include_paths: tuple[Path, ...] = ()
    cache_dir: Path | None = None
    file: Path | None = None


def read_settings() -> UserSettings:
    """The user's settings; relative paths are relative to the file that contains them.

    The folders in ``POLYMETER_INCLUDE_PATH`` (separated as in ``PATH``) are added to those of the file, and so are the
    pairs ``ID=PATH;ID=PATH`` of ``POLYMETER_DATA`` and ``POLYMETER_WEIGHTS``, which override it.

    Raises:
        PlanError: if the file is not a mapping or has an unknown key, or ``POLYMETER_SETTINGS`` names a file that does
            not exist.
    """
    path = _find()
    included = tuple(Path(folder) for folder in os.environ.get(INCLUDE_VARIABLE, "").split(os.pathsep) if folder)
    data, weights = named_places(DATA_VARIABLE), named_places(WEIGHTS_VARIABLE)
    if path is None:
        return UserSettings(data, weights, include_paths=included)
    from polymeter.core.yaml_text import read_yaml

    content = read_yaml(path, what="settings file") or {}
    if not isinstance(content, dict):
        raise PlanError("The settings file must be a mapping.", where=str(path), hint=f"Keys: {', '.join(_KEYS)}.")
    for key in content:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS) or f"Known: {', '.join(_KEYS)}."
            raise PlanError(f"There is no setting {key!r}.", where=str(path), hint=hint)
    folder = path.resolve().parent
    cache_dir = content.get("cache_dir")
    return UserSettings(
        {str(name): str(folder / str(target)) for name, target in (content.get("data") or {}).items()} | data,
        {str(name): str(folder / str(target)) for name, target in (content.get("weights") or {}).items()} | weights,
        (*included, *(folder / str(included_path) for included_path in content.get("include_paths") or ())),
        folder / str(cache_dir) if cache_dir else None,
        path,
    )


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
