"""Loading of a pipeline: its parts, the selected scheduler, LoRA weights, and the device."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.models.diffusers.index import PipelineKind, Role, kind_of_class
from polymeter.models.diffusers.parts import missing_parts
from polymeter.models.diffusers.settings import DiffusersSettings
from polymeter.models.hf.load import best_device

_DENOISERS = ("transformer", "unet", "prior", "decoder")
_DTYPES = {"F64": "float32", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class LoadedPipeline:
    """A pipeline in memory.

    Attributes:
        kind: Its uses.
        draw: The pipeline that draws from text alone; ``None``: it has none.
        edit: The one that accepts images; it shares its parts with the other, or is the same.
    """

    kind: PipelineKind
    draw: Any
    edit: Any


def check_places(settings: DiffusersSettings) -> None:
    """Check the device, the scheduler and the LoRA weights that the settings name, before weights are read.

    Raises:
        PlanError: if one of them does not exist.
    """
    import diffusers
    import torch

    if settings.device:
        with boundary(PlanError, f"Using the device {settings.device!r}", hint="Known: cpu, cuda, cuda:1, mps, …"):
            torch.empty(0, device=settings.device)
    if settings.offload != "none" and (settings.device or best_device()) == "cpu":
        raise PlanError(
            f"offload={settings.offload} needs an accelerator. This machine has none.",
            where="--model-args offload",
            hint="Leave it out: on a CPU, all parts are in the machine's memory anyway.",
        )
    if settings.scheduler and not hasattr(diffusers, settings.scheduler):
        known = [name for name in dir(diffusers) if name.endswith("Scheduler")]
        raise PlanError(
            f"Diffusers {diffusers.__version__} has no scheduler {settings.scheduler!r}.",
            where="--model-args scheduler",
            hint=did_you_mean(settings.scheduler, known) or "Write its class, such as EulerDiscreteScheduler.",
        )
    lora = settings.lora
    if lora and lora.startswith(("/", "./", "../", "~")) and not Path(lora).exists():
        raise PlanError(f"The LoRA weights {lora!r} do not exist.", where="--model-args lora", hint="Check the path.")


def load_pipelines(settings: DiffusersSettings, kind: PipelineKind | None) -> LoadedPipeline:
    """Read a pipeline's weights, and make the pipelines that draw and edit.

    Args:
        settings: How to read them.
        kind: The result of ``kind_of``; ``None``: only its own code determines them.

    Raises:
        PlanError: if a file is missing or broken, or a package that its parts need is not installed.
    """
    import diffusers

    folder = _folder(settings)
    arguments: dict[str, Any] = {"torch_dtype": _dtype(settings, folder)}
    if settings.variant:
        arguments["variant"] = settings.variant
    if settings.trust_remote_code:
        arguments["trust_remote_code"] = True
    arguments |= missing_parts(settings.parts, kind, folder, arguments["torch_dtype"])
    made_by = getattr(diffusers, settings.pipeline) if settings.pipeline else diffusers.DiffusionPipeline
    with boundary(PlanError, f"Reading the weights of {settings.name!r}"):
        pipeline = made_by.from_pretrained(str(folder), **arguments)
    kind = kind or kind_of_class(type(pipeline))
    if settings.scheduler or settings.scheduler_args:
        pipeline.scheduler = _scheduler(pipeline.scheduler, settings)
    if settings.lora:
        with boundary(PlanError, f"Reading the LoRA weights {settings.lora!r}"):
            pipeline.load_lora_weights(settings.lora)
    by_role = {role.name: _with_role(pipeline, role) for role in kind.roles}
    for one in by_role.values():
        one.set_progress_bar_config(disable=True)
        _place(one, settings)
    return LoadedPipeline(
        kind,
        by_role[kind.draw.name] if kind.draw else None,
        by_role[kind.edit.name] if kind.edit else None,
    )


def _folder(settings: DiffusersSettings) -> Path:
    """The folder of the pipeline; a hub id is downloaded, or found in the local cache."""
    from diffusers import DiffusionPipeline

    if settings.is_folder:
        return Path(settings.name)
    arguments: dict[str, Any] = dict(settings.source)
    if settings.variant:
        arguments["variant"] = settings.variant
    with boundary(PlanError, f"Fetching {settings.name!r}", hint=f"Offline: --weights {settings.name}=PATH."):
        return Path(
            DiffusionPipeline.download(settings.name, trust_remote_code=settings.trust_remote_code, **arguments)
        )


def _dtype(settings: DiffusersSettings, folder: Path) -> Any:
    import torch

    return getattr(torch, _stored_dtype(folder, settings.variant) if settings.dtype == "auto" else settings.dtype)


def _stored_dtype(folder: Path, variant: str) -> str:
    """The type in which the denoiser's weights are stored; 32 bits if nothing says."""
    from safetensors import safe_open

    for part in _DENOISERS:
        files = sorted((folder / part).glob("*.safetensors"))
        own = [file for file in files if (f".{variant}." in file.name if variant else file.name.count(".") == 1)]
        for file in own or files:
            with boundary(PlanError, f"Reading {file}"), safe_open(file, framework="pt") as weights:
                for name in weights.keys():  # noqa: SIM118  # no mapping
                    return _DTYPES.get(weights.get_slice(name).get_dtype(), "float32")
    return "float32"


def _scheduler(own: Any, settings: DiffusersSettings) -> Any:
    import diffusers

    made_by = getattr(diffusers, settings.scheduler) if settings.scheduler else type(own)
    known = inspect.signature(made_by.__init__).parameters
    for name in settings.scheduler_args:
        if name not in known or name == "self":
            raise PlanError(
                f"{made_by.__name__} has no setting {name!r}.",
                where="--model-args scheduler_args",
                hint=did_you_mean(name, known),
            )
    with boundary(PlanError, f"Creating the scheduler {made_by.__name__}"):
        return made_by.from_config(own.config, **settings.scheduler_args)


def _with_role(pipeline: Any, role: Role) -> Any:
    """The pipeline itself, or another one made from its parts."""
    if isinstance(pipeline, role.made_by):
        return pipeline
    taken = inspect.signature(role.made_by.__init__).parameters  # type: ignore[misc]
    settings = {name: value for name, value in pipeline.config.items() if name in taken}
    parts = {name: part for name, part in pipeline.components.items() if name in taken}
    with boundary(PlanError, f"Creating the pipeline {role.name} from the parts of {type(pipeline).__name__}"):
        return role.made_by(**settings | parts)


def _place(pipeline: Any, settings: DiffusersSettings) -> None:
    device = settings.device or best_device()
    with boundary(PlanError, f"Moving the pipeline to {device!r}"):
        if settings.offload == "model":
            pipeline.enable_model_cpu_offload(device=device)
        elif settings.offload == "sequential":
            pipeline.enable_sequential_cpu_offload(device=device)
        else:
            pipeline.to(device)
