"""Names of generation settings: those that a pipeline accepts, those that it ignores, and those that do not exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import PolymeterError, did_you_mean
from polymeter.core.request import GenerateImage
from polymeter.models.diffusers.index import PipelineKind, Role

_OURS = frozenset(
    {
        "prompt",
        "generator",
        "height",
        "width",
        "num_images_per_prompt",
        "output_type",
        "return_dict",
        "callback",
        "callback_steps",
        "callback_on_step_end",
        "callback_on_step_end_tensor_inputs",
    }
)
"""Arguments of a pipeline's call that come from the request and not from settings."""

_TENSORS = ("_embeds", "_mask", "latents", "_kwargs")
_OTHERS = frozenset(
    {
        "negative_prompt",
        "num_inference_steps",
        "guidance_scale",
        "true_cfg_scale",
        "image_guidance_scale",
        "strength",
        "eta",
        "clip_skip",
        "quality",
        "style",
        "background",
        "moderation",
        "output_format",
        "output_compression",
        "response_format",
        "input_fidelity",
        "temperature",
        "top_p",
        "top_k",
        "do_sample",
        "max_tokens",
        "max_new_tokens",
        "stream",
    }
)
"""Names that exist for other pipelines, for endpoints, or for models that generate text."""


def settings_of(parameters: GenerateImage, role: Role) -> dict[str, Any]:
    """The settings that a pipeline's call accepts and that are set."""
    return {name: value for name, value in parameters.extra.items() if value is not None and _is_taken(name, role)}


def ignored(parameters: GenerateImage, kind: PipelineKind) -> dict[str, str]:
    """Settings that have no effect, each with the reason."""
    named = " and ".join(role.name for role in kind.roles)
    known = known_names(kind)
    reasons = {
        name: f"It is not a setting of {named}. {'' if name in known else did_you_mean(name, known)}".rstrip()
        for name, value in parameters.extra.items()
        if value is not None and not any(_is_taken(name, role) for role in kind.roles)
    }
    if parameters.extra.get("negative_prompt") and "negative_prompt" not in reasons:
        scales = [name for role in kind.roles if (name := _unguided_by(parameters.extra, role))]
        if len(scales) == len(kind.roles):
            reasons["negative_prompt"] = f"Without a {scales[0]} above 1, {named} ignores it."
    if parameters.size is not None and not any(
        "height" in role.parameters or role.image_parameter for role in kind.roles
    ):
        reasons["size"] = f"{named} draws one size only."
    return reasons


def known_names(kind: PipelineKind) -> frozenset[str]:
    """The names of settings of these pipelines, and of others that make images."""
    return frozenset({*_OTHERS, *(name for role in kind.roles for name in role.parameters)} - _OURS)


def check_names(parameters: GenerateImage, kind: PipelineKind, error_type: type[PolymeterError]) -> None:
    """Refuse a setting that does not exist anywhere: it is misspelt.

    Raises:
        PolymeterError: if there is one, as an error of the given type; the message gives the nearest name.
    """
    known = known_names(kind)
    for name, value in parameters.extra.items():
        if value is not None and name not in known:
            raise error_type(
                f"Unknown generation setting {name!r}.",
                where=" and ".join(role.name for role in kind.roles),
                hint=did_you_mean(name, known) or f"It accepts: {', '.join(_readable(kind))}.",
            )


def _is_taken(name: str, role: Role) -> bool:
    return name in role.parameters and name not in _OURS and name != role.image_parameter


def _readable(kind: PipelineKind) -> list[str]:
    """The settings of the calls that users may write."""
    names = {name for role in kind.roles for name in role.parameters if _is_taken(name, role)}
    return sorted(name for name in names if name[0] != "_" and not name.endswith(_TENSORS))


def _unguided_by(extra: Mapping[str, Any], role: Role) -> str:
    """The scale of guidance that is too small for a negative prompt to have an effect; empty if it has one."""
    scale = next((name for name in ("true_cfg_scale", "guidance_scale") if name in role.parameters), "")
    value = extra.get(scale, role.parameters.get(scale))
    return scale if isinstance(value, (int, float)) and value <= 1 else ""
