"""The settings of a pipeline that a user may change: one frozen object that loading and identity read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DTYPES = ("auto", "float32", "float16", "bfloat16")
OFFLOADS = ("none", "model", "sequential")


@dataclass(frozen=True, slots=True)
class DiffusersSettings:
    """The settings of a pipeline: the arguments of ``DiffusersModel``, checked.

    Attributes:
        name: Folder or hub id.
        dtype: One of ``DTYPES``; ``auto`` is that of the denoiser's weights.
        device: A torch device; empty: the first accelerator, else the CPU.
        offload: One of ``OFFLOADS``: which parts wait in the machine's memory until they are needed.
        revision: Branch, tag or commit on the hub.
        variant: One of several sets of weights (``fp16``); empty: the plain one.
        pipeline: Class of the pipeline, by name; empty: the one that ``model_index.json`` names.
        scheduler: Class of the scheduler, by name; empty: the pipeline's own.
        scheduler_args: Settings of the scheduler that differ from the pipeline's own.
        lora: Folder, file or hub id of LoRA weights.
        parts: Folders or hub ids of parts that the checkpoint does not hold, by their names.
        generation: Default generation settings of requests, under their usual names.
        images_per_call: How many images one call of the pipeline draws.
        trust_remote_code: Whether Python files of the checkpoint may run.
    """

    name: str
    dtype: str = "auto"
    device: str = ""
    offload: str = "none"
    revision: str = ""
    variant: str = ""
    pipeline: str = ""
    scheduler: str = ""
    scheduler_args: Mapping[str, Any] = field(default_factory=dict)
    lora: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    images_per_call: int = 1
    trust_remote_code: bool = False

    @property
    def is_folder(self) -> bool:
        """True if the pipeline is a folder on this machine."""
        return Path(self.name).is_dir()

    @property
    def source(self) -> dict[str, Any]:
        """The arguments for reading a hub id."""
        return {"revision": self.revision} if self.revision else {}
