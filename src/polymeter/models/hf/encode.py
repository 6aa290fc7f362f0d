"""From requests to tensors: chat template, media, tokens, left padding.

What users write is text and stays text: where it spells a token that stands for a medium (``<image>``), that is broken
with a space after its first character, so that it cannot take the place of a picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.errors import ModelError, PlanError, boundary
from polymeter.core.parts import Audio, Image, Modality, Part, Text, Video
from polymeter.core.request import Message, Request
from polymeter.models.hf.load import Loaded, template_of
from polymeter.models.hf.media import Clip, clip_of, picture_of, sound_of

_TOKEN_NAMES = ("image_token", "video_token", "audio_token")
_FURTHER_TOKENS = (
    "boi_token",
    "eoi_token",
    "boa_token",
    "eoa_token",
    "audio_bos_token",
    "audio_eos_token",
    "vision_start_token",
    "vision_end_token",
    "vision_bos_token",
    "vision_eos_token",
    "fake_image_token",
    "global_image_tag",
    "image_break_token",
    "image_end_token",
    "start_image_token",
    "end_image_token",
    "context_image_token",
)
_PROBE = "polymeter probe"
_MAX_PROBES = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of several requests.

    Attributes:
        inputs: What the network is called with: ``input_ids`` and ``attention_mask`` of shape ``(rows, length)``, and
            the media of all rows as the processor gives them. On the network's device, floats in its type.
        n_tokens: Tokens of each row, padding not counted.
    """

    inputs: dict[str, Any]
    n_tokens: tuple[int, ...]


@dataclass(slots=True)
class _Row:
    """One request, read: its text with one token for each medium, and the media in that order."""

    text: str
    images: list[Any] = field(default_factory=list)
    videos: list[Clip] = field(default_factory=list)
    sounds: list[Any] = field(default_factory=list)


class Encoder:
    """Makes tensors of requests for one loaded checkpoint.

    Args:
        loaded: The checkpoint.

    Raises:
        PlanError: Its chat template cannot be rendered.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._processor, self._tokenizer = loaded.processor, loaded.tokenizer
        self._tokens: dict[Modality, str] = {}
        for name in _TOKEN_NAMES:
            token = self._special(name)
            if token:
                self._tokens[name.removesuffix("_token")] = token  # type: ignore[index]
        self._guarded = sorted({t for name in (*_TOKEN_NAMES, *_FURTHER_TOKENS) for t in self._all(name)}, key=len)
        self._takes_parts = False
        self._adds_special = True
        if loaded.is_chat:
            self._takes_parts, self._adds_special = self._probe_template()

    def encode(self, requests: Sequence[Request], tails: Sequence[str] | None = None) -> Batch:
        """The tensors of several requests, one row each.

        Args:
            requests: What is asked.
            tails: Text put right after each prompt, tokenised together with it.

        Raises:
            DataError: A medium cannot be read.
            ModelError: A request shows what this model cannot be shown, or the processor refuses.
        """
        rows = [self._read(request) for request in requests]
        if tails is not None:
            for row, tail in zip(rows, tails, strict=True):
                row.text += tail
        with boundary(ModelError, "The processor"):
            made = self._process(rows)
        inputs = {
            name: self._placed(value) for name, value in made.items() if value is not None and hasattr(value, "to")
        }
        mask = inputs.get("attention_mask")
        if self._loaded.kind.is_speech or mask is None:
            return Batch(inputs, (0,) * len(rows))
        return Batch(inputs, tuple(mask.sum(dim=1).tolist()))

    def prompt_text(self, request: Request) -> str:
        """A request's text as the model is given it: the chat template rendered, one token for each medium.

        Raises:
            ModelError: The template refuses the conversation.
        """
        if not self._loaded.is_chat:
            return "\n\n".join(text for message in request.messages if (text := self._plain(message)))
        return self._render(request.messages)

    def token_ids(self, text: str) -> list[int]:
        """The tokens of a text, nothing added."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _read(self, request: Request) -> _Row:
        row = _Row("")
        shown = [self._shown(part) for part in request.media()]
        for part, modality in zip(request.media(), shown, strict=True):
            if isinstance(part, Image):
                row.images.append(picture_of(part))
            elif isinstance(part, Audio):
                row.sounds.append(sound_of(part, self._rate()))
            elif modality == "video":
                row.videos.append(clip_of(part, self._loaded.settings))
            else:
                row.images.extend(clip_of(part, self._loaded.settings).frames)
        row.text = self.prompt_text(request)
        self._check_count(row)
        return row
