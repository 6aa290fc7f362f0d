"""The model and the judge of a ``TaskConfig``, and the way of their keys to them.

A key is in an environment variable during the evaluation, and only the variable's name goes into the run. So the key
reaches the endpoint but no file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.environment import environment_set
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec
from polymeter.core.names.registries import MODELS
from polymeter.interop.evalscope.config import KINDS_1X, NO_KEY, TaskConfig, check_kind

MODEL_KEY = "EVALSCOPE_API_KEY"
JUDGE_KEY = "EVALSCOPE_JUDGE_API_KEY"
_ENDPOINTS = ("openai", "anthropic", "gemini")
_CHAT = "/chat/completions"
_IMAGES = "/images/generations"
_ARGUMENTS = {"model_revision": "revision", "torch_dtype": "dtype", "precision": "dtype"}
"""EvalScope's names for a checkpoint's arguments → ours."""
_PIPELINE_ARGUMENTS = {"pipeline_cls": "pipeline", "device_map": "device"}
_DEFAULT_REVISION = "master"
_JUDGE_MODEL, _JUDGE_URL = "Qwen/Qwen3-235B-A22B", "https://api-inference.modelscope.cn/v1"
_JUDGE_MODEL_ARGS = ("api_key", "api_url", "model_id", "eval_type", "model_args")
_JUDGE_PROMPTS = (
    "system_prompt",
    "prompt_template",
    "generation_config",
    "score_pattern",
    "score_mapping",
    "score_type",
)


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A model of a configuration.

    Attributes:
        model: Its spec, or the model itself.
        eval_type: The ``eval_type`` that benchmarks see.
        keys: Environment variables to set while it is in use. Never written.
    """

    model: ModelSpec | Model
    eval_type: str
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def choose_model(config: TaskConfig, variable: str = MODEL_KEY) -> ConfiguredModel:
    """The model of a configuration: an object, an endpoint if there is an ``api_url``, a Polymeter spec, else a
    checkpoint.

    Args:
        config: The configuration.
        variable: The environment variable that holds the model's key while it is in use.

    Raises:
        PlanError: if the configuration is ambiguous, or no backend runs the model.
    """
    config = _in_older_words(config)
    model = config.model
    if isinstance(model, (BatchModel, AsyncModel)):
        return ConfiguredModel(model, config.eval_type)
    if config.eval_type == "mock_llm":
        return _scripted(config)
    if model is None or not isinstance(model, str):
        return _custom_model(model)
    backend, colon, name = model.partition(":")
    is_spec = backend in MODELS and (bool(colon) or not config.api_url)
    if is_spec and backend == "anthropic" and config.api_url:
        return _anthropic(config, name, variable)
    if config.api_url or (config.eval_type == "service" and not is_spec):
        return _endpoint(config, name if is_spec and backend == "openai" else model, variable)
    if config.chat_template and is_spec and backend != "hf":
        raise _no_template(backend)
    if is_spec and backend != "hf":
        kind = (
            "service" if backend in _ENDPOINTS else "checkpoint" if config.eval_type == "custom" else config.eval_type
        )
        return ConfiguredModel(ModelSpec(backend, name, dict(config.model_args)), kind, _key(config.api_key, variable))
    if config.eval_type == "custom" and not is_spec:
        raise PlanError(
            f"The eval_type 'custom' takes a model that is an object, not {model!r}.",
            where="TaskConfig model",
            hint="Give an instance of a subclass of CustomModel, or another eval_type.",
        )
    arguments = _checkpoint_arguments(config)
    if config.model_task == "image_generation" and not is_spec:
        return ConfiguredModel(ModelSpec("diffusers", model, _pipeline_arguments(arguments)), "checkpoint")
    return ConfiguredModel(
        ModelSpec("hf", name if is_spec else model, arguments), "checkpoint", _key(config.api_key, variable)
    )


def _in_older_words(config: TaskConfig) -> TaskConfig:
    """A configuration whose ``eval_type`` is of 1.x in 0.17's words."""
    if config.eval_type not in KINDS_1X or config.eval_type == "mock_llm":
        return config
    kind, values = config.eval_type, config.to_dict()
    values["eval_type"] = KINDS_1X[kind]
    if kind in ("text2image", "image_editing"):
        values["model_task"] = "image_generation"
    is_name = isinstance(config.model, str) and config.model.partition(":")[0] not in MODELS
    if kind == "anthropic_api" and is_name:
        values["model"] = f"anthropic:{config.model}"
    return TaskConfig.from_dict(values)


