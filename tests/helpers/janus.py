"""Small checkpoints, with random weights, of architectures that write text and draw images: Janus and Emu3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.helpers.checkpoints import CHAT_TEMPLATE, make_tokenizer

_HIDDEN = 32
_CODES = 32
JANUS_SIZE = 16
"""Width and height of what the small Janus draws."""


def make_unified(architecture: str, folder: Path, *, seed: int = 0) -> Path:
    """Write a checkpoint.

    Args:
        architecture: ``janus`` or ``emu3``.
        folder: Where to; made if need be.
        seed: Of the weights.

    Returns:
        The folder.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network, processor = _ARCHITECTURES[architecture]()
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.dim() == 2:
                    parameter.normal_(0.0, 0.3)
    network.generation_config.pad_token_id = processor.tokenizer.pad_token_id
    network.generation_config.eos_token_id = processor.tokenizer.eos_token_id
    network.generation_config.bos_token_id = processor.tokenizer.bos_token_id
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def janus() -> tuple[Any, Any]:
    """Janus: 8 x 8 patches of 2 pixels, a codebook of 32."""
    import transformers as hf

    named = {"image_token": "<image_placeholder>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer = make_tokenizer(adds_bos=True, **named)
    config = hf.JanusConfig(
        text_config=_text_config(tokenizer),
        vision_config={
            "hidden_size": _HIDDEN,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 4,
            "projection_dim": _HIDDEN,
            "num_image_tokens": 64,
            "mlp_ratio": 2.0,
        },
        vq_config={
            "embed_dim": 4,
            "num_embeddings": _CODES,
            "latent_channels": 32,
            "base_channels": 32,
            "channel_multiplier": [1, 1],
            "num_res_blocks": 1,
            "projection_dim": _HIDDEN,
            "image_token_embed_dim": _HIDDEN,
        },
        image_token_id=tokenizer.image_token_id,
    )
    images = hf.JanusImageProcessorPil(size={"height": 32, "width": 32}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    template = CHAT_TEMPLATE.replace("{{ bos_token }}", "").replace("IMAGE", "<image_placeholder>")
    processor = hf.JanusProcessor(images, tokenizer, template, num_image_tokens=64)
    return hf.JanusForConditionalGeneration(config), processor


def emu3() -> tuple[Any, Any]:
    """Emu3: patches of 8 pixels, a codebook of 32."""
    import transformers as hf

    named = {
        "image_token": "<image>",
        "boi_token": "<|image start|>",
        "eoi_token": "<|image end|>",
        "image_wrapper_token": "<|image token|>",
        "eof_token": "<|extra_201|>",
    }
    visual = [f"<|visual token {number:06d}|>" for number in range(_CODES)]
    tokenizer = make_tokenizer("<|extra_200|>", *visual, **named)
    config = hf.Emu3Config(
        text_config={**_text_config(tokenizer), "model_type": "emu3_text_model"},
        vq_config={
            "codebook_size": _CODES,
            "base_channels": 32,
            "channel_multiplier": [1, 1, 1, 1],
            "num_res_blocks": 1,
            "attn_resolutions": [3],
            "hidden_size": 32,
            "num_attention_heads": 1,
        },
        vocabulary_map=tokenizer.get_vocab(),
    )
    images = hf.Emu3ImageProcessor(min_pixels=16 * 16, max_pixels=64 * 64)
    return hf.Emu3ForConditionalGeneration(config), hf.Emu3Processor(images, tokenizer, CHAT_TEMPLATE)


_ARCHITECTURES: dict[str, Callable[[], tuple[Any, Any]]] = {"janus": janus, "emu3": emu3}


def _text_config(tokenizer: Any) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": _HIDDEN,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 1024,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
