"""Generation settings: what a model is asked for, in each mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, GenerateImage
from polymeter.dialects.adapter.constants import EvalType

# EvalScope 0.17's own, used where a run sets nothing at all. Its ``top_k`` and ``top_p`` are without effect on greedy
# decoding, and its ``max_length`` is overruled by ``max_new_tokens``.
_DEFAULTS: dict[str, dict[str, Any]] = {
    EvalType.CHECKPOINT: {"max_new_tokens": 512, "do_sample": False},
    EvalType.CUSTOM: {},
    EvalType.SERVICE: {"max_new_tokens": 2048, "temperature": 0.0},
}
_IMAGE_DEFAULTS: dict[str, Any] = {"width": 1024, "height": 1024, "num_inference_steps": 50, "guidance_scale": 9.0}
_ALIASES = {
    "max_tokens": "max_new_tokens",
    "max_gen_toks": "max_new_tokens",
    "num_return_sequences": "n",
    "num_images_per_prompt": "n",
    "until": "stop",
    "stop_sequences": "stop",
}


def text_settings(plan: Mapping[str, Any], eval_type: str) -> Generate:
    """The ask for text.

    Several answers to one prompt are sampled where no temperature is set, because greedy ones would be the same.

    Args:
        plan: Settings of the run, under any of their usual names.
        eval_type: Whose defaults count where there are none.

    Raises:
        PlanError: A setting is not of its type.
    """
    told = _named(plan or _DEFAULTS[eval_type])
    n = _number(told.pop("n", None), int, "n") or 1
    max_new_tokens = _number(told.pop("max_new_tokens", None), int, "max_new_tokens")
    temperature = _number(told.pop("temperature", None), float, "temperature")
    top_p = _number(told.pop("top_p", None), float, "top_p")
    stop = told.pop("stop", None) or ()
    told.pop("seed", None)  # every answer has a seed of its own, from the run's
    if n > 1 and temperature is None:
        told["do_sample"] = True
    elif temperature is None and told.get("do_sample") is False:
        temperature = 0.0
    extra = {name: value for name, value in told.items() if value is not None}
    return Generate(max_new_tokens, temperature, top_p, (stop,) if isinstance(stop, str) else tuple(stop), n, (), extra)


def image_settings(plan: Mapping[str, Any]) -> GenerateImage:
    """The ask for images.

    Raises:
        PlanError: A setting is not of its type.
    """
    told = _named(plan or _IMAGE_DEFAULTS)
    n = _number(told.pop("n", None), int, "n") or 1
    width = _number(told.pop("width", None), int, "width")
    height = _number(told.pop("height", None), int, "height")
    told.pop("seed", None)
    size = (width or height, height or width) if width or height else None
    return GenerateImage(n, size, (), told)


def _named(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings under one name each; a setting's own name wins over its other names."""
    others = {_ALIASES[name]: value for name, value in settings.items() if name in _ALIASES}
    return {**others, **{name: value for name, value in settings.items() if name not in _ALIASES}}


def _number(value: Any, kind: type, name: str) -> Any:
    if value is None:
        return None
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise PlanError(
            f"The generation setting {name!r} must be a number, not {value!r}.", where="generation"
        ) from None
