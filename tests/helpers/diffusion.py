"""Small pipelines of Diffusers with random weights: folders as ``save_pretrained`` writes them, made in a second.

Weights are drawn with a fixed seed and are wider than usual, so that an image depends on every token of its prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from polymeter.models.quiet import quiet_diffusers
from tests.helpers.checkpoints import make_tokenizer

SIZE = 32
"""Width and height of what these pipelines draw, in pixels."""
_CROSS = 32
_TOKENS = 77


def make_pipeline(name: str, folder: Path, *, seed: int = 0, **options: Any) -> Path:
    """Write a pipeline.

    Args:
        name: A name of ``PIPELINES``.
        folder: Where to; made if need be.
        seed: Of the weights.
        options: What its function takes.

    Returns:
        The folder.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        pipeline = PIPELINES[name](**options)
        for part in pipeline.components.values():
            if isinstance(part, torch.nn.Module):
                _widen(part)
    pipeline.set_progress_bar_config(disable=True)
    with quiet_diffusers():
        pipeline.save_pretrained(folder)
    return folder


def stable_diffusion(*, scheduler: str = "DDIMScheduler") -> Any:
    """Stable Diffusion: draws from text; its parts also change an image."""
    import diffusers

    return diffusers.StableDiffusionPipeline(**_stable_parts(scheduler, channels=4))


def pix2pix() -> Any:
    """InstructPix2Pix: edits an image as told; the image is a part of the denoiser's input."""
    import diffusers

    return diffusers.StableDiffusionInstructPix2PixPipeline(**_stable_parts("DDIMScheduler", channels=8))


def flux() -> Any:
    """FLUX: a transformer that matches a flow, and two text encoders."""
    import diffusers
    import transformers as hf

    transformer = diffusers.FluxTransformer2DModel(
        in_channels=4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=_CROSS,
        pooled_projection_dim=_CROSS,
        axes_dims_rope=(4, 4, 8),
    )
    second = _tokenizer()
    encoder = hf.T5EncoderModel(
        hf.T5Config(d_model=_CROSS, d_kv=8, d_ff=64, num_layers=1, num_heads=4, vocab_size=len(second))
    )
    tokenizer = _tokenizer()
    return diffusers.FluxPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=_vae(latent_channels=1, shift_factor=0.1, scaling_factor=0.3),
        text_encoder=_text_encoder(tokenizer),
        tokenizer=tokenizer,
        text_encoder_2=encoder,
        tokenizer_2=second,
        transformer=transformer,
    )


PIPELINES: dict[str, Callable[..., Any]] = {made.__name__: made for made in (stable_diffusion, pix2pix, flux)}


def _stable_parts(scheduler: str, *, channels: int) -> dict[str, Any]:
    import diffusers

    tokenizer = _tokenizer()
    unet = diffusers.UNet2DConditionModel(
        sample_size=SIZE // 2,
        in_channels=channels,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=_CROSS,
        attention_head_dim=8,
    )
    made_by = getattr(diffusers, scheduler)
    told = {"steps_offset": 1, "clip_sample": False} if scheduler == "DDIMScheduler" else {}
    return {
        "vae": _vae(),
        "text_encoder": _text_encoder(tokenizer),
        "tokenizer": tokenizer,
        "unet": unet,
        "scheduler": made_by(num_train_timesteps=100, **told),
        "safety_checker": None,
        "feature_extractor": None,
        "requires_safety_checker": False,
    }


def _vae(latent_channels: int = 4, **settings: Any) -> Any:
    import diffusers

    return diffusers.AutoencoderKL(
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=latent_channels,
        sample_size=SIZE,
        **settings,
    )


def _tokenizer() -> Any:
    tokenizer = make_tokenizer(adds_bos=True)
    tokenizer.model_max_length = _TOKENS
    tokenizer.padding_side = "right"
    return tokenizer


def _text_encoder(tokenizer: Any) -> Any:
    import transformers as hf

    config = hf.CLIPTextConfig(
        hidden_size=_CROSS,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        vocab_size=len(tokenizer),
        max_position_embeddings=_TOKENS,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return hf.CLIPTextModel(config)


def _widen(network: Any) -> None:
    """Draw the matrices of attention and embedding so wide that prompts differ in what they draw."""
    import torch

    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0.0, 0.2)
