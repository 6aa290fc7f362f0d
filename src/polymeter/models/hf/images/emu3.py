"""Emu3: a language model whose vocabulary holds the codebook of an image tokenizer, row by row of the image.

The protocol is that of Wang et al. (2024), "Emu3", as its model card has it: guidance of 3 away from a negative prompt,
the 2048 likeliest tokens, and an end token after each row of the image. The words that the card appends to its prompts
("masterpiece, film grained, best quality.") are left out: a benchmark's prompt is used unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.core.request import Request
from polymeter.models.hf.answers.decoding import RowNoise
from polymeter.models.hf.encode import Batch, Encoder
from polymeter.models.hf.images.networks import ImageTokenSettings
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import ReadPrompt

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_USUAL_SHAPE = {
    "ratio": "1:1",
    "image_area": 518_400,
}  # the values of Emu3's processor, which older versions of Transformers do not expose
_N_CLOSING = 3
"""End of file, end of image, end of text: the decoder drops them again."""


class Emu3:
    """Draws with an ``Emu3ForConditionalGeneration``, from text alone.

    Args:
        loaded: The checkpoint.
    """

    guidance = 3.0
    sampling: Mapping[str, Any] = {"top_k": 2048}
    takes_negative = True
    negative = (
        "lowres, bad anatomy, bad hands, text, error, missing fingers, extra digit, fewer digits, cropped, "
        "worst quality, low quality, normal quality, jpeg artifacts, signature, watermark, username, blurry."
    )

    def __init__(self, loaded: LoadedCheckpoint) -> None:
        self._loaded = loaded

    @staticmethod
    def size_of(config: Any) -> None:
        """Any size can be requested, in steps of a patch."""
        return

    def read(self, encoder: Encoder, request: Request) -> ReadPrompt:
        """The text, unchanged: the checkpoint that draws uses no chat template.

        Raises:
            ModelError: if the request holds media.
        """
        if any(True for _ in request.media()):
            raise ModelError("Emu3 draws from text alone, but the request has an image or another medium.")
        return encoder.read(request, is_plain=True)

    def n_tokens(self, drawing: ImageTokenSettings) -> int:
        """One per patch and one for the end of each row."""
        height, width = self._patches(drawing)
        return height * (width + 1)

    def encode(self, encoder: Encoder, prompts: Sequence[ReadPrompt], drawing: ImageTokenSettings) -> Batch:
        """The prompts, and behind each the beginning of an image of that size."""
        return encoder.encode(prompts, processor_args={"return_for_image_generation": True, **_shape(drawing)})

    def tokens(self, batch: Batch, drawing: ImageTokenSettings, noise: RowNoise | None) -> Any:
        """Patch by patch, row by row of the image."""
        loaded = self._loaded
        n_before = batch.inputs["input_ids"].shape[1]
        given: dict[str, Any] = {}
        if drawing.guidance != 1:
            away = self._away_from(drawing, len(batch.texts))
            given = {
                "guidance_scale": drawing.guidance,
                "negative_prompt_ids": away["input_ids"],
                "negative_prompt_attention_mask": away["attention_mask"],
            }
        processors: list[Any] = [self._layout(drawing, n_before), *([noise] if noise is not None else [])]
        made = loaded.network.generate(
            **batch.inputs,
            **given,
            logits_processor=processors,
            max_new_tokens=self.n_tokens(drawing),
            do_sample=False,
            pad_token_id=loaded.pad_id,
            eos_token_id=None,
        )
        return made[:, n_before:]

    def image(self, tokens: Any, drawing: ImageTokenSettings) -> PILImage:
        """Through the decoder of the codebook."""
        import torch

        height, width = self._patches(drawing)
        closed = torch.cat([tokens, tokens.new_zeros(1, _N_CLOSING)], -1)
        network = self._loaded.network
        network = network.get_base_model() if hasattr(network, "get_base_model") else network
        pixels = network.decode_image_tokens(image_tokens=closed, height=height, width=width).float().cpu()
        made = self._loaded.processor.postprocess(list(pixels), return_tensors="PIL.Image.Image")
        image: PILImage = made["pixel_values"][0]
        return image

    def _patches(self, drawing: ImageTokenSettings) -> tuple[int, int]:
        """Height and width in patches."""
        processor = self._loaded.processor
        usual = {name: getattr(processor, name, value) for name, value in _USUAL_SHAPE.items()}
        shape = {**usual, **_shape(drawing)}
        height, width = processor.calculate_generate_size(
            shape["ratio"], shape["image_area"], processor.downsample_ratio
        )
        if not height or not width:
            raise ModelError(
                f"Emu3 draws in patches of {processor.downsample_ratio} pixels. {drawing.size} is smaller "
                f"than one patch."
            )
        return height, width

    def _away_from(self, drawing: ImageTokenSettings, n_rows: int) -> Any:
        """The negative prompt, once for each row."""
        loaded = self._loaded
        made = loaded.processor(
            text=[drawing.negative] * n_rows,
            return_tensors="pt",
            padding=True,
            return_for_image_generation=True,
            **_shape(drawing),
        )
        return {name: made[name].to(loaded.device) for name in ("input_ids", "attention_mask")}

    def _layout(self, drawing: ImageTokenSettings, n_before: int) -> _Layout:
        mapping = self._loaded.config.vocabulary_map
        visual = [number for name, number in mapping.items() if name.startswith("<|visual token")]
        _, width = self._patches(drawing)
        return _Layout(visual, mapping["<|extra_200|>"], width, n_before)


class _Layout:
    """A logits processor that allows only tokens of the codebook in a row, and then only the row's end token.

    Args:
        visual: Tokens of the codebook.
        end: The token that ends a row.
        width: Patches in a row.
        n_before: Tokens of the prompt.
    """

    def __init__(self, visual: Sequence[int], end: int, width: int, n_before: int) -> None:
        self._visual = list(visual)
        self._end = end
        self._width = width
        self._n_before = n_before

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores of shape ``(rows, vocabulary)``, minus infinity where a token may not stand."""
        column = (input_ids.shape[1] - self._n_before) % (self._width + 1)
        allowed = [self._end] if column == self._width else self._visual
        kept = scores.new_full(scores.shape, float("-inf"))
        kept[:, allowed] = scores[:, allowed]
        return kept


def _shape(drawing: ImageTokenSettings) -> dict[str, Any]:
    """A size as the processor takes it: the reduced ratio of its sides, and an area in pixels."""
    if drawing.size is None:
        return {}
    width, height = drawing.size
    common = gcd(width, height)
    return {"ratio": f"{width // common}:{height // common}", "image_area": width * height}
