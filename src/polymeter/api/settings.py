"""Settings that every entry point honours: local files in place of dataset and model ids.

Read from ``polymeter.yaml`` in the working directory, else from ``settings.yaml`` in the user's configuration folder,
or from the file that ``POLYMETER_SETTINGS`` names. What the command line says wins.
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
    """What a settings file says.

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
    """The user's settings; relative paths are relative to the file that names them. Folders of benchmarks that
    ``POLYMETER_INCLUDE_PATH`` names (parted as in ``PATH``) are added to those of the file, and so are the places
    ``ID=PATH;ID=PATH`` of ``POLYMETER_DATA`` and ``POLYMETER_WEIGHTS``, which win over it.

    Raises:
        PlanError: The file is not a mapping, has an unknown key, or ``POLYMETER_SETTINGS`` names a file that is not
            there.
    """
    path = _find()
    included = tuple(Path(place) for place in os.environ.get(INCLUDE_VARIABLE, "").split(os.pathsep) if place)
    data, weights = named_places(DATA_VARIABLE), named_places(WEIGHTS_VARIABLE)
    if path is None:
        return UserSettings(data, weights, include_paths=included)
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError as error:
        raise PlanError(f"The settings file is not valid YAML: {error}.", where=str(path)) from None
    if not isinstance(content, dict):
        raise PlanError("The settings file must be a mapping.", where=str(path), hint=f"Keys: {', '.join(_KEYS)}.")
    for key in content:
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS) or f"Known: {', '.join(_KEYS)}."
            raise PlanError(f"There is no setting {key!r}.", where=str(path), hint=hint)
    folder = path.resolve().parent
    cache_dir = content.get("cache_dir")
    return UserSettings(
        {str(name): str(folder / str(place)) for name, place in (content.get("data") or {}).items()} | data,
        {str(name): str(folder / str(place)) for name, place in (content.get("weights") or {}).items()} | weights,
        (*included, *(folder / str(place) for place in content.get("include_paths") or ())),
        folder / str(cache_dir) if cache_dir else None,
        path,
    )


def _find() -> Path | None:
    told = os.environ.get("POLYMETER_SETTINGS")
    if told:
        if not Path(told).is_file():
            raise PlanError(f"The settings file {told!r} does not exist.", where="POLYMETER_SETTINGS")
        return Path(told)
    here = Path("polymeter.yaml")
    if here.is_file():
        return here
    from platformdirs import user_config_path

    home = user_config_path("polymeter") / "settings.yaml"
    return home if home.is_file() else None
