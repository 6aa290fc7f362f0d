"""lmms-eval's model names: which of our backends runs each, and its arguments under our names.

Only names with the same meaning are translated: a checkpoint that Transformers loads by itself, an endpoint, a hosted
model. To run lmms-eval's own wrapper, its file is named with ``--model-path``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.registries import MODELS
from polymeter.interop.lmms_eval.models.loading import known_wrappers, models_of_checkout

_HF = (
    "huggingface", "aria", "gemma3", "idefics2", "internvl_hf", "llava_hf", "llava_next_hf", "phi4_multimodal",
    "qwen2_audio", "qwen2_5_omni", "qwen2_5_vl", "qwen2_vl", "qwen3_vl", "smolvlm",
)  # fmt: skip
_OPENAI = ("async_openai", "async_openai_compatible", "openai_compatible", "openai_compatible_chat", "gpt4v")
_SERVED = {
    "vllm": "vllm serve MODEL",
    "vllm_chat": "vllm serve MODEL",
    "vllm_generate": "vllm serve MODEL",
    "sglang": "python -m sglang.launch_server --model-path MODEL",
    "sglang_runtime": "python -m sglang.launch_server --model-path MODEL",
}
_NAMED = {**dict.fromkeys(_HF, "hf"), **dict.fromkeys(_OPENAI, "openai"), "claude": "anthropic", "gemini_api": "gemini"}
_NAME_KEYS = ("pretrained", "model", "model_version", "model_name", "model_id")
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "hf": {"peft": "adapter", "max_num_frames": "video_frames", "fps": "video_fps", "model_revision": "revision"},
    "openai": {"max_frames_num": "num_frames", "max_num_frames": "num_frames"},
}
_PROCESSOR = ("min_pixels", "max_pixels")


@dataclass(frozen=True, slots=True)
class Routed:
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
    if "device" in parameters or takes_any:
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
    return [*_NAMED, *_SERVED]


def route(name: str, arguments: Mapping[str, Any]) -> Routed | None:
    """Our model for one of lmms-eval's names; ``None`` for a name that is not translated.

    Raises:
        PlanError: if the name means a server that lmms-eval starts in its own process.
    """
    if name in _SERVED:
        raise PlanError(
            f"Polymeter does not start {name.partition('_')[0]} itself.",
            where="--model",
            hint=f"Start it with '{_SERVED[name]}', then use --model openai --model_args "
            "model=MODEL,base_url=http://localhost:8000/v1",
        )
    backend = _NAMED.get(name)
    if backend is None:
        return None
    others = dict(arguments)
    key = next((key for key in _NAME_KEYS if others.get(key)), None)
    weights = str(others.pop(key)) if key is not None else ""
    note = f"Polymeter's {backend!r} runs the model {name!r}. To run a wrapper, name its file with --model-path."
    return Routed(backend, weights, translated(backend, others), note)


def translated(backend: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of lmms-eval's wrappers under one of our backends' names for them; others stay as they are."""
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


def _flash_attention(value: Any) -> dict[str, Any]:
    return {"attn_implementation": "flash_attention_2"} if value is True else {}


_SPECIAL: Mapping[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("hf", "use_flash_attention_2"): _flash_attention,
    ("hf", "device_map"): lambda value: {"device_map": value} if value else {},
}
