"""The words of lmms-eval's command line, and what they mean here: argument strings, models, tasks, seeds, times."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from polymeter.api.tasks import build_catalog
from polymeter.core.errors import PlanError
from polymeter.core.registries import MODELS
from polymeter.interop.lmms_eval import model_names as routes
from polymeter.interop.lmms_eval.models.arguments import simple_parse_args_string
from polymeter.interop.lmms_eval.models.loading import known_wrappers

Seeds = tuple[int | None, int | None, int | None, int | None]
DEFAULT_SEEDS: Seeds = (0, 1234, 1234, 1234)
DEFAULT_ZONE = "Asia/Singapore"


def parse_arguments(text: str, option: str) -> dict[str, Any]:
    """``k=v,k=v`` by upstream's rules: commas inside quotes and brackets part nothing; true and false, whole numbers
    and floats are read as such, everything else is text (a negative number is a float, JSON stays text).

    Raises:
        PlanError: A part without ``=``.
    """
    try:
        return simple_parse_args_string(text)
    except ValueError as error:
        raise PlanError(f"{error}.", where=option, hint="Write name=value,other=value") from None


def parse_generation(text: str) -> dict[str, Any]:
    """``--gen_kwargs``: as ``parse_arguments``, but lists and objects in JSON are read as such (``until=["a","b"]``).

    Raises:
        PlanError: A part without ``=``, or broken JSON.
    """
    found = parse_arguments(text, "--gen_kwargs")
    for key, value in found.items():
        if isinstance(value, str) and value[:1] in ("[", "{"):
            try:
                found[key] = json.loads(value)
            except ValueError as error:
                raise PlanError(f"{value!r} is not valid JSON: {error}.", where=f"--gen_kwargs {key}") from None
    return found


def parse_seeds(text: str) -> Seeds:
    """``--seed``: four numbers or ``None`` for Python, NumPy, torch and the few-shot sampler; one number stands for
    all, and a fourth that is missing is the default.

    Raises:
        PlanError: Another count, or something that is no number.
    """
    items = [item.strip() for item in text.split(",")]
    try:
        seeds = [None if item.lower() == "none" else int(item) for item in items]
    except ValueError:
        raise PlanError(
            f"{text!r} holds something that is neither a number nor None.",
            where="--seed",
            hint="Write 0,1234,1234,1234",
        ) from None
    if len(seeds) == 1:
        seeds *= 4
    if len(seeds) == 3:
        seeds.append(DEFAULT_SEEDS[3])
    if len(seeds) != 4:
        raise PlanError(f"{text!r} holds {len(seeds)} seeds.", where="--seed", hint="Write one, or 0,1234,1234,1234")
    return (seeds[0], seeds[1], seeds[2], seeds[3])


def parse_batch_size(text: str) -> int | None:
    """``--batch_size``: a number; ``auto`` and ``auto:N`` leave it to the engine, which fills batches itself.

    Raises:
        PlanError: It is something else.
    """
    word = text.strip()
    if word.partition(":")[0] == "auto":
        return None
    if not word.isdecimal() or int(word) < 1:
        raise PlanError(f"{text!r} is not a batch size.", where="--batch_size", hint="Write a number, or auto.")
    return int(word)


def model_and_arguments(
    name: str, arguments: dict[str, Any], device: str | None, model_path: str = ""
) -> tuple[str, dict[str, Any], str]:
    """A model as Polymeter names it, its arguments, and a note for the user.

    With a path the name is that of a wrapper in it. Else one of our backends goes by its own name, and takes the
    weights that ``pretrained=`` names; then come wrappers that are registered or that an installed package brings, and
    last what lmms-eval's own names mean here.

    Raises:
        PlanError: There is no such model; the nearest are named.
    """
    name, arguments, note = _found(name, arguments, model_path)
    backend, colon, _ = name.partition(":")
    parameters = inspect.signature(MODELS.get(backend)).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    given = dict(arguments)
    key = next((key for key in routes.NAME_KEYS if key in given and key not in parameters), None)
    if not colon and "name" in parameters and "name" not in given and key is not None:
        name = f"{name}:{given.pop(key)}"
    if device is None:
        return name, given, note
    if "device" in parameters or takes_any:
        return name, {"device": device, **given}, note
    return name, given, f"{note} --device {device} has no effect: model {backend!r} takes no device.".strip()


def _found(name: str, arguments: dict[str, Any], model_path: str) -> tuple[str, dict[str, Any], str]:
    backend = name.partition(":")[0]
    if model_path and backend != "lmms":
        return f"lmms:{name}", arguments, ""
    if backend in MODELS:
        return name, routes.translated(backend, arguments), ""
    wrappers = known_wrappers()
    if name in wrappers:
        return f"lmms:{name}", arguments, ""
    routed = routes.route(name, arguments)
    if routed is None:
        raise routes.unknown(name, [*MODELS, *wrappers])
    return f"{routed.backend}:{routed.name}".rstrip(":"), routed.arguments, routed.note


def patterns_and_paths(tasks: str, include_path: str | Sequence[str] | None) -> tuple[list[str], tuple[Path, ...]]:
    """Patterns of tasks, and the folders to look in. A folder among the tasks stands for all tasks in it.

    Raises:
        PlanError: No task is named, or a folder holds none.
    """
    words = [word.strip() for word in tasks.split(",") if word.strip()]
    if not words:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter lmms-eval tasks list' lists them.")
    told = [include_path] if isinstance(include_path, str) else include_path or []
    paths = tuple(Path(path) for path in told if path)
    folders = tuple(Path(word) for word in words if Path(word).is_dir())
    if not folders:
        return words, paths
    catalog = build_catalog((*paths, *folders))
    names: list[str] = []
    for word in words:
        if Path(word) not in folders or word in catalog.entries or word in catalog.tags():
            names.append(word)
            continue
        inside = Path(word).resolve()
        found = [entry.name for entry in catalog if entry.kind == "task" and entry.file.is_relative_to(inside)]
        if not found:
            raise PlanError(f"The folder {word!r} holds no task.", where="--tasks")
        names.extend(found)
    return names, (*paths, *folders)


def read_text(text_or_path: str | None) -> str:
    """``--system_instruction``: a text, or the content of the file of that name."""
    if not text_or_path:
        return ""
    is_short = len(text_or_path) < 1024 and "\n" not in text_or_path
    if is_short and Path(text_or_path).is_file():
        return Path(text_or_path).read_text(encoding="utf-8")
    return text_or_path


def time_stamp(zone: str) -> str:
    """The time there, as it stands in file names: ``YYYYMMDD_HHMMSS``.

    Raises:
        PlanError: There is no such time zone here.
    """
    return f"{datetime.now(_zone(zone)):%Y%m%d_%H%M%S}"


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        if name == DEFAULT_ZONE:
            return timezone(timedelta(hours=8))  # where the system has no time zones; Singapore has no summer time
        raise PlanError(
            f"There is no time zone {name!r} here.", where="--timezone", hint="Install tzdata, or write UTC."
        ) from None
