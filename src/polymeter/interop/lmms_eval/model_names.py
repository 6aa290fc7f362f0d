"""lmms-eval's model names: which of our backends runs each, and its arguments under our names.

Only names with the same meaning are translated: a checkpoint that Transformers loads by itself, an endpoint, a hosted
model. To run lmms-eval's own wrapper, its file is named with ``--model-path``.
"""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.registries import MODELS
from polymeter.interop.lmms_eval.models.loading import known_wrappers, models_of_checkout

_HF = (
    "huggingface", "aria", "gemma3", "idefics2", "internvl_hf", "llava_hf", "llava_next_hf", "phi4_multimodal",
    "qwen2_audio", "qwen2_5_omni", "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "smolvlm",
)  # fmt: skip
_OPENAI = ("async_openai", "async_openai_compatible", "openai_compatible", "openai_compatible_chat", "gpt4v")
_NAMED = {
    **dict.fromkeys(_HF, "hf"),
    **dict.fromkeys(_OPENAI, "openai"),
    **dict.fromkeys(("vllm_chat", "vllm_generate"), "vllm"),
    "sglang_runtime": "sglang",
    "claude": "anthropic",
    "gemini_api": "gemini",
}
_STARTED = ("vllm", "sglang")
"""Backends that start a server: what lmms-eval's wrappers give the engine goes into its command line."""
_OF_WRAPPERS = frozenset({"batch_size", "threads"})
"""Settings of lmms-eval's wrappers for feeding engines, which is the engine's own business here."""
_NAME_KEYS = ("pretrained", "model", "model_version", "model_name", "model_id")
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "hf": {"peft": "adapter", "max_num_frames": "video_frames", "fps": "video_fps", "model_revision": "revision"},
    "openai": {"max_frames_num": "num_frames", "max_num_frames": "num_frames"},
    **{backend: {"max_frame_num": "num_frames", "max_frames_num": "num_frames"} for backend in _STARTED},
}
_SERVER_FLAGS: Mapping[tuple[str, str], str] = {
    ("sglang", "gpu_memory_utilization"): "mem-fraction-static",
    ("sglang", "max_model_len"): "context-length",
    ("sglang", "tokenizer"): "tokenizer-path",
}
"""Flags of SGLang's command line that have other names than arguments of vLLM's engine."""
_PROCESSOR = ("min_pixels", "max_pixels")


@dataclass(frozen=True, slots=True)
class LmmsEvalRoute:
    """One of our models in place of one that lmms-eval names.

    Attributes:
        backend: Our backend.
        name: The weights, or the endpoint's name for the model; empty if the arguments name none.
        arguments: The backend's arguments.
        note: A note for the user; may be empty.
    """

    backend: str
    name: str
    arguments: dict[str, Any]
    note: str = ""


def model_and_arguments(
    name: str, arguments: dict[str, Any], device: str | None, model_path: str = ""
) -> tuple[str, dict[str, Any], str]:
    """A model as Polymeter names it, its arguments, and a note for the user.

    With a path, the name is that of a wrapper in it. Otherwise our own backends come first, with the weights that
    ``pretrained=`` names; then wrappers that are registered or that an installed package provides; then lmms-eval's
    names for models that one of our backends runs.

    Raises:
        PlanError: if there is no such model; the message suggests the nearest names.
    """
    name, arguments, note = _resolved(name, arguments, model_path)
    backend, colon, _ = name.partition(":")
    parameters = inspect.signature(MODELS.get(backend)).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    arguments = dict(arguments)
    key = next((key for key in _NAME_KEYS if key in arguments and key not in parameters), None)
    if not colon and "name" in parameters and "name" not in arguments and key is not None:
        name = f"{name}:{arguments.pop(key)}"
    if device is None:
        return name, arguments, note
    if backend not in _STARTED and ("device" in parameters or takes_any):
        return name, {"device": device, **arguments}, note
    return name, arguments, f"{note} --device {device} has no effect: model {backend!r} takes no device.".strip()


