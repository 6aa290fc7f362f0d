"""The models and judges that a command of ULMEvalKit names, as specs of Polymeter."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.model import ModelSpec
from polymeter.core.names.registries import MODELS
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.models.vlmevalkit.endpoints import API_CLASSES, Endpoint, endpoint_of, plain_base
from polymeter.interop.ulmeval.results import plain_name

JUDGE_KEY = "ULMEVAL_JUDGE_API_KEY"
MODEL_KEY = "ULMEVAL_API_KEY"
DEFAULT_JUDGE = "gpt-4o"
_ULM = "ulm"
_WITH_FILES = (_ULM, "vlm", "lmms")
_JUDGED = ("WISE", "GenEvalPP", "ImagineBench", "OmniContext")
"""Parts of the names of ULMEvalKit's benchmarks that are scored by a judge."""
_LOCAL_JUDGES = ("mask2former", "openclip-vit-l-14", "mplug")
_JUDGE_MODEL = ("model", "api_base", "key")
_OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_URL = "OPENAI_BASE_URL"
_UPSTREAM_URL = "OPENAI_API_BASE"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of a command.

    Attributes:
        spec: Its spec.
        settings: Its generation settings for drawing images.
        keys: Environment variables to set while it is in use. Never written.
        text_settings: Its generation settings for texts.
        options: Its options of a run, such as ``timeout_s``, which the command's own replace.
        notes: Notes for the user.
    """

    spec: ModelSpec
    settings: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    text_settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListedJudge:
    """The judge of a dataset.

    Attributes:
        model: The model of the role; ``None``: the run has none.
        name: Its name among the arguments of ``evaluate``; empty: that of the model, if there is one.
        notes: Notes for the user.
    """

    model: ListedModel | None = None
    name: str = ""
    notes: tuple[str, ...] = ()


def file_name(name: str) -> str:
    """A model's name in file names: the name itself, or the last part of a Polymeter spec."""
    from polymeter.tasks.table.predictions import model_name

    backend, colon, rest = name.partition(":")
    is_spec = bool(colon) and backend in MODELS
    return plain_name((model_name(name) if rest else backend) if is_spec else name)


def choose_model(named: NamedObject, config: UlmevalConfig) -> ListedModel:
    """The model of a name: one in the user's file, one of ``supported_ULM``, or a Polymeter spec.

    Raises:
        PlanError: if there is none, its file cannot be loaded, or it does not take its arguments.
    """
    if named.class_name:
        return _of_class(named, config)
    backend, colon, rest = named.name.partition(":")
    if backend == _ULM and rest:
        return _ulm(rest, named.arguments, config)
    if backend in MODELS and (colon or not config.model_path):
        return of_spec(backend, rest, named.arguments, config)
    if config.base_url:
        raise PlanError(
            f"{named.name!r} is not a model at an endpoint.", where="--base-url", hint="Write --model openai:NAME."
        )
    return _ulm(named.name, named.arguments, config)


def of_spec(backend: str, name: str, arguments: Mapping[str, Any], config: UlmevalConfig) -> ListedModel:
    """The model of a Polymeter spec, at the command's address if it names one."""
    path = config.model_path if backend in _WITH_FILES else ""
    if not config.base_url:
        return ListedModel(ModelSpec(backend, name, dict(arguments), path))
    keys = {MODEL_KEY: config.key} if config.key else {}
    address = {"base_url": plain_base(config.base_url), **config.endpoint}
    if keys:
        address["api_key_env"] = MODEL_KEY
    return ListedModel(ModelSpec(backend, name, {**arguments, **address}, path), keys=keys)


def choose_judge(config: UlmevalConfig, dataset: str) -> ListedModel | None:
    """The judge of a dataset: the one that the command names, or the default of ULMEvalKit's own benchmarks; ``None``
    if there is neither.

    Raises:
        PlanError: if it is a local model that does not come with Polymeter, or its endpoint's key is missing.
    """
    name = named_judge(config)
    if name:
        return judge_of(name, config)
    if not any(part in dataset for part in _JUDGED):
        return None
    return judge_of(DEFAULT_JUDGE, config, subject=f"Dataset {dataset!r} is scored by {DEFAULT_JUDGE!r}, which")


def named_judge(config: UlmevalConfig) -> str:
    """The judge that a command names; empty if it names none."""
    return config.judge or str(config.judge_args.get("model") or "")


def judge_of(name: str, config: UlmevalConfig, *, model: str = "", subject: str = "") -> ListedModel:
    """The judge of a name: a Polymeter spec, or a model at an endpoint that speaks OpenAI's protocol.

    Args:
        name: The name, as a command gives it.
        config: Has the address and the key.
        model: The model's name at the endpoint; default: the name.
        subject: The beginning of the message about a missing key; default: about the name.

    Raises:
        PlanError: if it is a local model that does not come with Polymeter, or its endpoint's key is missing.
    """
    if name in _LOCAL_JUDGES:
        raise PlanError(
            f"The judge {name!r} is a model that does not come with Polymeter.",
            where="--judge",
            hint="Name a model that answers in text, such as gpt-4o or a Polymeter spec.",
        )
    backend, colon, rest = name.partition(":")
    key, url = str(config.judge_args.get("key") or ""), judge_address(config)
    if backend in MODELS and (colon or backend == "mock"):
        place = _judge_place(url if config.judge_args.get("api_base") else "", key) if backend == "openai" else {}
        return ListedModel(ModelSpec(backend, rest, place), keys={JUDGE_KEY: key} if key else {})
    if not (key or url or os.environ.get(_OPENAI_KEY)):
        raise PlanError(
            f"{subject or f'The judge {name!r}'} needs a key or your own endpoint.",
            where="--judge",
            hint=f"Set {_OPENAI_KEY}, or {_OPENAI_URL} for your own endpoint, or name another judge with --judge.",
        )
    return ListedModel(ModelSpec("openai", model or name, _judge_place(url, key)), keys={JUDGE_KEY: key} if key else {})


