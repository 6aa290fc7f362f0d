"""A pipeline of Diffusers as a Polymeter model."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import ModelError, PlanError, PolymeterError
from polymeter.core.identity import canonical
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.names.registry import missing_package
from polymeter.core.request import GenerateImage, Output, Parameters, Request, Response
from polymeter.core.settings.generation import image_parameters
from polymeter.models.diffusers.draw import Artist, Drawn
from polymeter.models.diffusers.index import Role, kind_of, read_index
from polymeter.models.diffusers.load import LoadedPipeline, check_places, load_pipelines
from polymeter.models.diffusers.naming import check_names, ignored, known_names
from polymeter.models.diffusers.parts import check_parts
from polymeter.models.diffusers.rows import ImageRow, call_key, row_of
from polymeter.models.diffusers.settings import DTYPES, OFFLOADS, DiffusersSettings
from polymeter.models.hf.digest import folder_digest, package_version
from polymeter.models.hf.settings import amount, as_mapping, flag, one_of
from polymeter.models.memory import free_memory
from polymeter.models.quiet import quiet_diffusers

_LOG = logging.getLogger("polymeter")
_PACKAGES = ("diffusers", "torch", "transformers")


class DiffusersModel(BatchModel):
    """A pipeline that draws images from text, or from text and images.

    A checkpoint whose parts make both kinds of pipeline (Stable Diffusion, FLUX, …) is used as one kind for requests
    with an image and as the other for the rest. The pipeline's own settings hold if a request does not set them.

    An image depends on its prompt, its settings and its seed: the batch size changes no pixel. Kernels round
    differently for different numbers of rows (in 16 bits by several levels of a pixel), so how many images a call draws
    is a property of the model, ``images_per_call``, and not of the batch. A larger batch size alone passes more
    requests at a time, which are drawn one after the other; ``images_per_call=4`` draws four at a time, on any batch
    size.

    Args:
        name: Folder or hub id; it holds a ``model_index.json``.
        dtype: ``auto`` (that of the denoiser's weights), ``float32``, ``float16`` or ``bfloat16``.
        device: A torch device (``cuda:1``, ``cpu``); default: the first accelerator, else the CPU.
        offload: ``model`` or ``sequential``: parts wait in the machine's memory until they are needed.
        revision: Branch, tag or commit on the hub.
        variant: One of several sets of weights, such as ``fp16``.
        pipeline: Class of the pipeline; default: the one that ``model_index.json`` names.
        scheduler: Class of the scheduler; default: the pipeline's own.
        scheduler_args: Settings of the scheduler that differ from the pipeline's own.
        lora: Folder, file or hub id of LoRA weights.
        parts: Parts that the checkpoint does not hold, by name, each a folder or hub id of a model of Transformers
            (``{"text_encoder_4": "meta-llama/Llama-3.1-8B-Instruct"}``).
        generation: Default generation settings of requests (``num_inference_steps``, ``guidance_scale``,
            ``size``, …).
        images_per_call: How many images one call of the pipeline draws: more are faster on an accelerator and need more
            memory. It can change pixels, so it is recorded with the model. The batch size cannot: a call with fewer
            images is filled with copies, which are discarded. If a pipeline draws a prompt differently next to longer
            ones, which is tested once, each image is drawn alone.
        trust_remote_code: Allow Python files of the checkpoint to run.

    Raises:
        PlanError: if an argument is wrong, a package is not installed, or there is no such pipeline.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # its parameters are what --model-args may set
        self,
        name: str,
        dtype: str = "auto",
        device: str = "",
        offload: str = "none",
        revision: str = "",
        variant: str = "",
        pipeline: str = "",
        scheduler: str = "",
        scheduler_args: Any = None,
        lora: str = "",
        parts: Any = None,
        generation: Any = None,
        images_per_call: int = 1,
        trust_remote_code: bool = False,
    ) -> None:
        for package in _PACKAGES:
            if find_spec(package) is None:
                raise missing_package(package, "model 'diffusers'", "image-gen")
        if offload != "none" and find_spec("accelerate") is None:
            raise missing_package("accelerate", "offload", "image-gen")
        if lora and find_spec("peft") is None:
            raise missing_package("peft", "lora", "lora")
        self._settings = DiffusersSettings(
            name,
            one_of(dtype.removeprefix("torch."), DTYPES, "dtype"),
            str(device),
            one_of(offload or "none", OFFLOADS, "offload"),
            revision,
            variant,
            pipeline,
            scheduler,
            as_mapping(scheduler_args, "scheduler_args"),
            lora,
            {key: str(source) for key, source in as_mapping(parts, "parts").items()},
            as_mapping(generation, "generation"),
            int(amount(images_per_call, "images_per_call", least=1)),
            flag(trust_remote_code, "trust_remote_code"),
        )
        self._defaults = _default_parameters(self._settings.generation)
        with quiet_diffusers():
            index, self._commit = read_index(self._settings)
            self._kind = kind_of(index, self._settings)
            check_places(self._settings)
            check_parts(self._settings.parts, self._kind)
        if self._kind is not None:
            check_names(self._defaults, self._kind, PlanError)
        self.traits = self._traits(index)
        self.batch_hint = self._settings.images_per_call
        self._artists: dict[str, Artist] = {}

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """The pipeline by content (a folder) or commit (the hub), how it is read, and the packages that read it."""
        settings = self._settings
        packages = [*_PACKAGES, *(["peft"] if settings.lora else [])]
        return {
            "backend": "diffusers",
            "weights": _weights_digest(settings.name) or [settings.name, self._commit],
            "dtype": settings.dtype,
            "variant": settings.variant,
            "pipeline": settings.pipeline,
            "scheduler": settings.scheduler,
            "scheduler_args": canonical(settings.scheduler_args),
            "lora": _weights_digest(settings.lora) or settings.lora,
            "parts": {part: _weights_digest(source) or source for part, source in settings.parts.items()},
            "generation": canonical(settings.generation),
            "images_per_call": settings.images_per_call,
            "packages": {package: package_version(package) for package in packages},
        }

    @property
    def reads_rows(self) -> bool:
        """False: a request holds everything."""
        return False

    def ignores(self, parameters: Parameters) -> Mapping[str, str]:
        """Settings that this pipeline does not accept, or that have no effect."""
        if not isinstance(parameters, GenerateImage) or self._kind is None:
            return {}
        reasons = ignored(self._settled(parameters), self._kind)
        return {
            name: why
            for name, why in reasons.items()
            if name in parameters.extra or (name == "size" and parameters.size)
        }

    def known_settings(self) -> frozenset[str] | None:
        """The names of settings of its pipelines and of other models that make images; ``None`` until the pipeline is
        known.
        """
        return None if self._kind is None else known_names(self._kind)

    def group_key(self, request: Request) -> Hashable:
        """The number of images in the request: requests without one are drawn by another pipeline."""
        return sum(1 for _ in request.images())

    def load(self) -> None:
        """Read the weights."""
        self._compare_sizes()
        settings = replace(
            self._settings, revision=self._commit or self._settings.revision
        )  # as planned, even if the branch has moved
        with quiet_diffusers():
            loaded = load_pipelines(settings, self._kind)
        self._kind = loaded.kind
        self._artists = _artists(loaded, self._settings.images_per_call)

    def respond(self, requests: list[Request]) -> list[Response]:
        """Draw a batch. Requests that cannot share a call of the pipeline are drawn separately."""
        drawn: dict[int, Drawn] = {}
        shared: dict[Hashable, tuple[str, list[ImageRow]]] = {}
        for position, request in enumerate(requests):
            try:
                role, row = self._read(request, position)
            except PolymeterError as error:
                drawn[position] = ModelError(str(error), kind=getattr(error, "kind", "data"))
                continue
            key = (role.name, call_key(role, row) or position)
            shared.setdefault(key, (role.name, []))[1].append(row)
        with quiet_diffusers():
            for name, rows in shared.values():
                for row, one in zip(rows, self._artists[name].draw(rows), strict=True):
                    drawn[row.position] = one
        return [_response(drawn[position]) for position in range(len(requests))]

    def relieve(self) -> None:
        """Free what nothing refers to any more."""
        free_memory()

    def close(self) -> None:
        """Free the weights."""
        if self._artists:
            self._artists = {}
            free_memory()

    def _read(self, request: Request, position: int) -> tuple[Role, ImageRow]:
        if not isinstance(request.parameters, GenerateImage):
            raise ModelError(
                f"The model {self._settings.name!r} cannot answer {request.parameters.kind!r}; it makes images."
            )
        assert self._kind is not None
        return row_of(replace(request, parameters=self._settled(request.parameters)), position, self._kind)

    def _settled(self, parameters: GenerateImage) -> GenerateImage:
        """The parameters with this model's default settings for those that they do not set."""
        named = {name: value for name, value in parameters.extra.items() if value is not None}
        return replace(parameters, size=parameters.size or self._defaults.size, extra={**self._defaults.extra, **named})

    def _compare_sizes(self) -> None:
        """Warn about a batch size that does not do what a user may expect."""
        size, n_rows = self.planned_batch_size or 0, self._settings.images_per_call
        if n_rows == 1 < size:
            _LOG.warning(
                "%s draws one image per call on any batch size, so that batches change no pixel. To draw more at a "
                "time, use --model-args images_per_call=%d.",
                self._settings.name,
                size,
            )
        elif 0 < size < n_rows:
            _LOG.warning(
                "Calls of %s draw %d images each: a batch size of %d is filled up with copies, which are discarded.",
                self._settings.name,
                n_rows,
                size,
            )

    def _traits(self, index: Mapping[str, Any]) -> ModelTraits:
        modalities: dict[Modality, bool] = {"text": True, "audio": False, "video": False}
        if self._kind is not None:
            modalities["image"] = self._kind.edit is not None
            family = self._kind.roles[0].name
        else:
            family = str(index.get("_class_name"))
        return ModelTraits(
            family,
            kind="simple",
            requests={"generate": False, "loglikelihood": False, "generate_image": True},
            modalities=modalities,
            requires=("image",) if self._kind is not None and self._kind.draw is None else (),
        )


def _default_parameters(generation: Mapping[str, Any]) -> GenerateImage:
    parameters, n_images = image_parameters(generation)
    if n_images != 1:
        raise PlanError(
            "The number of images per prompt is not a setting of a model.",
            where="--model-args generation",
            hint=f"Set it for the benchmarks: --gen-kwargs n={n_images}.",
        )
    return parameters


def _artists(loaded: LoadedPipeline, n_rows: int) -> dict[str, Artist]:
    pairs = ((loaded.kind.draw, loaded.draw), (loaded.kind.edit, loaded.edit))
    return {role.name: Artist(pipeline, role, n_rows) for role, pipeline in pairs if role is not None}


def _response(drawn: Drawn) -> Response:
    if isinstance(drawn, ModelError):
        return Response.failed(drawn)
    return Response((Output(images=drawn, finish_reason="stop"),))


def _weights_digest(name: str) -> str:
    folder = Path(name)
    return folder_digest(folder) if name and folder.is_dir() else ""