def _resolved(name: str, arguments: dict[str, Any], model_path: str) -> tuple[str, dict[str, Any], str]:
    backend = name.partition(":")[0]
    if model_path and backend != "lmms":
        return f"lmms:{name}", arguments, ""
    if backend in MODELS:
        return name, translated(backend, arguments), ""
    wrappers = known_wrappers()
    if name in wrappers:
        return f"lmms:{name}", arguments, ""
    routed = route(name, arguments)
    if routed is None:
        raise unknown(name, [*MODELS, *wrappers])
    return f"{routed.backend}:{routed.name}".rstrip(":"), routed.arguments, routed.note


def path_in_checkout(name: str) -> str:
    """The folder of models of the checkout of lmms-eval that this process was started in, if only that has a wrapper of
    the name; else empty.
    """
    if name.partition(":")[0] in MODELS or name in known_names():
        return ""
    path = models_of_checkout(name)
    return "" if not path or name in known_wrappers() else path


def known_names() -> list[str]:
    """All of lmms-eval's names that are translated or explained here."""
    return [*_NAMED]


def route(name: str, arguments: Mapping[str, Any]) -> LmmsEvalRoute | None:
    """Our model for one of lmms-eval's names; ``None`` for a name that is not translated."""
    backend = _NAMED.get(name)
    if backend is None:
        return None
    others = dict(arguments)
    key = next((key for key in _NAME_KEYS if others.get(key)), None)
    weights = str(others.pop(key)) if key is not None else ""
    note = f"Polymeter's {backend!r} runs the model {name!r}. To run a wrapper, name its file with --model-path."
    return LmmsEvalRoute(backend, weights, translated(backend, others), note)


def translated(backend: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Translate arguments of lmms-eval's wrappers into one of our backends' names for them. Others are unchanged, or
    become arguments of the server that a backend starts.
    """
    if backend in _STARTED:
        return _with_server_args(backend, arguments)
    ours: dict[str, Any] = {}
    renamed = _RENAMED.get(backend, {})
    for key, value in arguments.items():
        special = _SPECIAL.get((backend, key))
        if special is not None:
            ours.update(special(value))
        elif backend == "hf" and key in _PROCESSOR:
            ours.setdefault("processor_args", {})[key] = value
        else:
            ours[renamed.get(key, key)] = value
    return ours


def unknown(name: str, names: list[str]) -> PlanError:
    """The error for a name that is neither one of our models nor a wrapper.

    Args:
        name: The name.
        names: Our models and the known wrappers, for a suggestion.
    """
    hint = did_you_mean(name, [*names, *known_names()], n=2)
    more = "Name the file of a wrapper with --model_path; 'polymeter models' lists the others."
    return PlanError(f"There is no model {name!r}.", where="--model", hint=f"{hint} {more}".strip())


def _with_server_args(backend: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a wrapper's engine as words of the server's command line; our own arguments stay."""
    known = {*inspect.signature(MODELS.get(backend)).parameters, *inspect.signature(MODELS.get("openai")).parameters}
    ours: dict[str, Any] = {}
    words: list[str] = []
    for key, value in arguments.items():
        name = _RENAMED[backend].get(key, key)
        if name in known or key in _NAME_KEYS:
            ours[name] = value
        elif key not in _OF_WRAPPERS and value is not False and value is not None:
            flag = _SERVER_FLAGS.get((backend, key), key.replace("_", "-"))
            text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
            words += [f"--{flag}"] if value is True else [f"--{flag}", text]
    if words:
        ours["server_args"] = " ".join(filter(None, (str(ours.get("server_args", "")), shlex.join(words))))
    return ours


def _flash_attention(value: Any) -> dict[str, Any]:
    return {"attn_implementation": "flash_attention_2"} if value is True else {}


_SPECIAL: Mapping[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("hf", "use_flash_attention_2"): _flash_attention,
    ("hf", "device_map"): lambda value: {"device_map": value} if value else {},
}
