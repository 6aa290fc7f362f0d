"""Rows made from requests: each is an image to draw, with its prompt, its input images, and its own seed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.content import Image, Text
from polymeter.core.errors import ModelError
from polymeter.core.identity import canonical
from polymeter.core.request import GenerateImage, Request
from polymeter.core.settings.repeats import seed_of
from polymeter.models.diffusers.index import PipelineKind, Role
from polymeter.models.diffusers.naming import check_names, settings_of
from polymeter.models.hf.media import image_of

_ONE_EACH = frozenset(
    {
        "StableDiffusionImg2ImgPipeline",
        "StableDiffusionXLImg2ImgPipeline",
        "StableDiffusion3Img2ImgPipeline",
        "StableDiffusionInstructPix2PixPipeline",
        "LatentConsistencyModelImg2ImgPipeline",
        "FluxImg2ImgPipeline",
    }
)
"""Pipelines that accept one list of images beside one list of prompts. Others read a list as several images for one
prompt, or not at all, so they are called for one row at a time.
"""

_SEVERAL = frozenset(
    {
        "Flux2Pipeline",
        "Flux2KleinPipeline",
        "GlmImagePipeline",
        "QwenImageEditPlusPipeline",
        "ZImageOmniPipeline",
    }
)
"""Pipelines with the parameter ``image`` that accept several images for one prompt."""


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One image to draw.

    Attributes:
        position: Position of its request in the batch.
        prompt: The text.
        images: Input images in RGB, in order.
        seed: Seed of its own generator.
        settings: Further arguments of the pipeline's call.
        size: Width and height in pixels; ``None``: the pipeline's own.
    """

    position: int
    prompt: str
    images: tuple[Any, ...]
    seed: int
    settings: dict[str, Any]
    size: tuple[int, int] | None


def row_of(request: Request, position: int, kind: PipelineKind) -> tuple[Role, ImageRow]:
    """Return the row of a request, and the role that draws it.

    Raises:
        DataError: if an image cannot be read.
        ModelError: if the checkpoint cannot draw this: the request holds too many images, none although one is needed,
            media other than images, or a setting that does not exist.
    """
    parameters = request.parameters
    assert isinstance(parameters, GenerateImage)
    check_names(parameters, kind, ModelError)
    prompt, images = _text_and_images(request)
    role = _role_for(len(images), kind)
    shown = tuple(_sized(image_of(image), parameters.size, role) for image in images)
    settings = settings_of(parameters, role)
    return role, ImageRow(position, prompt, shown, seed_of(parameters), settings, parameters.size)


def call_key(role: Role, row: ImageRow) -> tuple[Hashable, ...] | None:
    """Rows of one role with equal keys may share a call; ``None``: the row has a separate call."""
    if row.images and role.name not in _ONE_EACH:
        return None
    return (row.size, tuple(image.size for image in row.images), repr(canonical(row.settings)))


def call_arguments(role: Role, rows: Sequence[ImageRow]) -> dict[str, Any]:
    """Arguments of the pipeline for rows that share a call; the caller adds generators."""
    first = rows[0]
    arguments: dict[str, Any] = dict(first.settings)
    arguments["prompt"] = [row.prompt for row in rows]
    if "negative_prompt" in arguments:
        arguments["negative_prompt"] = [arguments["negative_prompt"]] * len(rows)
    if first.size is not None and "height" in role.parameters:
        arguments["width"], arguments["height"] = first.size
    if first.images:
        if role.name in _ONE_EACH:
            arguments[role.image_parameter] = [row.images[0] for row in rows]
        else:
            arguments |= _alone(role, first)
    return arguments


def _alone(role: Role, row: ImageRow) -> dict[str, Any]:
    """Arguments for the images of a row that has a separate call."""
    if role.name == "OmniGenPipeline":
        marks = "".join(f"<img><|image_{number}|></img>" for number in range(1, len(row.images) + 1))
        prompt = row.prompt if "<|image_1|>" in row.prompt else f"{marks} {row.prompt}"
        return {"prompt": [prompt], role.image_parameter: [list(row.images)]}
    is_list = role.image_parameter != "image" or len(row.images) > 1
    changed: dict[str, Any] = {"prompt": row.prompt}
    if "negative_prompt" in row.settings:
        changed["negative_prompt"] = row.settings["negative_prompt"]
    return changed | {role.image_parameter: list(row.images) if is_list else row.images[0]}


def _text_and_images(request: Request) -> tuple[str, list[Image]]:
    texts, images = [], []
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Text):
                texts.append(part.text)
            elif isinstance(part, Image):
                images.append(part)
            else:
                raise ModelError(f"A pipeline accepts text and images, but the request holds {part.modality}.")
    prompt = "\n".join(text for text in texts if text)
    if not prompt and not images:
        raise ModelError("The request has neither a prompt nor an image.")
    return prompt, images


def _role_for(n_images: int, kind: PipelineKind) -> Role:
    if not n_images:
        if kind.draw is None:
            name = kind.roles[0].name
            raise ModelError(f"The pipeline {name} edits images, but the request has none.")
        return kind.draw
    role = kind.edit
    if role is None:
        raise ModelError(f"The pipeline {kind.roles[0].name} draws from text alone, but the request has an image.")
    if n_images > 1 and role.image_parameter == "image" and role.name not in _SEVERAL:
        raise ModelError(f"The pipeline {role.name} accepts one image, but the request has {n_images}.")
    return role


def _sized(image: Any, size: tuple[int, int] | None, role: Role) -> Any:
    """The input image in the requested size, if the pipeline draws in the size of its input."""
    if size is None or image.size == size or "height" in role.parameters:
        return image
    from PIL import Image as pil

    return image.resize(size, pil.Resampling.LANCZOS)
