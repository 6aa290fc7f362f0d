"""Images from Google's models: what their names say about them, and how images are requested.

Gemini models with image output answer ``generateContent`` with text and images; Imagen has a separate call, which the
SDK offers on Vertex AI only.

Protocol: https://ai.google.dev/gemini-api/docs/image-generation,
https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from math import gcd
from typing import Any, Literal

from polymeter.core.errors import ModelError
from polymeter.core.request import GenerateImage, Output, Request
from polymeter.models.endpoint.media import received_image

Kind = Literal["text", "images", "imagen"]
"""The content of a model's answers: text only, text and images, or images only."""

MODALITIES = ("TEXT", "IMAGE")
_WITH_IMAGES = re.compile(r"^gemini-.*image", re.IGNORECASE)
_IMAGEN = re.compile(r"^(?:imagen|imagegeneration)", re.IGNORECASE)
_SHAPES = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
_IMAGEN_SHAPES = ("1:1", "3:4", "4:3", "9:16", "16:9")
_IN_CONFIG = {"aspect_ratio": "aspectRatio", "image_size": "imageSize"}
IMAGE_SETTINGS = frozenset(_IN_CONFIG)
IMAGEN_SETTINGS = frozenset(
    {
        "add_watermark", "aspect_ratio", "enhance_prompt", "guidance_scale", "image_size", "language",
        "negative_prompt", "output_compression_quality", "output_mime_type", "person_generation",
        "safety_filter_level",
    }
)  # fmt: skip


def kind_of(name: str) -> Kind:
    """Return the content of answers of a model with this name; a path before the name is ignored."""
    bare = name.rpartition("/")[2]
    return "imagen" if _IMAGEN.search(bare) else "images" if _WITH_IMAGES.search(bare) else "text"


def shape_of(size: tuple[int, int] | None, kind: Kind) -> str | None:
    """The API's aspect ratio of a size (pixels); ``None`` if it has no such ratio."""
    if size is None or min(size) < 1:
        return None
    divisor = gcd(*size)
    shape = f"{size[0] // divisor}:{size[1] // divisor}"
    shape = {"7:3": "21:9"}.get(shape, shape)
    return shape if shape in (_IMAGEN_SHAPES if kind == "imagen" else _SHAPES) else None


def ignored_size(parameters: GenerateImage, kind: Kind) -> dict[str, str]:
    """Return the reason why a requested size is not used exactly."""
    if parameters.size is None:
        return {}
    shape = shape_of(parameters.size, kind)
    why = f"the API accepts the shape ({shape}) and not the pixels" if shape else "the API has no such shape"
    return {"size": why}


def image_config(parameters: GenerateImage) -> dict[str, Any]:
    """The ``imageConfig`` of a Gemini request."""
    shape = shape_of(parameters.size, "images")
    from_extra = {
        _IN_CONFIG[name]: value for name, value in parameters.extra.items() if name in _IN_CONFIG and value is not None
    }
    return {**({"aspectRatio": shape} if shape else {}), **from_extra}


def imagen_call(request: Request, parameters: GenerateImage, *, where: str) -> dict[str, Any]:
    """The arguments of ``generate_images``.

    Raises:
        ModelError: if there is no prompt, or there are media, which Imagen does not accept.
    """
    if any(True for _ in request.media()):
        raise ModelError("Imagen makes images from text only.", where=where)
    if not request.text.strip():
        raise ModelError("The prompt is missing: the messages contain no text.", where=where)
    config: dict[str, Any] = {"number_of_images": 1, "include_rai_reason": True}
    shape = shape_of(parameters.size, "imagen")
    config |= {"aspect_ratio": shape} if shape else {}
    config |= {name: value for name, value in parameters.extra.items() if name in IMAGEN_SETTINGS and value is not None}
    # The API accepts a seed only for images without a watermark.
    config |= {} if parameters.seed is None else {"seed": parameters.seed, "add_watermark": False}
    return {"prompt": request.text, "config": config}


async def ask_imagen(models: Any, name: str, call: Mapping[str, Any]) -> Any:
    """Call ``generate_images`` of the SDK, without its warning that a later version will remove it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answering = models.generate_images(model=name, **call)
    return await answering


async def read_imagen(answer: Any, *, where: str) -> Output:
    """The output in an answer of the SDK.

    Raises:
        ModelError: if the image was filtered out, or there is none.
    """
    images = list(answer.generated_images or ())
    if not images:
        raise ModelError("The filter left no image.", kind="refused", where=where)
    first = images[0]
    data = first.image.image_bytes if first.image is not None else None
    if not data:
        why = first.rai_filtered_reason or "no reason given"
        raise ModelError(f"The image was filtered out: {why}", kind="refused", where=where)
    note = f"The endpoint changed the prompt: {first.enhanced_prompt}" if first.enhanced_prompt else None
    return Output(images=(await received_image(data, where=where),), finish_reason="stop", note=note)
