"""The models of ``supported_ULM`` by name: ULMEvalKit's, each run by one of Polymeter's own backends, and those that
users' files add.

Nothing of a model is imported or read before it is used. For a model that no backend runs, the error lists its needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.guest_context import weights_place
from polymeter.core.model import Model
from polymeter.core.names.registries import MODELS
from polymeter.core.names.systems import load
from polymeter.guests.wrappers import parameters
from polymeter.interop.ulmeval.models.vlmevalkit.names import supported_name

_LISTED_VLM = "polymeter.interop.ulmeval.models.vlmevalkit.scripted:ListedVlm"
_WRAPPER = "Your own wrapper runs as --model ulm:NAME --model-path FILE."


@dataclass(frozen=True, slots=True)
class ZooModel:
    """A model of ULMEvalKit's list.

    Attributes:
        model_path: Hub id, or the endpoint's model.
        backend: The backend that runs it; empty if none does.
        settings: ULMEvalKit's generation settings, under the field's names. The words that it appends to Qwen-Image's
            prompts ("Ultra HD, 4K") are left out, so that a benchmark's prompt is used unchanged.
        needs: What is needed if no backend runs it, or if only local files can be run.
        also: Other hub ids under which ``--weights`` may name its files.
        parts: Hub ids of parts that are missing from its files.
    """

    model_path: str
    backend: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    also: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)

    def weights(self) -> str:
        """Its local files if the user has named them, else its id."""
        ids = (self.model_path, *self.also)
        return next((path for path in map(weights_place, ids) if path not in ids), self.model_path)


def _square(**settings: Any) -> dict[str, Any]:
    return {"size": (1024, 1024), **settings}


def _code_of(project: str) -> str:
    return f"the code of {project}, which is in no package that Polymeter uses"


_CONVERTED = "its weights in the form of Transformers: convert them with Transformers' convert_janus_weights_to_hf.py"
_SHOW_O = _code_of("https://github.com/showlab/Show-o")
_JANUS = {"temperature": 1.0, "guidance_scale": 5.0}
_LLAMA = dict.fromkeys(("text_encoder_4", "tokenizer_4"), "meta-llama/Llama-3.1-8B-Instruct")
_SANA = _square(num_inference_steps=20, guidance_scale=4.5)

ENTRIES: Mapping[str, ZooModel] = {
    "gpt-image-1": ZooModel("gpt-image-1", "openai"),
    "GeminiFlashPreviewImageGeneration2-0": ZooModel("gemini-2.0-flash-preview-image-generation", "gemini"),
    "Imagen3": ZooModel("imagen-3.0-generate-002", "gemini"),
    "Imagen4": ZooModel("imagen-4.0-generate-preview-06-06", "gemini"),
    "Imagen4-Ultra": ZooModel("imagen-4.0-ultra-generate-preview-06-06", "gemini"),
    "BAGEL-7B-MoT": ZooModel("ByteDance-Seed/BAGEL-7B-MoT", needs=_code_of("https://github.com/ByteDance-Seed/Bagel")),
    "Janus-1.3B": ZooModel("deepseek-ai/Janus-1.3B", "hf", _JANUS, _CONVERTED),
    "Janus-Pro-1B": ZooModel("deepseek-community/Janus-Pro-1B", "hf", _JANUS, also=("deepseek-ai/Janus-Pro-1B",)),
    "Janus-Pro-7B": ZooModel("deepseek-community/Janus-Pro-7B", "hf", _JANUS, also=("deepseek-ai/Janus-Pro-7B",)),
    "JanusFlow-1.3B": ZooModel("deepseek-ai/JanusFlow-1.3B", needs=_code_of("https://github.com/deepseek-ai/Janus")),
    "Show-o": ZooModel("showlab/show-o", needs=_SHOW_O),
    "Show-o-512x512": ZooModel("showlab/show-o-512x512", needs=_SHOW_O),
    "Show-o-w-clip-vit-512x512": ZooModel("showlab/show-o-w-clip-vit-512x512", needs=_SHOW_O),
    "Show-o-w-clip-vit": ZooModel("showlab/show-o-w-clip-vit", needs=_SHOW_O),
    "OmniGen2": ZooModel(
        "OmniGen2/OmniGen2",
        "diffusers",
        _square(num_inference_steps=50, text_guidance_scale=5.0, image_guidance_scale=2.0, max_sequence_length=1024),
    ),
    "FLUX.1-schnell": ZooModel(
        "black-forest-labs/FLUX.1-schnell", "diffusers", _square(num_inference_steps=50, guidance_scale=3.5)
    ),
    "FLUX.1-dev": ZooModel(
        "black-forest-labs/FLUX.1-dev", "diffusers", _square(num_inference_steps=50, guidance_scale=3.5)
    ),
    "FLUX.1-Kontext-dev": ZooModel("black-forest-labs/FLUX.1-Kontext-dev", "diffusers", _square(guidance_scale=2.5)),
    "T2IR1": ZooModel("CaraJ/T2I-R1", needs=_code_of("https://github.com/CaraJ7/T2I-R1")),
    "NextStep-1-Large": ZooModel(
        "stepfun-ai/NextStep-1-Large", needs=_code_of("https://github.com/stepfun-ai/NextStep-1")
    ),
    "Emu3-Gen": ZooModel("BAAI/Emu3-Gen-hf", "hf", also=("BAAI/Emu3-Gen",)),
    "Qwen-Image": ZooModel(
        "Qwen/Qwen-Image",
        "diffusers",
        {"size": (1664, 928), "num_inference_steps": 50, "true_cfg_scale": 4.0, "negative_prompt": " "},
    ),
    "Sana-1.5-1.6B": ZooModel("Efficient-Large-Model/SANA1.5_1.6B_1024px_diffusers", "diffusers", _SANA),
    "Sana-1.5-4.8B": ZooModel("Efficient-Large-Model/SANA1.5_4.8B_1024px_diffusers", "diffusers", _SANA),
    "HiDream-Full": ZooModel(
        "HiDream-ai/HiDream-I1-Full",
        "diffusers",
        _square(num_inference_steps=50, guidance_scale=5.0),
        parts=_LLAMA,
    ),
    "HiDream-Dev": ZooModel(
        "HiDream-ai/HiDream-I1-Dev",
        "diffusers",
        _square(num_inference_steps=28, guidance_scale=0.0),
        parts=_LLAMA,
    ),
    "HiDream-Fast": ZooModel(
        "HiDream-ai/HiDream-I1-Fast",
        "diffusers",
        _square(num_inference_steps=16, guidance_scale=0.0),
        parts=_LLAMA,
    ),
}

CLASSES: Mapping[str, str] = {
    "GPTIMAGE1": "gpt-image-1",
    "GeminiFlashGeneration": "GeminiFlashPreviewImageGeneration2-0",
    "Imagen": "Imagen4",
    "Bagel": "BAGEL-7B-MoT",
    "JanusGeneration": "Janus-1.3B",
    "JanusPro": "Janus-Pro-1B",
    "JanusFlow": "JanusFlow-1.3B",
    "Showo": "Show-o",
    "OmniGen2": "OmniGen2",
    "Flux": "FLUX.1-dev",
    "FluxKontext": "FLUX.1-Kontext-dev",
    "T2IR1": "T2IR1",
    "NextStep1": "NextStep-1-Large",
    "Emu3Gen": "Emu3-Gen",
    "QwenImage": "Qwen-Image",
    "Sana15_1_6B": "Sana-1.5-1.6B",
    "Sana15_4_8B": "Sana-1.5-4.8B",
    "HiDreamImageFull": "HiDream-Full",
    "HiDreamImageDev": "HiDream-Dev",
    "HiDreamImageFast": "HiDream-Fast",
}
"""ULMEvalKit's classes, as its configuration files name them, and the model that each makes by default."""


