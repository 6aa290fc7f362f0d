"""The kind of a checkpoint, by its configuration alone: the Auto class that loads it, and the modalities that it
accepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import PlanError, boundary
from polymeter.models.hf.settings import HfSettings

_AUTO_CLASSES = (
    ("AutoModelForImageTextToText", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES"),
    ("AutoModelForMultimodalLM", "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES"),
    ("AutoModelForSpeechSeq2Seq", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES"),
    ("AutoModelForSeq2SeqLM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
    ("AutoModelForCausalLM", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
)
_SPEECH = "AutoModelForSpeechSeq2Seq"
_VISION_CONFIGS = ("vision_config", "visual_config", "vision_tower_config", "image_config")
_AUDIO_CONFIGS = ("audio_config", "audio_encoder_config", "encoder_config", "speech_config")
_VIDEO_TOKENS = ("video_token_id", "video_token_index")
_LENGTHS = ("max_position_embeddings", "max_sequence_length", "n_positions", "max_target_positions")


@dataclass(frozen=True, slots=True)
class CheckpointKind:
    """The kind of model that a configuration describes.

    Attributes:
        family: The ``model_type``.
        auto_class: The Auto class that loads it.
        modalities: Which modalities it accepts.
        is_encoder_decoder: Whether its answer does not continue its input but is a separate sequence.
        is_speech: Whether it only transcribes speech: its input is one audio and no text.
        max_length: Maximum tokens of prompt and answer together; 0: the configuration does not say.
    """

    family: str
    auto_class: str
    modalities: Mapping[Modality, bool]
    is_encoder_decoder: bool
    is_speech: bool
    max_length: int


def read_config(settings: HfSettings) -> Any:
    """The configuration of a checkpoint, or of its part that writes text, from its folder, the local cache or the hub.
    No weights are read.

    Raises:
        PlanError: if the folder does not exist or is not a checkpoint, or the hub does not have it or cannot be
            reached.
    """
    from transformers import AutoConfig

    name = settings.name
    looks_local = name.startswith(("/", "./", "../", "~")) or name.count("/") > 1
    if not settings.is_folder and (looks_local or Path(name).exists()):
        raise PlanError(f"The checkpoint folder {name!r} does not exist.", where="--model", hint="Check the path.")
    if settings.is_folder and settings.subfolder:
        raise PlanError(
            f"{name!r} is a folder on this machine. subfolder works only with repositories of the hub.",
            where="--model-args subfolder",
            hint=f"Name the folder itself: {Path(name) / settings.subfolder}.",
        )
    if settings.is_folder and not (Path(name) / "config.json").is_file():
        raise PlanError(
            f"The folder {name!r} is not a checkpoint: it has no config.json.",
            where="--model",
            hint="Name the folder with the weights. For a folder with only an adapter, use adapter=….",
        )
    hint = (
        "This version of Transformers may not know its architecture, or it may need trust_remote_code=true."
        if settings.is_folder
        else f"Check the id. Offline, name a folder that contains it: --weights {name}=PATH."
    )
    with boundary(PlanError, f"Reading the configuration of {name!r}", hint=hint):
        config = AutoConfig.from_pretrained(name, **settings.source)
    # Models that speak have a part that writes text. The Auto classes load it alone from the same checkpoint.
    return getattr(config, "thinker_config", config)


def commit_of(settings: HfSettings) -> str:
    """The commit of a checkpoint of the hub whose configuration was read; empty if it is not from the hub.

    The configuration itself has it only with some versions of Transformers.
    """
    if settings.is_folder:
        return ""
    from huggingface_hub import try_to_load_from_cache

    file = "/".join(filter(None, (settings.subfolder, "config.json")))
    found = try_to_load_from_cache(settings.name, file, revision=settings.revision or None)
    return Path(found).parents[file.count("/")].name if isinstance(found, str) else ""


def kind_of(config: Any) -> CheckpointKind:
    """Return the kind of model that a configuration describes.

    Raises:
        PlanError: if it is not a model that generates text.
    """
    auto_class = _auto_class(config)
    is_encoder_decoder = bool(getattr(config, "is_encoder_decoder", False))
    is_speech = auto_class == _SPEECH and is_encoder_decoder
    sees = auto_class == "AutoModelForImageTextToText" or _has(config, _VISION_CONFIGS)
    modalities: dict[Modality, bool] = {
        "text": True,
        "image": sees,
        "audio": is_speech or _has(config, _AUDIO_CONFIGS) or auto_class == _SPEECH,
        "video": _has(config, _VIDEO_TOKENS),
    }
    return CheckpointKind(config.model_type, auto_class, modalities, is_encoder_decoder, is_speech, _max_length(config))


def _auto_class(config: Any) -> str:
    """The Auto class whose table has this type of model; if several have it, the one that names the class from which
    the checkpoint was saved.
    """
    from transformers.models.auto import modeling_auto

    # A checkpoint's auto_map counts only if its code was allowed to run.
    is_remote = type(config).__module__.startswith("transformers_modules")
    remote = (getattr(config, "auto_map", None) or {}) if is_remote else {}
    saved_from = (getattr(config, "architectures", None) or [""])[0]
    candidates = []
    for name, table in _AUTO_CLASSES:
        if name in remote:
            return name
        classes = dict(getattr(modeling_auto, table, {})).get(config.model_type)
        if classes is not None:
            if saved_from in ((classes,) if isinstance(classes, str) else classes):
                return name
            candidates.append(name)
    if not candidates:
        raise PlanError(
            f"Transformers cannot load a model of type {config.model_type!r} as one that generates text.",
            where="--model",
            hint="Choose a causal LM, or an image-text-to-text or audio model.",
        )
    return candidates[0]


def _has(config: Any, names: tuple[str, ...]) -> bool:
    return any(getattr(config, name, None) is not None for name in names)


def _max_length(config: Any) -> int:
    text = config.get_text_config(decoder=True)
    return next((int(value) for name in _LENGTHS if (value := getattr(text, name, None))), 0)
