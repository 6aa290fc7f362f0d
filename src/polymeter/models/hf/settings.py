"""The settings of a Transformers model that a user may change: one frozen object that loading, encoding and identity
read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean

DTYPES = ("auto", "float64", "float32", "float16", "bfloat16")
VIDEO_AS = ("auto", "video", "images")
SOFTMAX_DTYPES = ("", *DTYPES)
LOGPROB_TEMPLATES = ("auto", "chat", "none")
_WHERE = "--model-args"


@dataclass(frozen=True, slots=True)
class HfSettings:
    """The settings of a checkpoint: the arguments of ``HfModel``, checked.

    Attributes:
        name: Folder or hub id.
        dtype: One of ``DTYPES``; ``auto`` is the checkpoint's own.
        device: A torch device; empty: the first accelerator, else the CPU.
        device_map: As for ``from_pretrained``: a word such as ``auto``, or a mapping; empty: one device.
        attn_implementation: ``sdpa``, ``eager``, ``flash_attention_2``, …; empty: what Transformers chooses.
        revision: Branch, tag or commit on the hub.
        trust_remote_code: Whether Python files of the checkpoint may run.
        adapter: Folder or hub id of a PEFT adapter.
        quantization: A quantisation configuration by its fields, ``quant_method`` among them.
        chat_template: Text of a chat template, instead of the checkpoint's own.
        chat_template_args: Further variables of the chat template (``enable_thinking``, …).
        processor_args: Arguments of ``AutoProcessor.from_pretrained`` (``min_pixels``, …).
        max_length: Maximum tokens of prompt and answer together; 0: the checkpoint's own.
        video_as: One of ``VIDEO_AS``: ``video`` as the model's own videos, ``images`` as a series of images, ``auto``
            the first if the model accepts videos.
        video_frames: Maximum frames of a video.
        video_fps: Frames per second; 0: ``video_frames``, evenly spaced.
        cut_sounds: Whether audio that is longer than the model's window is cut; else it is an error.
        cut_prompts: Whether a text that leaves no room for its answer or its continuations is cut at its beginning;
            else it is an error.
        allow_missing_weights: Whether weights that are missing from the checkpoint may be random.
        logprob_template: One of ``LOGPROB_TEMPLATES``: the text before scored continuations. ``chat``: the chat
            template; ``none``: the text alone; ``auto``: the template if the checkpoint has one.
        softmax_dtype: One of ``SOFTMAX_DTYPES``: in which type log-probabilities are computed. ``auto``: that of the
            network's logits; empty: single precision, or double if that is the type of the logits.
        tokenizer: Folder or hub id of a tokenizer; empty: the checkpoint's own.
        add_bos_token: Whether the tokenizer puts its beginning-of-sequence token before a text; ``None``: it decides.
        prefix_token_id: The token that the first token of a text is predicted from; ``None``: the tokenizer's
            beginning-of-sequence token, else its end-of-sequence token.
        subfolder: The folder of the checkpoint in its repository on the hub; empty: the repository itself.
    """

    name: str
    dtype: str = "auto"
    device: str = ""
    device_map: str | Mapping[str, Any] = ""
    attn_implementation: str = ""
    revision: str = ""
    trust_remote_code: bool = False
    adapter: str = ""
    quantization: Mapping[str, Any] = field(default_factory=dict)
    chat_template: str = ""
    chat_template_args: Mapping[str, Any] = field(default_factory=dict)
    processor_args: Mapping[str, Any] = field(default_factory=dict)
    max_length: int = 0
    video_as: str = "auto"
    video_frames: int = 8
    video_fps: float = 0.0
    cut_sounds: bool = False
    cut_prompts: bool = False
    allow_missing_weights: bool = False
    logprob_template: str = "auto"
    softmax_dtype: str = ""
    tokenizer: str = ""
    add_bos_token: bool | None = None
    prefix_token_id: int | None = None
    subfolder: str = ""

    @property
    def is_folder(self) -> bool:
        """True if the checkpoint is a folder on this machine."""
        return Path(self.name).is_dir()

    def shows_videos_whole(self, *, accepts: bool) -> bool:
        """Return whether the processor gets a video as one, and not its frames as images.

        Args:
            accepts: Whether the model accepts videos.
        """
        return self.video_as == "video" or (self.video_as == "auto" and accepts)

    @property
    def source(self) -> dict[str, Any]:
        """Arguments of every ``from_pretrained``: where in the repository, and whether remote code may run."""
        given: dict[str, Any] = {"trust_remote_code": self.trust_remote_code}
        named = {"revision": self.revision, "subfolder": self.subfolder}
        return given | {name: value for name, value in named.items() if value}


def as_mapping(value: Any, name: str) -> dict[str, Any]:
    """Return a mapping given as one, or as the text of a JSON object.

    Raises:
        PlanError: if it is neither.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if not value:
        return {}
    try:
        parsed = json.loads(value)
    except (TypeError, ValueError):
        parsed = None
    if not isinstance(parsed, dict):
        raise PlanError(
            f"Argument {name!r} must be a mapping, not {value!r}.",
            where=_WHERE,
            hint=f'Write it as JSON: {name}={{"key": value}}.',
        )
    return parsed


def one_of(value: str, known: tuple[str, ...], name: str) -> str:
    """Return the value, if it is one of the known ones.

    Raises:
        PlanError: if it is not; the message gives the nearest.
    """
    if value not in known:
        hint = did_you_mean(str(value), known) or f"Known: {', '.join(known)}."
        raise PlanError(f"Argument {name!r} cannot be {value!r}.", where=_WHERE, hint=hint)
    return value


def flag(value: Any, name: str) -> bool:
    """Return the value, if it is true or false: the text "no" would otherwise count as true.

    Raises:
        PlanError: if it is neither.
    """
    if not isinstance(value, bool):
        raise PlanError(f"Argument {name!r} must be true or false, not {value!r}.", where=_WHERE)
    return value


def amount(value: Any, name: str, *, least: float = 0) -> Any:
    """Return the value, if it is a number that is large enough.

    Raises:
        PlanError: if it is not one.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
        raise PlanError(f"Argument {name!r} must be a number of at least {least:g}, not {value!r}.", where=_WHERE)
    return value


def read_template(value: str) -> str:
    """A chat template: the content of a file, or the text itself if it holds template syntax.

    Raises:
        PlanError: if there is no such file.
    """
    if not value or "{{" in value or "{%" in value:
        return value
    try:
        return Path(value).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"The chat template cannot be read: {error}.", where="--model-args chat_template") from None