class Zoo(dict[str, Callable[..., Any]]):
    """Names of models, each with a function that makes the model: ``supported_ULM["Janus-Pro-1B"]()``. Punctuation and
    case of a name do not matter. A user's file may add names and replace ours. VLMEvalKit's names are looked up, and
    not among the keys.

    Args:
        make: ``(name, model_path=…, **arguments) → model``, for ULMEvalKit's own.
    """

    def __init__(self, make: Callable[..., Any]) -> None:
        super().__init__({name: partial(make, name, model_path=entry.model_path) for name, entry in ENTRIES.items()})
        self._built_in = dict(self)

    @property
    def added(self) -> dict[str, Callable[..., Any]]:
        """The entries that users' files have added."""
        return {name: make for name, make in self.items() if self._built_in.get(name) is not make}

    def of_class(self, name: str) -> Callable[..., Any]:
        """The function that makes the models of one of ULMEvalKit's classes: ``of_class("Flux")(model_path="…")``.

        Raises:
            KeyError: if ULMEvalKit has no such class.
        """
        if name not in CLASSES:
            raise KeyError(f"ULMEvalKit has no class {name!r}. {did_you_mean(name, CLASSES)}".rstrip())
        return self._built_in[CLASSES[name]]

    def built_in(self, name: str) -> str:
        """The exact name of a built-in model; empty if there is none, or a user's file has replaced it."""
        exact = name if name in self else _same(name, self)
        return exact if exact and self.get(exact) is self._built_in.get(exact) else ""

    def __missing__(self, name: str) -> Callable[..., Any]:
        exact = _same(name, self)
        if not exact and supported_name(name):
            return partial(cast(Callable[..., Any], load(_LISTED_VLM)), supported_name(name))
        if not exact:
            raise KeyError(f"There is no ULM {name!r}. {did_you_mean(name, self)}".rstrip())
        return self[exact]