def _judge_place(url: str, key: str) -> dict[str, Any]:
    """Arguments of a backend for an address and a key, each if there is one."""
    return {**({"base_url": url} if url else {}), **({"api_key_env": JUDGE_KEY} if key else {})}


def judge_address(config: UlmevalConfig) -> str:
    """The address of the judge that a command or the environment gives; empty: OpenAI's own."""
    given = config.judge_args.get("api_base") or os.environ.get(_OPENAI_URL) or os.environ.get(_UPSTREAM_URL)
    return plain_base(str(given or ""))


def judge_arguments(config: UlmevalConfig) -> dict[str, Any]:
    """The arguments of ``evaluate`` besides the judge."""
    flags: dict[str, Any] = {
        "nproc": config.api_nproc if config.judge_nproc is None else config.judge_nproc,
        "retry": config.retry if config.judge_retry is None else config.judge_retry,
        "verbose": config.verbose or None,
        "timeout": config.judge_timeout,
    }
    judge_args = {name: value for name, value in config.judge_args.items() if name not in _JUDGE_MODEL}
    return {**judge_args, **{name: value for name, value in flags.items() if value is not None}}


def _ulm(name: str, arguments: Mapping[str, Any], config: UlmevalConfig) -> ListedModel:
    from polymeter.interop.ulmeval.models.native import supported_ULM

    if config.model_path and (entry_arguments := _arguments_in_file(name, config.model_path)) is not None:
        flags = {"retry": config.retry, "verbose": config.verbose or None}
        own_flags = {key: value for key, value in flags.items() if value is not None and key in entry_arguments}
        return ListedModel(ModelSpec(_ULM, name, {**own_flags, **arguments}, config.model_path))
    built_in = supported_ULM.built_in(name)
    if built_in:
        return _native(built_in, arguments)
    if name in supported_ULM.added:
        return ListedModel(ModelSpec(_ULM, name, dict(arguments)))
    hint = did_you_mean(name, [*supported_ULM, *MODELS]) or "'polymeter ulmeval mlist' lists names."
    raise PlanError(
        f"There is no model {name!r}.", where="--model", hint=f"{hint} --model-path names a file of your own models."
    )


def _of_class(named: NamedObject, config: UlmevalConfig) -> ListedModel:
    """A class that a JSON file names: one in the user's file, or one of ULMEvalKit's."""
    from polymeter.interop.ulmeval.models.native import supported_ULM
    from polymeter.interop.ulmeval.models.zoo import CLASSES

    name = named.class_name
    if config.model_path and _arguments_in_file(name, config.model_path) is not None:
        return ListedModel(ModelSpec(_ULM, name, dict(named.arguments), config.model_path))
    if name in CLASSES:
        arguments = dict(named.arguments)
        built_in = supported_ULM.built_in(str(arguments.get("model") or ""))
        if built_in:
            del arguments["model"]
        return _native(built_in or CLASSES[name], arguments)
    if name in API_CLASSES:
        return of_endpoint(endpoint_of(name, named.arguments, name=named.name))
    hint = did_you_mean(name, CLASSES) or "--model-path names a file of your own models."
    raise PlanError(f"There is no model class {name!r}.", where=f"--config model {named.name}", hint=hint)


def of_endpoint(own: Endpoint) -> ListedModel:
    """The model of an endpoint that a class of the tools stands for."""
    return ListedModel(
        ModelSpec(own.backend, own.name, dict(own.arguments)),
        keys=own.keys,
        text_settings=own.settings,
        options=own.options,
        notes=own.notes,
    )


def _native(name: str, arguments: Mapping[str, Any]) -> ListedModel:
    """A model of ULMEvalKit's list, with the generation settings that it has there."""
    from polymeter.interop.ulmeval.models.native import sort_arguments
    from polymeter.interop.ulmeval.models.zoo import ENTRIES

    model_path, own, settings = sort_arguments(name, arguments)
    args = {**own, **({"model_path": model_path} if model_path else {})}
    return ListedModel(ModelSpec(_ULM, name, args), {**ENTRIES[name].settings, **settings})


def _arguments_in_file(name: str, path: str) -> Mapping[str, Any] | None:
    """The arguments that the user's file gives with a name; ``None`` if only ULMEvalKit has the name.

    Raises:
        PlanError: if the file cannot be loaded, or neither has the name.
    """
    from polymeter.interop.ulmeval.models.loading import find_wrapper
    from polymeter.interop.ulmeval.models.native import supported_ULM
    from polymeter.interop.ulmeval.models.zoo import CLASSES

    try:
        return find_wrapper(name, path).arguments
    except PlanError as error:
        is_loaded = error.__cause__ is None and (Path(path).exists() or error.where == "--model")
        if is_loaded and (supported_ULM.built_in(name) or name in CLASSES):
            return None
        raise