def _scripted(config: TaskConfig) -> ConfiguredModel:
    """A stand-in for a model, which gives ``model_args['custom_outputs']`` in the order of the questions."""
    from polymeter.interop.evalscope.models.scripted import ScriptedOutputs

    outputs = config.model_args.get("custom_outputs")
    return ConfiguredModel(ScriptedOutputs(None if outputs is None else list(outputs)), "custom")


def choose_judges(config: TaskConfig) -> tuple[ConfiguredModel, ...]:
    """The judges of a configuration, the first one as `choose_judge` has it; several are a panel. Each has a key of its
    own.

    Raises:
        PlanError: as `choose_judge`.
    """
    first = choose_judge(config)
    if first is None:
        return ()
    others = [
        _judge_of({name: one[name] for name in _JUDGE_MODEL_ARGS if one.get(name)}, f"{JUDGE_KEY}_{number}", "")
        for number, one in enumerate(config.judges()[1:], 2)
    ]
    return (first, *others)


def choose_judge(config: TaskConfig) -> ConfiguredModel | None:
    """The judge of a configuration; ``None`` if it names none, so that planning refuses a benchmark that needs one.

    Its name, address and key come from ``judge_model_args``, else from the environment variables
    ``MODELSCOPE_JUDGE_LLM``, ``MODELSCOPE_API_BASE`` and ``MODELSCOPE_SDK_TOKEN``.

    Raises:
        PlanError: if ``judge_model_args`` has an unknown name, a judge is needed but not named, or its endpoint's key
            is missing.
    """
    judge_args = config.judge_model_args
    _check_judge_arguments(judge_args)
    if config.judge_strategy == "rule" and not config.analysis_report:
        return None
    token = os.environ.get("MODELSCOPE_SDK_TOKEN", "")
    name = judge_args.get("model_id") or os.environ.get("MODELSCOPE_JUDGE_LLM", "")
    url = judge_args.get("api_url") or os.environ.get("MODELSCOPE_API_BASE", "")
    is_needed = config.analysis_report or config.judge_strategy in ("llm", "llm_recall")
    if is_needed and not (name or url or token or judge_args.get("api_key")):
        option = "analysis_report" if config.analysis_report else f"judge_strategy {config.judge_strategy!r}"
        raise PlanError(
            f"The {option} needs a judge, and none is named.",
            where="TaskConfig judge_model_args",
            hint="Give judge_model_args={'api_url': …, 'model_id': …}, and 'api_key' if the endpoint needs one.",
        )
    if not (name or url or is_needed):
        return None
    return _judge_of({**judge_args, "model_id": name, "api_url": url}, JUDGE_KEY, token)


def _judge_of(judge_args: Mapping[str, Any], variable: str, token: str) -> ConfiguredModel:
    """A judge from its name, address and key; ``variable`` holds the key while it is in use."""
    name, url = judge_args.get("model_id") or "", judge_args.get("api_url") or ""
    if judge_args.get("eval_type") or judge_args.get("model_args"):
        return _judge_of_a_kind(judge_args, variable, token)
    backend, colon, rest = str(name).partition(":")
    if backend in MODELS and not url and (colon or backend == "mock"):
        return ConfiguredModel(ModelSpec(backend, rest), "service", _key(judge_args.get("api_key"), variable))
    key = str(judge_args.get("api_key") or token)
    if not url and key in ("", NO_KEY):
        raise PlanError(
            f"The judge at {_JUDGE_URL} needs a key.",
            where="judge_model_args",
            hint="Give api_key, set MODELSCOPE_SDK_TOKEN, or name another endpoint with api_url.",
        )
    keys = _key(key, variable)
    address = base_url(str(url or _JUDGE_URL))
    is_own = bool(keys) or not _is_openais(address)  # as for the model, OPENAI_API_KEY must reach only OpenAI
    arguments = {"base_url": address, **({"api_key_env": variable} if is_own else {})}
    return ConfiguredModel(ModelSpec("openai", str(name or _JUDGE_MODEL), arguments), "service", keys)


def _judge_of_a_kind(judge_args: Mapping[str, Any], variable: str, token: str) -> ConfiguredModel:
    """A judge that is configured as a model is: with an ``eval_type`` or arguments.

    Raises:
        PlanError: if there is no such kind, or no backend runs it.
    """
    kind = judge_args.get("eval_type") or "openai_api"
    url = judge_args.get("api_url") or (_JUDGE_URL if kind == "openai_api" else None)
    config = TaskConfig(
        model=judge_args.get("model_id") or _JUDGE_MODEL,
        eval_type=kind,
        api_url=url,
        api_key=judge_args.get("api_key") or token or NO_KEY,
        model_args=judge_args.get("model_args") or {},
    )
    check_kind(config)
    return choose_model(config, variable)


