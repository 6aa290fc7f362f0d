"""Generation settings as users write them, and the parameters that they stand for. Only this module knows the settings'
other names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, GenerateImage

_NONE: Mapping[str, Any] = MappingProxyType({})
_COUNTS = dict.fromkeys(("num_generations", "num_images_per_prompt", "num_return_sequences"), "n")
_TEXT_ALIASES = {
    **_COUNTS,
    "max_tokens": "max_new_tokens",
    "max_gen_toks": "max_new_tokens",
    "until": "stop",
    "stop_sequences": "stop",
}
_IMAGE_ALIASES = {**_COUNTS, "steps": "num_inference_steps"}
_RANGES: Mapping[str, tuple[float, float, str, type]] = {
    "n": (1, math.inf, "4", int),
    "max_new_tokens": (1, math.inf, "256", int),
    "temperature": (0, math.inf, "0.7", float),
    "top_p": (0, 1, "0.9", float),
}
"""Lowest and highest value of the settings that every backend has, an example, and their type."""
_SIDES = ("width", "height")
_SIZE = re.compile(r"\s*(\d+)\s*[xX×*]\s*(\d+)\s*")


def text_parameters(plan: Mapping[str, Any], defaults: Mapping[str, Any] = _NONE) -> tuple[Generate, int]:
    """The parameters of a request for text, and how many answers each prompt gets.

    Several answers to one prompt are sampled if no temperature is set, because greedy ones would be the same.

    Args:
        plan: Settings of the run, under any of their usual names.
        defaults: Settings that apply unless the run sets the same under any name.

    Raises:
        PlanError: if a setting is of the wrong type.
    """
    settings = _settings(plan, defaults, _TEXT_ALIASES)
    n = _count(settings.pop("n", None))
    max_new_tokens = _setting_number(settings.pop("max_new_tokens", None), int, "max_new_tokens")
    temperature = _setting_number(settings.pop("temperature", None), float, "temperature")
    top_p = _setting_number(settings.pop("top_p", None), float, "top_p")
    stop = _setting_texts(settings.pop("stop", None), "stop")
    if n > 1 and temperature is None:
        settings["do_sample"] = True
    elif temperature is None and settings.get("do_sample") is False:
        temperature = 0.0
    extra = {name: value for name, value in settings.items() if value is not None}
    return Generate(max_new_tokens, temperature, top_p, stop, extra=extra), n


def image_parameters(
    plan: Mapping[str, Any], n_default: int = 1, defaults: Mapping[str, Any] = _NONE
) -> tuple[GenerateImage, int]:
    """The parameters of a request for an image, and how many images each prompt gets. Settings other than number and
    size go into ``extra`` under their usual names (``negative_prompt``, ``num_inference_steps``, ``guidance_scale``,
    ``strength``, …).

    Args:
        plan: Settings of the run, under any of their usual names. A size is ``width`` and ``height`` (either
            alone means a square), or ``size`` as ``"1024x768"`` or a pair.
        n_default: How many images if the run does not say.
        defaults: Settings that apply unless the run sets the same under any name.

    Raises:
        PlanError: if a setting is of the wrong type.
    """
    settings = _settings(plan, defaults, _IMAGE_ALIASES)
    n = _count(settings.pop("n", None), n_default)
    size = _image_size(settings)
    return GenerateImage(size, extra={name: value for name, value in settings.items() if value is not None}), n


def require_generation(plan: Mapping[str, Any], *, where: Callable[[str], str] | None = None) -> None:
    """Refuse settings that mean nothing to any model: no number, or one that is out of range.

    Args:
        plan: The settings.
        where: From the name of a setting to its place in a file; ``None``: they were typed.

    Raises:
        PlanError: if there is one.
    """
    for name, value in plan.items():
        usual = _TEXT_ALIASES.get(name, name)
        if value is None or usual not in _RANGES:
            continue
        low, high, example, kind = _RANGES[usual]
        try:
            number = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not low <= number <= high or (kind is int and not number.is_integer()):
            what = "a whole number" if kind is int else "a number"
            span = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise PlanError(
                f"{name!r} must be {what} {span}, not {value!r}.",
                where="--gen-kwargs" if where is None else where(name),
                hint=f"Write --gen-kwargs {name}={example}" if where is None else f"Write {name}: {example}",
            )


def _settings(plan: Mapping[str, Any], defaults: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """All settings, each under one name. Seeds are left out: every answer has its own, derived from the run's."""
    from_plan = _without_aliases(plan, aliases)
    from_task = _without_aliases(defaults, aliases)
    if _is_set(from_plan, "size"):
        from_task = {name: value for name, value in from_task.items() if name not in _SIDES}
    settings = {**from_task, **from_plan}
    settings.pop("seed", None)
    return settings


def _is_set(settings: Mapping[str, Any], name: str) -> bool:
    return settings.get(name) not in (None, "")


def _without_aliases(settings: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Settings, each under one name; a setting's own name wins over its other names."""
    others = {aliases[name]: value for name, value in settings.items() if name in aliases}
    return {**others, **{name: value for name, value in settings.items() if name not in aliases}}


def _image_size(settings: dict[str, Any]) -> tuple[int, int] | None:
    """Width and height in pixels, removed from the settings. ``width`` and ``height`` win over ``size``."""
    size = settings.pop("size", None)
    width, height = (_length(settings.pop(name, None), name) for name in _SIDES)
    if width or height:
        return (width or height, height or width)
    if size in (None, "", "auto"):
        return None
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    pair = match.groups() if match else size
    if isinstance(pair, str) or not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise PlanError(
            f"The size of an image is width and height, not {size!r}.", where="generation", hint="Write size=1024x768."
        )
    return (_length(pair[0], "size"), _length(pair[1], "size"))


def _count(value: Any, default: int = 1) -> int:
    return default if value is None else int(_length(value, "n"))


def _length(value: Any, name: str) -> Any:
    """A whole number that is 1 or more; ``None`` stays ``None``."""
    number = _setting_number(value, int, name)
    if number is not None and number < 1:
        raise PlanError(f"The generation setting {name!r} must be 1 or more, not {value!r}.", where="generation")
    return number


def _setting_number(value: Any, kind: type, name: str) -> Any:
    if value is None:
        return None
    is_cut = kind is int and isinstance(value, float) and not value.is_integer()
    try:
        if not is_cut:
            return kind(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise PlanError(
        f"The generation setting {name!r} must be a {'whole ' if is_cut else ''}number, not {value!r}.",
        where="generation",
    )


def _setting_texts(value: Any, name: str) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value or ()
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise PlanError(
            f"The generation setting {name!r} must be a text or a list of texts, not {value!r}.", where="generation"
        )
    return tuple(filter(None, texts))
