"""The uses of a pipeline, read from its ``model_index.json`` and the signature of its class. No weights are read."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.models.diffusers.settings import DiffusersSettings

INDEX = "model_index.json"
_IMAGE_PARAMETERS = ("image", "input_images", "images")
_ELSEWHERE = {
    **dict.fromkeys(("num_frames", "num_videos_per_prompt", "video_length", "video", "pose_video"), "makes videos"),
    **dict.fromkeys(
        ("num_waveforms_per_prompt", "audio_length_in_s", "audio_end_in_s", "audio_duration", "audio_duration_s"),
        "makes sounds",
    ),
    "frame_size": "makes bodies in space",
    "gen_length": "writes text",
    "mask_image": "paints into a mask, which no request holds",
    "class_labels": "draws classes by number, not prompts",
}
"""The purpose of a pipeline whose call has a parameter of that name."""
_IMAGE_IS_OPTIONAL = (
    "BriaFibo2Pipeline",
    "DreamLiteMobilePipeline",
    "DreamLitePipeline",
    "Flux2KleinKVPipeline",
)
"""Pipelines that also draw from text alone although Diffusers does not list them as such."""


@dataclass(frozen=True, slots=True)
class Role:
    """A pipeline class in one of its uses: drawing from text alone, or with input images.

    Attributes:
        made_by: The class.
        parameters: Parameters of its call: names and defaults.
        image_parameter: Name of the parameter for images; empty: it has none.
    """

    made_by: type
    parameters: Mapping[str, Any]
    image_parameter: str

    @property
    def name(self) -> str:
        """The class's name."""
        return self.made_by.__name__


@dataclass(frozen=True, slots=True)
class PipelineKind:
    """The uses of a checkpoint.

    Attributes:
        draw: Its way of drawing from text alone, if it has one.
        edit: Its way of drawing with input images, if it has one.
    """

    draw: Role | None
    edit: Role | None

    @property
    def roles(self) -> tuple[Role, ...]:
        """Its one or two uses."""
        both = [role for role in (self.draw, self.edit) if role is not None]
        return tuple(both[:1] if self.draw == self.edit else both)


def read_index(settings: DiffusersSettings) -> tuple[Mapping[str, Any], str]:
    """A pipeline's ``model_index.json`` and, for a hub id, its commit.

    Raises:
        PlanError: if the folder does not exist or is not a pipeline, or the hub does not have it or cannot be reached.
    """
    from diffusers import DiffusionPipeline

    name = settings.name
    path = Path(name)
    looks_local = name.startswith(("/", "./", "../", "~")) or name.count("/") > 1
    if path.is_file():
        raise PlanError(
            f"{name!r} is a file. A pipeline is a folder.",
            where="--model",
            hint="Convert a single-file checkpoint with from_single_file(…).save_pretrained(FOLDER).",
        )
    if not settings.is_folder and looks_local:
        raise PlanError(f"The pipeline folder {name!r} does not exist.", where="--model", hint="Check the path.")
    if settings.is_folder and not (path / INDEX).is_file():
        raise PlanError(
            f"The folder {name!r} is not a pipeline: it has no {INDEX}.",
            where="--model",
            hint=f"Name the folder with {INDEX}. For a model of Transformers, write hf:PATH.",
        )
    advice = f"Check the id. Offline, name a folder that contains it: --weights {name}=PATH."
    hint = "" if settings.is_folder else advice
    with boundary(PlanError, f"Reading {INDEX} of {name!r}", hint=hint):
        index, commit = DiffusionPipeline.load_config(name, return_commit_hash=True, **settings.source)
    return index, str(commit or "")


def kind_of(index: Mapping[str, Any], settings: DiffusersSettings) -> PipelineKind | None:
    """Return the uses of a checkpoint; ``None`` if only its own code determines them, which does not run before it is
    loaded.

    Raises:
        PlanError: if there is no such pipeline, or it does not make images from prompts.
    """
    import diffusers

    named = index.get("_class_name")
    if not settings.pipeline and isinstance(named, (list, tuple)):
        named = named[-1]
        is_known = False
    else:
        named = settings.pipeline or named
        is_known = hasattr(diffusers, str(named))
    if is_known:
        with boundary(PlanError, f"Importing the pipeline {named!r}"):
            return kind_of_class(getattr(diffusers, str(named)))
    if settings.trust_remote_code and not settings.pipeline:
        return None
    known = [name for name in dir(diffusers) if name.endswith("Pipeline")]
    near = did_you_mean(str(named), known) if settings.pipeline else ""
    raise PlanError(
        f"Diffusers {diffusers.__version__} has no pipeline {named!r}.",
        where="--model-args pipeline" if settings.pipeline else f"{settings.name}/{INDEX}",
        hint=near or "If the checkpoint contains its pipeline's code, allow it to run with trust_remote_code=true.",
    )


def kind_of_class(made_by: type) -> PipelineKind:
    """Return the uses of a class of pipelines, together with the classes that share its parts.

    Raises:
        PlanError: if it does not make images from prompts.
    """
    role = _role(made_by)
    for parameter, what in _ELSEWHERE.items():
        if parameter in role.parameters:
            raise PlanError(f"The pipeline {role.name} {what}.", where="--model", hint="Choose one for images.")
    if "prompt" not in role.parameters:
        raise PlanError(f"The pipeline {role.name} accepts no prompt.", where="--model", hint="Choose one that does.")
    drawing, editing = _tables()
    draw = role if _draws_from_text(role, drawing) else _sibling(made_by, editing, drawing)
    edit = role if role.image_parameter else _sibling(made_by, drawing, editing)
    return PipelineKind(draw, edit)


def _role(made_by: type) -> Role:
    signature = inspect.signature(made_by.__call__)
    fixed = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    taken = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.kind not in fixed and name != "self"
    }
    return Role(made_by, taken, next((name for name in _IMAGE_PARAMETERS if name in taken), ""))


def _draws_from_text(role: Role, drawing: Mapping[str, type]) -> bool:
    """Return whether a class can draw without images: it is listed for that, or accepts a list of images that may be
    empty.
    """
    return role.image_parameter != "image" or role.made_by in drawing.values() or role.name in _IMAGE_IS_OPTIONAL


def _sibling(made_by: type, own: Mapping[str, type], other: Mapping[str, type]) -> Role | None:
    """The class of another table that is made from the same parts."""
    sibling = next((other[key] for key, value in own.items() if value is made_by and key in other), None)
    return _role(sibling) if sibling is not None else None


def _tables() -> tuple[Mapping[str, type], Mapping[str, type]]:
    from diffusers.pipelines import auto_pipeline

    return auto_pipeline.AUTO_TEXT2IMAGE_PIPELINES_MAPPING, auto_pipeline.AUTO_IMAGE2IMAGE_PIPELINES_MAPPING
