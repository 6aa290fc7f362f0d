"""Models at OpenAI-compatible endpoints that make images, and the endpoints' names of their settings."""

from __future__ import annotations

import re
from typing import Any

from polymeter.core.request import GenerateImage
from polymeter.models.openai.settings import EXTRA_BODY, OpenAISettings

_MAKERS = re.compile(
    r"""(?:^|[/:_-])(?:dall-?e|(?:chat)?gpt-image|flux|stable-?diffusion|sdxl|sd3(?:\.5)?|qwen-?image|z-image|imagen|hidream
    |sana|pixart|kolors|playground-v|hunyuan-?image|kandinsky|omnigen|seedream|recraft)(?:$|[./:_-]|\d)""",
    re.IGNORECASE | re.VERBOSE,
)
_WITHOUT_INPUT = re.compile(r"(?:^|/)dall-?e-?3", re.IGNORECASE)
_ONE_FORMAT = re.compile(r"gpt-image", re.IGNORECASE)
_OF_TEXT = frozenset(
    {"do_sample", "max_new_tokens", "max_tokens", "num_beams", "stop", "temperature", "top_k", "top_p"}
)
_HOSTED = frozenset(
    {
        "background", "input_fidelity", "moderation", "output_compression", "output_format", "quality",
        "response_format", "size", "style", "user",
    }
)  # fmt: skip
"""The settings that OpenAI's own endpoint accepts besides prompt, model and number; it rejects everything else."""

_IN_CHAT = "a chat has no setting for the size of an image; set it in the server's own form with extra_body"


def makes_images(name: str) -> bool:
    """Return whether a model of this name makes only images."""
    return bool(_MAKERS.search(name))


def takes_images(name: str) -> bool | None:
    """Return whether an image model of this name can edit images; ``None``: unknown."""
    return False if _WITHOUT_INPUT.search(name) else None


def ignored_settings(settings: OpenAISettings, parameters: GenerateImage) -> dict[str, str]:
    """Settings that are not sent, each with the reason."""
    wanted = {"size": parameters.size, **parameters.extra}
    reasons: dict[str, str] = {}
    for name, value in wanted.items():
        if value is None or name == EXTRA_BODY:
            continue
        if name in settings.omit:
            reasons[name] = "it is left out by omit="
        elif name in _OF_TEXT:
            reasons[name] = "it is a setting of text"
        elif settings.draws_in_chat and name == "size":
            reasons[name] = _IN_CHAT
        elif settings.is_hosted and not settings.draws_in_chat and name not in _HOSTED:
            reasons[name] = "this endpoint does not know it"
    return reasons


def image_settings(settings: OpenAISettings, parameters: GenerateImage) -> dict[str, Any]:
    """The settings under the endpoints' names, without number and seeds."""
    ignored = ignored_settings(settings, parameters)
    left_out = {*ignored, EXTRA_BODY}
    body = {name: value for name, value in parameters.extra.items() if value is not None and name not in left_out}
    further = parameters.extra.get(EXTRA_BODY) or {}
    if settings.draws_in_chat:
        return {"modalities": ["image", "text"], **body, **further}
    if parameters.size is not None and "size" not in ignored:
        body["size"] = f"{parameters.size[0]}x{parameters.size[1]}"
    if not _ONE_FORMAT.search(settings.name) and "response_format" not in settings.omit:
        body.setdefault("response_format", "b64_json")
    return {**body, **further}
