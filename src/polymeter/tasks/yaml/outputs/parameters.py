"""Generation settings: from what a task's author wrote to the parameters of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, GenerateImage
from polymeter.core.settings.generation import image_parameters

_ALIASES = {
    "max_gen_toks": "max_new_tokens",
    "max_tokens": "max_new_tokens",
    "stop": "until",
    "stop_sequences": "until",
}
_FOR_THE_TASK = ("max_agentic_steps", "visual_cot")  # say how the rollout runs, not how a model generates
INJECTED_STOP = ("\n\n",)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The settings of one task that asks one model for text.

    Attributes:
        raw: The arguments as the author wrote them, with the format's injected defaults: what guests' wrappers see.
        parameters: The parameters that they mean, without seeds.
    """

    raw: Mapping[str, Any]
    parameters: Generate

    def with_seed(self, seed: int) -> Generate:
        """The parameters of one request."""
        return replace(self.parameters, seed=seed)


@dataclass(frozen=True, slots=True)
class StopRules:
    """The reading of generation settings that a run treats like another system.

    Attributes:
        default: The stop strings of a task that writes no ``until``, whatever else it writes; ``None``: an empty line,
            unless it names stop strings by another name, for guests' wrappers and completion models alone.
        has_aliases: Whether other names of settings count.
        is_cut: Whether answers end at stop strings.
    """

    default: tuple[str, ...] | None = None
    has_aliases: bool = True
    is_cut: bool = True


_USUAL_RULES = StopRules()


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """The settings of one task that asks for images.

    Attributes:
        raw: The arguments as they were written.
        parameters: The parameters that they mean, without seeds.
        n: How many images for each prompt.
    """

    raw: Mapping[str, Any]
    parameters: GenerateImage
    n: int


def image_settings(
    written: Mapping[str, Any] | None, model_block: Mapping[str, Any], plan: Mapping[str, Any], where: str
) -> ImageSettings:
    """Merge the settings of a task that asks for images: the task's, those for the model, those of the plan, later
    ones winning. ``core.settings.generation`` lists their names.

    Raises:
        PlanError: if a setting is not of its type.
    """
    own = {**(written or {}), **model_block}
    # Read once without the plan's settings, so that an author's mistake is reported with its line in the file.
    try:
        image_parameters(own)
    except PlanError as error:
        raise PlanError(error.what, where=where, hint=error.hint) from None
    return ImageSettings({**own, **plan}, *image_parameters(plan, defaults=own))


def text_settings(
    written: Mapping[str, Any] | None,
    model_block: Mapping[str, Any],
    plan: Mapping[str, Any],
    *,
    is_completion: bool,
    where: str,
    rules: StopRules = _USUAL_RULES,
) -> TextSettings:
    """Merge a task's settings with those for the model and those of the plan, later ones winning.

    Stop strings count as the author's only if somebody wrote them. The empty line that the format adds otherwise is
    seen by guests' wrappers, and sent to completion models, which would run on.

    Raises:
        PlanError: if a setting is not of its type.
    """
    raw: dict[str, Any] = {"do_sample": False} if written is None else dict(written)
    if rules.default is not None:
        raw.setdefault("until", list(rules.default))
    raw.update(model_block)
    raw.update(plan)
    settings: dict[str, Any] = {}
    for key, value in raw.items():
        name = _ALIASES.get(key, key)
        if name != key and not rules.has_aliases:
            continue
        if name == key or name not in raw:  # a proper name wins over its aliases, whatever their order
            settings[name] = value
    stop = _stops(settings.pop("until", None), where)
    if stop is None and is_completion:
        stop = INJECTED_STOP
    if not rules.is_cut:
        stop = ()
    max_new_tokens = _number(settings.pop("max_new_tokens", None), int, "max_new_tokens", where)
    temperature = _number(settings.pop("temperature", None), float, "temperature", where)
    top_p = _number(settings.pop("top_p", None), float, "top_p", where)
    if plan.get("temperature") and "do_sample" not in plan:
        settings.pop("do_sample", None)  # a temperature on the command line means sampling
    if temperature is None and settings.get("do_sample") is False:
        temperature = 0.0
    if raw.get("temperature") is not None:
        raw["temperature"] = temperature
    if not any(key in raw for key in ("until", "stop", "stop_sequences")):
        raw["until"] = list(INJECTED_STOP)
    extra = {key: value for key, value in settings.items() if value is not None and key not in _FOR_THE_TASK}
    return TextSettings(raw, Generate(max_new_tokens, temperature, top_p, stop or (), extra=extra))


def _stops(value: Any, where: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise PlanError(f"generation_kwargs 'until' must be a text or a list of texts, not {value!r}.", where=where)
    return tuple(item for item in items if item)


def _number(value: Any, kind: type, name: str, where: str) -> Any:
    if value is None:
        return None
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise PlanError(f"generation_kwargs {name!r} must be a number, not {value!r}.", where=where) from None
