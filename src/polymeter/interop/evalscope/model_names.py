"""Which model and which judge a ``TaskConfig`` means, and how their keys get there.

A key is put into an environment variable for as long as the evaluation lasts, and only the variable's name goes into
the run: so it reaches the endpoint and no file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from polymeter.core.environment import environment_set
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.model import AsyncModel, BatchModel, Model, ModelSpec
from polymeter.core.registries import MODELS
from polymeter.interop.evalscope.config import NO_KEY, TaskConfig

MODEL_KEY = "EVALSCOPE_API_KEY"
JUDGE_KEY = "EVALSCOPE_JUDGE_API_KEY"
_ENDPOINTS = ("openai", "anthropic", "gemini")
_CHAT = "/chat/completions"
_ARGUMENTS = {"model_revision": "revision", "torch_dtype": "dtype", "precision": "dtype"}
"""EvalScope's names of arguments of a checkpoint, and ours."""
_DEFAULT_REVISION = "master"
_JUDGE_MODEL, _JUDGE_URL = "Qwen/Qwen3-235B-A22B", "https://api-inference.modelscope.cn/v1"
_JUDGE_PLACE = ("api_key", "api_url", "model_id")
_JUDGE_PROMPTS = (
    "system_prompt",
    "prompt_template",
    "generation_config",
    "score_pattern",
    "score_mapping",
    "score_type",
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A model, as the engine takes it.

    Attributes:
        model: Its spec, or the model itself.
        eval_type: What benchmarks are told of it.
        keys: Environment variables to set while it is used. Never written.
    """

    model: ModelSpec | Model
    eval_type: str
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)


def choose_model(config: TaskConfig) -> Chosen:
    """The model of a configuration: an object, an endpoint where there is an ``api_url``, one of Polymeter's own specs,
    else a checkpoint.

    Raises:
        PlanError: It cannot be told what is meant, or nothing here runs it.
    """
    model = config.model
    if isinstance(model, (BatchModel, AsyncModel)):
        return Chosen(model, config.eval_type)
    if model is None or not isinstance(model, str):
        return _object(model)
    backend, colon, name = model.partition(":")
    is_spec = backend in MODELS and (bool(colon) or not config.api_url)
    if config.api_url or (config.eval_type == "service" and not is_spec):
        return _endpoint(config, name if is_spec and backend == "openai" else model)
    if config.chat_template and is_spec and backend != "hf":
        raise _no_template(backend)
    if is_spec and backend != "hf":
        kind = (
            "service" if backend in _ENDPOINTS else "checkpoint" if config.eval_type == "custom" else config.eval_type
        )
        return Chosen(ModelSpec(backend, name, dict(config.model_args)), kind, _key(config.api_key, MODEL_KEY))
    if config.eval_type == "custom" and not is_spec:
        raise PlanError(
            f"The eval_type 'custom' takes a model that is an object, not {model!r}.",
            where="TaskConfig model",
            hint="Give an instance of a subclass of CustomModel, or another eval_type.",
        )
    if config.model_task == "image_generation":
        raise PlanError(
            f"No backend of Polymeter generates images from the checkpoint {model!r}.",
            where="TaskConfig model_task",
            hint="Give a model that is an object (polymeter.BatchModel answers GenerateImage).",
        )
    arguments = _checkpoint_arguments(config)
    return Chosen(ModelSpec("hf", name if is_spec else model, arguments), "checkpoint", _key(config.api_key, MODEL_KEY))


def choose_judge(config: TaskConfig) -> Chosen | None:
    """The judge of a configuration; ``None`` when it names none, so that planning refuses a benchmark that needs one.

    Its place comes from ``judge_model_args``, else from ``MODELSCOPE_API_BASE``, ``MODELSCOPE_JUDGE_LLM`` and
    ``MODELSCOPE_SDK_TOKEN`` of the environment.

    Raises:
        PlanError: ``judge_model_args`` has an unknown name, the strategy always needs a judge and none is named, or the
            judge's endpoint needs a key that is not there.
    """
    told = config.judge_model_args
    _check_judge_arguments(told)
    if config.judge_strategy == "rule" and not config.analysis_report:
        return None
    token = os.environ.get("MODELSCOPE_SDK_TOKEN", "")
    name = told.get("model_id") or os.environ.get("MODELSCOPE_JUDGE_LLM", "")
    url = told.get("api_url") or os.environ.get("MODELSCOPE_API_BASE", "")
    is_wanted = config.analysis_report or config.judge_strategy in ("llm", "llm_recall")
    if is_wanted and not (name or url or token or told.get("api_key")):
        wanting = "analysis_report" if config.analysis_report else f"judge_strategy {config.judge_strategy!r}"
        raise PlanError(
            f"The {wanting} needs a judge, and none is named.",
            where="TaskConfig judge_model_args",
            hint="Give judge_model_args={'api_url': …, 'model_id': …}, and 'api_key' where one is needed.",
        )
    if not (name or url or is_wanted):
        return None
    backend, colon, rest = str(name).partition(":")
    if backend in MODELS and not url and (colon or backend == "mock"):
        return Chosen(ModelSpec(backend, rest), "service", _key(told.get("api_key"), JUDGE_KEY))
    key = str(told.get("api_key") or token)
    if not url and key in ("", NO_KEY):
        raise PlanError(
            f"The judge at {_JUDGE_URL} needs a key.",
            where="judge_model_args",
            hint="Give api_key, set MODELSCOPE_SDK_TOKEN, or name another endpoint with api_url.",
        )
    keys = _key(key, JUDGE_KEY)
    address = base_url(str(url or _JUDGE_URL))
    is_own = bool(keys) or not _is_openais(address)  # as for the model: a key for OpenAI goes to OpenAI only
    arguments = {"base_url": address, **({"api_key_env": JUDGE_KEY} if is_own else {})}
    return Chosen(ModelSpec("openai", str(name or _JUDGE_MODEL), arguments), "service", keys)


def judge_prompts(config: TaskConfig) -> dict[str, Any]:
    """What ``judge_model_args`` says of the judge's prompts and how its verdicts are read."""
    return {name: value for name, value in config.judge_model_args.items() if name in _JUDGE_PROMPTS}


def base_url(api_url: str) -> str:
    """An address up to and with ``/v1``, from the one that chats are sent to."""
    return api_url.strip().rstrip("/").removesuffix(_CHAT)


def keys_set(*chosen: Chosen | None) -> AbstractContextManager[None]:
    """The keys of some models are in the environment inside this."""
    return environment_set({name: key for one in chosen if one is not None for name, key in one.keys.items()})


def _object(model: Any) -> Chosen:
    from polymeter.interop.evalscope.models.custom import CustomBackend, CustomModel, DummyCustomModel

    if model is None:
        return Chosen(CustomBackend(DummyCustomModel()), "custom")
    if isinstance(model, CustomModel):
        return Chosen(CustomBackend(model), "custom")
    raise PlanError(
        f"A {type(model).__name__} is no model.",
        where="TaskConfig model",
        hint="Give a name, an instance of a subclass of CustomModel, or one of polymeter.BatchModel.",
    )


def _endpoint(config: TaskConfig, name: str) -> Chosen:
    if not config.api_url and not os.environ.get("OPENAI_BASE_URL"):
        raise PlanError(
            "The eval_type 'service' needs the address of an endpoint.",
            where="TaskConfig api_url",
            hint="Give api_url='http://localhost:8000/v1/chat/completions' or the like.",
        )
    if config.chat_template:
        raise _no_template("openai")
    keys = _key(config.api_key, MODEL_KEY)
    arguments = dict(config.model_args)
    if config.api_url:
        arguments["base_url"] = base_url(config.api_url)
    if keys or (config.api_url and not _is_openais(config.api_url)):
        arguments.setdefault("api_key_env", MODEL_KEY)  # a key for OpenAI never goes to somebody else's address
    return Chosen(ModelSpec("openai", name, arguments), "service", keys)


def _no_template(backend: str) -> PlanError:
    return PlanError(
        f"Model {backend!r} takes no chat_template.",
        where="TaskConfig chat_template",
        hint="Only checkpoints that are loaded here do; an endpoint uses its own.",
    )


def _checkpoint_arguments(config: TaskConfig) -> dict[str, Any]:
    """``model_args`` under our names; ``master`` is ModelScope's word for the default revision."""
    found = {_ARGUMENTS.get(name, name): value for name, value in config.model_args.items()}
    if found.get("revision") == _DEFAULT_REVISION:
        del found["revision"]
    if "dtype" in found:
        found["dtype"] = str(found["dtype"]).removeprefix("torch.")
    if config.chat_template:
        found["chat_template"] = config.chat_template
    return found


def _is_openais(address: str) -> bool:
    return urlsplit(address).hostname == "api.openai.com"


def _key(key: Any, variable: str) -> dict[str, str]:
    return {} if key in (None, "", NO_KEY) else {variable: str(key)}


def _check_judge_arguments(told: Mapping[str, Any]) -> None:
    known = (*_JUDGE_PLACE, *_JUDGE_PROMPTS)
    for name in told:
        if name not in known:
            hint = did_you_mean(str(name), known) or f"Known: {', '.join(known)}."
            raise PlanError(f"A judge has no argument {name!r}.", where="judge_model_args", hint=hint)