def native_backend(name: str, arguments: Mapping[str, Any], model_path: str = "") -> Model:
    """One of ULMEvalKit's models by its name, as the backend that runs it.

    Args:
        name: As ``Zoo.built_in`` returns it.
        arguments: Arguments of the backend.
        model_path: Files or an id in place of the model's own.

    Raises:
        PlanError: if no backend runs it (the message lists its needs), or the backend refuses the arguments.
    """
    entry = ENTRIES[name]
    if entry.backend == "diffusers":
        from polymeter.models.hf.settings import as_mapping

        generation, parts = (as_mapping(arguments.get(key), key) for key in ("generation", "parts"))
        part_weights = {part: weights_place(str(weights)) for part, weights in {**entry.parts, **parts}.items()}
        arguments = {**arguments, "generation": {**entry.settings, **generation}, "parts": part_weights}
    weights = weights_place(model_path) if model_path and model_path != entry.model_path else entry.weights()
    if entry.needs and (not entry.backend or not Path(weights).exists()):
        hint = f"Name them with --weights {entry.model_path}=PATH." if entry.backend else _WRAPPER
        raise PlanError(f"Model {name!r} needs {entry.needs}.", where="--model", hint=hint)
    factory = MODELS.get(entry.backend)
    named, takes_any = parameters(factory) if isinstance(factory, type) else ({}, True)
    for argument in arguments:
        if argument not in named and not takes_any:
            hint = did_you_mean(argument, named, n=1) or f"It takes: {', '.join(named)}."
            raise PlanError(f"Model {name!r} has no argument {argument!r}.", where="--model-args", hint=hint)
    return factory(name=weights, **arguments)


def backend_arguments(name: str) -> frozenset[str]:
    """The names of the arguments that a model's backend takes."""
    backend = ENTRIES[name].backend
    factory = MODELS.get(backend) if backend else None
    return frozenset(parameters(factory)[0]) if isinstance(factory, type) else frozenset()


def listed_names() -> dict[str, str]:
    """Every name of ULMEvalKit's list, with the backend that runs it or what it needs."""
    return {
        name: f"{entry.backend}:{entry.model_path}{f'; needs {entry.needs}' if entry.needs else ''}"
        if entry.backend
        else f"needs {entry.needs}"
        for name, entry in ENTRIES.items()
    }


def _same(name: str, names: Mapping[str, Any]) -> str:
    """The first of the names that differs from ``name`` only in punctuation and case; empty if there is none."""
    wanted = _letters(name)
    return next((other for other in names if _letters(other) == wanted), "")


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
