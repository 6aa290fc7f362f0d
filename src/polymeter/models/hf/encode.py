"""Tensors from requests: one call of the processor for all rows, padded on the left, for an encoder on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.errors import ModelError, boundary
from polymeter.core.records.truncation import IMAGES
from polymeter.core.request import Generate, Request
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import Prompter, ReadPrompt
from polymeter.models.hf.scaled import frame_advice, frames_scaled_down, pixel_advice, scaled_down
from polymeter.models.hf.videos import SECONDS

_SIZES = frozenset({"min_pixels", "max_pixels", "size"})


@dataclass(frozen=True, slots=True)
class Batch:
    """Tensors of several requests.

    Attributes:
        inputs: The arguments of the network: ``input_ids`` and ``attention_mask`` of shape ``(rows, length)``, and
            the media of all rows as the processor returns them. On the network's device, floats in its type.
        n_tokens: Tokens of each row, without padding.
        texts: The prompt of each row before it was tokenised, without its tail.
        own_ids: The tokens of each row's text, without special ones; empty if they do not follow from the inputs.
    """

    inputs: dict[str, Any]
    n_tokens: tuple[int, ...]
    texts: tuple[str, ...]
    own_ids: tuple[list[int], ...] = ()

    def cut(self, n: int) -> Batch:
        """The last ``n`` tokens of each row, of texts that are padded on the left."""
        inputs = {name: tensor[:, -n:] for name, tensor in self.inputs.items()}
        return replace(self, inputs=inputs, n_tokens=tuple(min(n, own) for own in self.n_tokens))


class Encoder:
    """Makes tensors of requests for one loaded checkpoint.

    Args:
        loaded: The checkpoint.
        drops_system: See ``Prompter``.

    Raises:
        PlanError: if its chat template cannot be rendered.
    """

    def __init__(self, loaded: LoadedCheckpoint, *, drops_system: bool = False) -> None:
        self._loaded = loaded
        self._prompter = Prompter(loaded, drops_system=drops_system)
        self._n_special = _n_special_in_front(loaded)

    def read(self, request: Request, *, is_plain: bool = False) -> ReadPrompt:
        """A request's text and media, decoded, for ``encode``.

        Args:
            request: The request.
            is_plain: Do not use the chat template, as a request for text may demand itself (``Generate.template``).

        Raises:
            DataError: if a medium cannot be read.
            ModelError: if it holds media that this model does not accept, or the template refuses the conversation.
        """
        parameters = request.parameters
        is_plain = is_plain or (isinstance(parameters, Generate) and parameters.template == "none")
        prompt = self._prompter.read(request, is_plain=is_plain)
        prompt.is_raw = is_plain and self._loaded.is_chat
        prompt.reasoning_tags = None if request.origin is None else request.origin.reasoning_tags
        return prompt

    def encode(
        self,
        requests: Sequence[Request | ReadPrompt],
        tails: Sequence[str] | None = None,
        processor_args: Mapping[str, Any] | None = None,
    ) -> Batch:
        """The tensors of several requests, one row each.

        Args:
            requests: The requests; those that were already read are used unchanged. All are raw, or none is. Their
                videos are those of one group of ``together``.
            tails: Text right after each prompt, tokenised together with it.
            processor_args: Further arguments of the processor.

        Raises:
            DataError: if a medium cannot be read.
            ModelError: if a request holds media that this model does not accept, or the processor fails.
        """
        prompts = [one if isinstance(one, ReadPrompt) else self.read(one) for one in requests]
        texts = tuple(prompt.text for prompt in prompts)
        full = texts if tails is None else tuple(text + tail for text, tail in zip(texts, tails, strict=True))
        try:
            with boundary(ModelError, "The processor"):
                encoded = self._process(prompts, list(full), processor_args or {})
        except ModelError as error:
            refusals = (self._prompter.handling.refusal(prompt.clips) for prompt in prompts)
            if refusal := next(filter(None, refusals), None):
                raise refusal from error
            raise
        self._note_scaled(prompts, encoded)
        inputs = {name: self._placed(value) for name, value in encoded.items() if hasattr(value, "dim")}
        if any(prompt.tracks for prompt in prompts):
            inputs["use_audio_in_video"] = True
        # A model that only transcribes speech reads no tokens.
        n_tokens = (
            tuple(encoded["attention_mask"].sum(dim=1).tolist()) if "input_ids" in inputs else (0,) * len(prompts)
        )
        own_ids = self._own_ids(prompts, encoded) if tails is None else ()
        return Batch(inputs, n_tokens, texts, own_ids)

    def together(self, prompts: Mapping[int, ReadPrompt]) -> list[dict[int, ReadPrompt]]:
        """Prompts in groups, each of which ``encode`` can hold in one call.

        Args:
            prompts: The prompts, by any number.
        """
        groups: dict[Any, dict[int, ReadPrompt]] = {}
        for number, prompt in prompts.items():
            group = self._prompter.handling.group_of(prompt.clips, has_tracks=bool(prompt.tracks))
            groups.setdefault(group, {})[number] = prompt
        return list(groups.values())

    def prompt_text(self, request: Request) -> str:
        """A request's text as the model sees it: the chat template rendered, one token per medium.

        Raises:
            DataError: if a medium cannot be read.
            ModelError: if the template refuses the conversation.
        """
        return self.read(request).text

    def token_ids(self, text: str, *, adds_special: bool = False) -> list[int]:
        """The tokens of a text, without special tokens unless they are asked for."""
        return list(self._loaded.tokenizer(text, add_special_tokens=adds_special)["input_ids"])

    def _own_ids(self, prompts: Sequence[ReadPrompt], encoded: Mapping[str, Any]) -> tuple[list[int], ...]:
        if self._n_special is None or any(prompt.images or prompt.clips or prompt.sounds for prompt in prompts):
            return ()
        n_special = self._n_special if self._prompter.adds_special or prompts[0].is_raw else 0
        return tuple(
            [token for token, is_real in zip(ids, mask, strict=True) if is_real][n_special:]
            for ids, mask in zip(encoded["input_ids"].tolist(), encoded["attention_mask"].tolist(), strict=True)
        )

    def _process(self, prompts: Sequence[ReadPrompt], texts: list[str], further: Mapping[str, Any]) -> Any:
        loaded = self._loaded
        sounds = [sound for prompt in prompts for sound in prompt.sounds]
        handling = self._prompter.handling
        if loaded.kind.is_speech:
            return loaded.processor(audio=sounds, sampling_rate=self._prompter.rate, return_tensors="pt")
        arguments: dict[str, Any] = {
            "text": texts,
            "return_tensors": "pt",
            "padding": True,
            "add_special_tokens": self._prompter.adds_special or prompts[0].is_raw,
            **further,
        }
        if loaded.processor is None:
            return loaded.tokenizer(**arguments)
        if loaded.tokenizer.init_kwargs.get("truncation"):  # a processor would truncate prompts as its tokenizer says
            arguments["truncation"] = False
        if any(prompt.images for prompt in prompts):
            arguments["images"] = [prompt.images for prompt in prompts]
        if any(prompt.clips for prompt in prompts):
            clips = [[clip.filled(handling.fewest) for clip in prompt.clips] for prompt in prompts]
            arguments["videos"] = [[clip.frames for clip in own] for own in clips]
            arguments["video_metadata"] = [[clip.metadata() for clip in own] for own in clips]
            arguments["do_sample_frames"] = False
            if handling.sizes_itself and not _SIZES.isdisjoint(loaded.settings.processor_args):
                arguments["videos_kwargs"] = {"size": dict(loaded.processor.video_processor.size)}
            if handling.asks_rate:
                arguments["fps"] = 1 / next(clip.step for own in clips for clip in own)
        if sounds:
            arguments["audio"] = sounds
            arguments["sampling_rate"] = self._prompter.rate
        if any(prompt.tracks for prompt in prompts):
            arguments["load_audio_from_video"] = True
            arguments["audio_from_video_indices"] = _track_indices(prompts)
        encoded = loaded.processor(**arguments)
        if "videos" in arguments and handling.asks_rate:
            # The processor takes one rate for all videos. The network reads one for each.
            import torch

            steps = [clip.step * handling.fewest for prompt in prompts for clip in prompt.clips]
            encoded[SECONDS] = torch.tensor(steps)
        return encoded

    def _note_scaled(self, prompts: Sequence[ReadPrompt], encoded: Mapping[str, Any]) -> None:
        """Note of each prompt whether the processor scaled its images or the frames of its videos down."""
        processor, part = (
            getattr(self._loaded.processor, name, None) for name in ("image_processor", "video_processor")
        )
        sizes = [(image.height, image.width) for prompt in prompts for image in prompt.images]
        frames = [(clip.frames[0].height, clip.frames[0].width) for prompt in prompts for clip in prompt.clips]
        scaled = iter(scaled_down(sizes, encoded, processor) if sizes else ())
        shrunk = iter(frames_scaled_down(frames, encoded, part) if frames else ())
        for prompt in prompts:
            if sum([next(shrunk) for _ in prompt.clips]):
                prompt.cut[IMAGES] = frame_advice(part)
            if sum([next(scaled) for _ in prompt.images]):
                prompt.cut[IMAGES] = pixel_advice(processor)

    def _placed(self, tensor: Any) -> Any:
        loaded = self._loaded
        # One number for each medium is a time, whose digits count, and not what a network computes with.
        is_cast = tensor.is_floating_point() and tensor.dim() > 1
        return tensor.to(loaded.device, loaded.dtype if is_cast else None)


def _track_indices(prompts: Sequence[ReadPrompt]) -> list[int | None]:
    """Of each sound of a batch, the number of its video in the batch; ``None`` for a sound of its own."""
    indices: list[int | None] = []
    n_clips = 0
    for prompt in prompts:
        own = (prompt.tracks.get(number) for number in range(len(prompt.sounds)))
        indices += [None if clip is None else n_clips + clip for clip in own]
        n_clips += len(prompt.clips)
    return indices


def _n_special_in_front(loaded: LoadedCheckpoint) -> int | None:
    """Return the number of special tokens that the tokenizer puts before a text; ``None`` if it changes the text
    otherwise.
    """
    if loaded.kind.is_speech or loaded.processor is not None:
        return None
    with_special, without = (
        list(loaded.tokenizer("a b", add_special_tokens=adds)["input_ids"]) for adds in (True, False)
    )
    n_special = len(with_special) - len(without)
    return n_special if with_special[n_special:] == without else None
