"""The models and judges that a command of ULMEvalKit names, as specs of Polymeter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.model import ModelSpec
from polymeter.core.registries import MODELS
from polymeter.interop.ulmeval.config import Named, UlmevalConfig
from polymeter.interop.ulmeval.results import plain_name

JUDGE_KEY = "ULMEVAL_JUDGE_API_KEY"
DEFAULT_JUDGE = "gpt-4o"
_ULM = "ulm"
_WITH_FILES = (_ULM, "lmms")
_JUDGED = ("WISE", "GenEvalPP", "ImagineBench", "OmniContext")
"""Parts of the names of ULMEvalKit's benchmarks that are scored by a judge."""
_LOCAL_JUDGES = ("mask2former", "openclip-vit-l-14", "mplug")
_WHO = ("model", "api_base", "key")
_CHAT = "/chat/completions"
_OPENAI_KEY, _OPENAI_URL, _UPSTREAM_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"
_API_CLASSES = ("OpenAIWrapper", "GPT4V")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model of a command.

    Attributes:
        spec: What runs.
        settings: Generation settings that belong to it where it draws.
        keys: Environment variables to set while it is used. Never written.
    """

    spec: ModelSpec
    settings: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def file_name(name: str) -> str:
    """A model's name in names of files: itself, or the last part of a spec of Polymeter."""
    from polymeter.formats.table.predictions import model_name

    backend, colon, rest = name.partition(":")
    is_spec = bool(colon) and backend in MODELS
    return plain_name((model_name(name) if rest else backend) if is_spec else name)


def choose_model(named: Named, config: UlmevalConfig) -> Chosen:
    """The model of a name: one of a user's file, one of ``supported_ULM``, or a spec of Polymeter's.

    Raises:
        PlanError: There is none, its file cannot be loaded, or it does not take its arguments.
    """
    if named.class_name:
        return _of_class(named, config)
    backend, colon, rest = named.name.partition(":")
    if backend == _ULM and rest:
        return _ulm(rest, named.arguments, config)
    if backend in MODELS and (colon or not config.model_path):
        path = config.model_path if backend in _WITH_FILES else ""
        return Chosen(ModelSpec(backend, rest, dict(named.arguments), path))
    return _ulm(named.name, named.arguments, config)


def choose_judge(config: UlmevalConfig, dataset: str) -> Chosen | None:
    """The judge of a dataset: the one that is named, or the usual one of ULMEvalKit's own benchmarks; ``None`` where
    there is none.

    Raises:
        PlanError: It is a detector that does not come with Polymeter, or its endpoint needs a key that is not there.
    """
    told = config.judge_args
    name = config.judge or str(told.get("model") or "")
    usual = not name and any(part in dataset for part in _JUDGED)
    name = name or (DEFAULT_JUDGE if usual else "")
    if not name:
        return None
    if name in _LOCAL_JUDGES:
        raise PlanError(
            f"The judge {name!r} is a model that does not come with Polymeter.",
            where="--judge",
            hint="Name a model that is asked in words, such as gpt-4o or a spec of Polymeter's.",
        )
    backend, colon, rest = name.partition(":")
    if backend in MODELS and (colon or backend == "mock"):
        return Chosen(ModelSpec(backend, rest))
    key = str(told.get("key") or "")
    url = str(told.get("api_base") or os.environ.get(_OPENAI_URL) or os.environ.get(_UPSTREAM_URL) or "")
    if not (key or url or os.environ.get(_OPENAI_KEY)):
        why = f"Dataset {dataset!r} is scored by {name!r}, which" if usual else f"The judge {name!r}"
        raise PlanError(
            f"{why} needs a key or an endpoint of its own.",
            where="--judge",
            hint=f"Set {_OPENAI_KEY}, or {_OPENAI_URL} for your own endpoint, or name another judge with --judge.",
        )
    arguments: dict[str, Any] = {"base_url": url.strip().rstrip("/").removesuffix(_CHAT)} if url else {}
    arguments |= {"api_key_env": JUDGE_KEY} if key else {}
    return Chosen(ModelSpec("openai", name, arguments), keys={JUDGE_KEY: key} if key else {})


def judge_arguments(config: UlmevalConfig) -> dict[str, Any]:
    """What ``evaluate`` is given besides the judge."""
    told: dict[str, Any] = {"nproc": config.api_nproc, "retry": config.retry, "verbose": config.verbose or None}
    own = {name: value for name, value in config.judge_args.items() if name not in _WHO}
    return {**own, **{name: value for name, value in told.items() if value is not None}}


def _ulm(name: str, arguments: Mapping[str, Any], config: UlmevalConfig) -> Chosen:
    from polymeter.interop.ulmeval.models.zoo import supported_ULM

    if config.model_path and (given := _written(name, config.model_path)) is not None:
        told = {"retry": config.retry, "verbose": config.verbose or None}
        usual = {key: value for key, value in told.items() if value is not None and key in given}
        return Chosen(ModelSpec(_ULM, name, {**usual, **arguments}, config.model_path))
    known = supported_ULM.built_in(name)
    if known:
        return _native(known, arguments)
    if name in supported_ULM.added:
        return Chosen(ModelSpec(_ULM, name, dict(arguments)))
    hint = did_you_mean(name, [*supported_ULM, *MODELS]) or "'polymeter ulmeval mlist' lists names."
    raise PlanError(
        f"There is no model {name!r}.", where="--model", hint=f"{hint} --model-path names a file of your own models."
    )


def _of_class(named: Named, config: UlmevalConfig) -> Chosen:
    """A class that a JSON file names: one of the user's file, or one of ULMEvalKit's."""
    from polymeter.interop.ulmeval.models.zoo import CLASSES, supported_ULM

    name = named.class_name
    if config.model_path and _written(name, config.model_path) is not None:
        return Chosen(ModelSpec(_ULM, name, dict(named.arguments), config.model_path))
    if name in CLASSES:
        arguments = dict(named.arguments)
        meant = supported_ULM.built_in(str(arguments.get("model") or ""))
        if meant:
            del arguments["model"]
        return _native(meant or CLASSES[name], arguments)
    hint = did_you_mean(name, CLASSES) or "--model-path names a file of your own models."
    if name in _API_CLASSES:
        hint = "Name the model itself: openai:NAME."
    raise PlanError(f"There is no class {name!r} of models.", where=f"--config model {named.name}", hint=hint)


def _native(name: str, arguments: Mapping[str, Any]) -> Chosen:
    """A model of ULMEvalKit's list, drawing with the settings that it has there."""
    from polymeter.interop.ulmeval.models.native import sort_arguments
    from polymeter.interop.ulmeval.models.zoo import ENTRIES

    model_path, own, settings = sort_arguments(name, arguments)
    args = {**own, **({"model_path": model_path} if model_path else {})}
    return Chosen(ModelSpec(_ULM, name, args), {**ENTRIES[name].settings, **settings})


def _written(name: str, path: str) -> Mapping[str, Any] | None:
    """The arguments that come with a name in a user's file; ``None`` where the file has no such name and ULMEvalKit
    has.

    Raises:
        PlanError: The file cannot be loaded, or nobody has such a name.
    """
    from polymeter.interop.ulmeval.models.loading import find_wrapper
    from polymeter.interop.ulmeval.models.zoo import CLASSES, supported_ULM

    try:
        return find_wrapper(name, path).given
    except PlanError as error:
        is_read = error.__cause__ is None and (Path(path).exists() or error.where == "--model")
        if is_read and (supported_ULM.built_in(name) or name in CLASSES):
            return None
        raise