def judge_prompts(config: TaskConfig) -> dict[str, Any]:
    """The part of ``judge_model_args`` about the judge's prompts and the reading of its verdicts."""
    return {name: value for name, value in config.judge_model_args.items() if name in _JUDGE_PROMPTS}


def base_url(api_url: str) -> str:
    """The base address that ends in ``/v1``, from the address of chat completions or of image generations."""
    return api_url.strip().rstrip("/").removesuffix(_CHAT).removesuffix(_IMAGES)


def keys_set(*chosen: ConfiguredModel | None) -> AbstractContextManager[None]:
    """Set the models' keys in the environment."""
    return environment_set({name: key for one in chosen if one is not None for name, key in one.keys.items()})


def _custom_model(model: Any) -> ConfiguredModel:
    from polymeter.interop.evalscope.models.custom import CustomBackend, CustomModel, DummyCustomModel

    if model is None:
        return ConfiguredModel(CustomBackend(DummyCustomModel()), "custom")
    if isinstance(model, CustomModel):
        return ConfiguredModel(CustomBackend(model), "custom")
    raise PlanError(
        f"A {type(model).__name__} is not a model.",
        where="TaskConfig model",
        hint="Give a name, an instance of a subclass of CustomModel, or one of polymeter.BatchModel.",
    )


def _anthropic(config: TaskConfig, name: str, variable: str) -> ConfiguredModel:
    """A model of an endpoint with Anthropic's protocol."""
    if config.chat_template:
        raise _no_template("anthropic")
    keys = _key(config.api_key, variable)
    arguments = {**config.model_args, "base_url": str(config.api_url), **({"api_key_env": variable} if keys else {})}
    return ConfiguredModel(ModelSpec("anthropic", name, arguments), "service", keys)


def _endpoint(config: TaskConfig, name: str, variable: str) -> ConfiguredModel:
    if not config.api_url and not os.environ.get("OPENAI_BASE_URL"):
        raise PlanError(
            "The eval_type 'service' needs the address of an endpoint.",
            where="TaskConfig api_url",
            hint="Give an api_url, such as 'http://localhost:8000/v1/chat/completions'.",
        )
    if config.chat_template:
        raise _no_template("openai")
    keys = _key(config.api_key, variable)
    arguments = dict(config.model_args)
    if config.model_task == "image_generation":
        arguments.setdefault("api", "images")
    if config.api_url:
        arguments["base_url"] = base_url(config.api_url)
    if keys or (config.api_url and not _is_openais(config.api_url)):
        arguments.setdefault("api_key_env", variable)  # OPENAI_API_KEY must reach only OpenAI
    return ConfiguredModel(ModelSpec("openai", name, arguments), "service", keys)


def _no_template(backend: str) -> PlanError:
    return PlanError(
        f"Model {backend!r} takes no chat_template.",
        where="TaskConfig chat_template",
        hint="Only local checkpoints take one; an endpoint uses its own.",
    )


def _checkpoint_arguments(config: TaskConfig) -> dict[str, Any]:
    """``model_args`` under our names; ``master`` is ModelScope's word for the default revision."""
    arguments = {_ARGUMENTS.get(name, name): value for name, value in config.model_args.items()}
    if arguments.get("revision") == _DEFAULT_REVISION:
        del arguments["revision"]
    if "dtype" in arguments:
        arguments["dtype"] = str(arguments["dtype"]).removeprefix("torch.")
    if config.chat_template:
        arguments["chat_template"] = config.chat_template
    return arguments


def _pipeline_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A checkpoint's arguments as the backend ``diffusers`` takes them. Safe tensors are what it reads in any case.

    Raises:
        PlanError: if there is a chat template, which such a checkpoint does not read.
    """
    if "chat_template" in arguments:
        raise _no_template("diffusers")
    return {
        _PIPELINE_ARGUMENTS.get(name, name): value
        for name, value in arguments.items()
        if not (name == "use_safetensors" and value is True)
    }


def _is_openais(address: str) -> bool:
    return urlsplit(address).hostname == "api.openai.com"


def _key(key: Any, variable: str) -> dict[str, str]:
    return {} if key in (None, "", NO_KEY) else {variable: str(key)}


def _check_judge_arguments(judge_args: Mapping[str, Any]) -> None:
    names = (*_JUDGE_MODEL_ARGS, *_JUDGE_PROMPTS)
    for name in judge_args:
        if name not in names:
            hint = did_you_mean(str(name), names) or f"Known: {', '.join(names)}."
            raise PlanError(f"A judge has no argument {name!r}.", where="judge_model_args", hint=hint)
