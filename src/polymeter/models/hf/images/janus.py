"""Janus and Janus-Pro: one network reads images through an encoder and writes them as tokens of a codebook.

The protocol is that of Wu et al. (2024), "Janus", section 3: each token is sampled from scores that are guided away
from those of an empty prompt. The loop is here because that of Transformers samples all rows with one generator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ModelError
from polymeter.core.request import Request
from polymeter.models.hf.answers.decoding import RowNoise
from polymeter.models.hf.encode import Batch, Encoder
from polymeter.models.hf.images.networks import ImageTokenSettings, guided
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import ReadPrompt

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

_BYTE = 255


class Janus:
    """Draws with a ``JanusForConditionalGeneration``. Images in the prompt are read as for a text answer.

    Args:
        loaded: The checkpoint.
    """

    guidance = 5.0
    sampling: Mapping[str, Any] = {}
    takes_negative = False
    negative = ""

    def __init__(self, loaded: LoadedCheckpoint) -> None:
        self._loaded = loaded
        network = loaded.network
        self._network = network.get_base_model() if hasattr(network, "get_base_model") else network

    @staticmethod
    def size_of(config: Any) -> tuple[int, int]:
        """Width and height of what a checkpoint draws, in pixels: a square of patches, each doubled in size by every
        further stage of its decoder.
        """
        side = int(config.vq_config.num_patches) * 2 ** (len(config.vq_config.channel_multiplier) - 1)
        return side, side

    def read(self, encoder: Encoder, request: Request) -> ReadPrompt:
        """The chat template rendered, open for the answer."""
        return encoder.read(request)

    def n_tokens(self, drawing: ImageTokenSettings) -> int:
        """One per patch.

        Raises:
            ModelError: if another size is requested.
        """
        size = self.size_of(self._loaded.config)
        if drawing.size not in (None, size):
            raise ModelError(f"Janus draws images of {size[0]} x {size[1]} pixels, not {drawing.size}.")
        return int(self._loaded.config.vision_config.num_image_tokens)

    def encode(self, encoder: Encoder, prompts: Sequence[ReadPrompt], drawing: ImageTokenSettings) -> Batch:
        """The prompts, and behind each the token that begins an image."""
        return encoder.encode(prompts, processor_args={"generation_mode": "image"})

    def tokens(self, batch: Batch, drawing: ImageTokenSettings, noise: RowNoise | None) -> Any:
        """Patch by patch; the rows without their prompts are computed along with the others."""
        import torch

        core, ids = self._network.model, batch.inputs["input_ids"]
        mask, embeddings = batch.inputs["attention_mask"], self._embedded(batch)
        is_guided = drawing.guidance != 1
        if is_guided:
            embeddings = torch.cat([embeddings, self._network.get_input_embeddings()(self._without_prompt(ids))])
            mask = torch.cat([mask, mask])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        cache, drawn = None, ids.new_zeros(len(ids), 0)
        for _ in range(self.n_tokens(drawing)):
            made = core.language_model(
                inputs_embeds=embeddings,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            )
            cache = made.past_key_values
            scores = core.generation_head(made.last_hidden_state[:, -1]).float()
            scores = guided(scores, drawing.guidance) if is_guided else scores
            token = (noise(drawn, scores) if noise is not None else scores).argmax(-1, keepdim=True)
            drawn = torch.cat([drawn, token], -1)
            embeddings = self._network.prepare_embeddings_for_image_generation(
                torch.cat([token, token]) if is_guided else token
            )
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], -1)
            positions = positions[:, -1:] + 1
        return drawn

    def image(self, tokens: Any, drawing: ImageTokenSettings) -> PILImage:
        """Through the decoder of the codebook, whose values are those that the image processor makes from pixels."""
        from PIL import Image as pil

        images = self._loaded.processor.image_processor
        values = self._network.decode_image_tokens(tokens)[0].float().cpu()
        levels = (values * values.new_tensor(images.image_std) + values.new_tensor(images.image_mean)) * _BYTE
        return pil.fromarray(levels.clamp(0, _BYTE).byte().numpy())

    def _embedded(self, batch: Batch) -> Any:
        """The prompts' embeddings, those of images in their places."""
        core, ids = self._network.model, batch.inputs["input_ids"]
        embeddings = self._network.get_input_embeddings()(ids)
        if "pixel_values" not in batch.inputs:
            return embeddings
        seen = core.get_image_features(batch.inputs["pixel_values"], return_dict=True).pooler_output
        seen = seen.reshape(-1, embeddings.shape[-1]).to(embeddings.dtype)
        places = (ids == self._loaded.config.image_token_id).unsqueeze(-1)
        return embeddings.masked_scatter(places, seen)

    def _without_prompt(self, ids: Any) -> Any:
        """The prompts with padding in place of every token but the first of the text and the last, which begins the
        image.
        """
        import torch

        begins = self._loaded.tokenizer.bos_token_id
        kept = ids == begins if begins is not None else ids.new_zeros(ids.shape, dtype=torch.bool)
        kept[:, -1] = True
        return ids.masked_fill(~kept, self._loaded.pad_id)
