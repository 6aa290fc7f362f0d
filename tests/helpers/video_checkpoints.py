"""Small checkpoints of architectures that get videos whole, with random weights. Without torchvision, which the video
processors of Transformers need, another one takes their place; the rest of the processor is theirs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.checkpoints import (
    HAS_TORCHVISION,
    TEXT,
    VISION,
    VOCABULARY,
    audio_config,
    ids_of,
    images_of,
    internvl,
    llama_config,
    make_checkpoint,
    make_tokenizer,
    qwen2_5_vl,
    qwen3_vl,
    qwen_ids,
    qwen_template,
    qwen_text,
    qwen_tokenizer,
    template_with,
    videos_of,
)
from tests.helpers.plain_videos import PlainVideos

_SIZES = {"patch_size": 8, "size": {"shortest_edge": 16 * 16, "longest_edge": 64 * 64}}
_LLAVA_SIZES = {"size": {"shortest_edge": 28}, "crop_size": {"height": 28, "width": 28}}
_QWEN_VISION = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "patch_size": 8}


def qwen2_vl() -> tuple[Any, Any]:
    """Qwen2-VL: positions in three dimensions, and no times."""
    import transformers as hf

    tokenizer = qwen_tokenizer()
    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 8}
    config = hf.Qwen2VLConfig(vision_config=vision, text_config=qwen_text([2, 1, 1]), **qwen_ids(tokenizer))
    processor = hf.Qwen2VLProcessor(
        images_of("Qwen2VLImageProcessor", **_SIZES),
        tokenizer,
        videos_of("Qwen2VLVideoProcessor", PlainVideos(), **_SIZES),
        chat_template=qwen_template(),
    )
    return hf.Qwen2VLForConditionalGeneration(config), processor


def llava_onevision() -> tuple[Any, Any]:
    """LLaVA-OneVision: SigLIP, one size for all frames, whose tokens are pooled."""
    import transformers as hf

    tokenizer = make_tokenizer("<image>", "<video>")
    pinpoints = [[32, 32], [32, 64], [64, 32], [64, 64]]
    config = hf.LlavaOnevisionConfig(
        vision_config={"model_type": "siglip_vision_model", **VISION, "image_size": 32, "patch_size": 8},
        text_config={"model_type": "qwen2", **TEXT, "num_key_value_heads": 2, "vocab_size": VOCABULARY},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
        **ids_of(tokenizer),
    )
    size = {"height": 32, "width": 32}
    processor = hf.LlavaOnevisionProcessor(
        images_of("LlavaOnevisionImageProcessor", size=size, image_grid_pinpoints=pinpoints),
        tokenizer,
        videos_of("LlavaOnevisionVideoProcessor", PlainVideos(False, 32), size=size),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=template_with(IMAGE="<image>\n", VIDEO="<video>\n"),
    )
    return hf.LlavaOnevisionForConditionalGeneration(config), processor


def llava_next_video() -> tuple[Any, Any]:
    """LLaVA-NeXT-Video: CLIP, frames cropped to one size, pooled."""
    import transformers as hf

    tokenizer = make_tokenizer("<image>", "<video>", adds_bos=True)
    pinpoints = [[28, 56], [56, 28], [56, 56]]
    config = hf.LlavaNextVideoConfig(
        vision_config=hf.CLIPVisionConfig(**VISION, image_size=28, patch_size=7, projection_dim=32),
        text_config=llama_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
        **ids_of(tokenizer),
    )
    processor = hf.LlavaNextVideoProcessor(
        videos_of("LlavaNextVideoVideoProcessor", PlainVideos(False, 28), **_LLAVA_SIZES),
        images_of("LlavaNextImageProcessor", **_LLAVA_SIZES, image_grid_pinpoints=pinpoints),
        tokenizer,
        chat_template=template_with(IMAGE="<image>\n", VIDEO="<video>\n"),
        patch_size=7,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )
    return hf.LlavaNextVideoForConditionalGeneration(config), processor


def video_llava() -> tuple[Any, Any]:
    """Video-LLaVA: a tower of its own for videos, always of eight frames."""
    import transformers as hf

    tokenizer = make_tokenizer("<image>", "<video>", adds_bos=True)
    config = hf.VideoLlavaConfig(
        vision_config=hf.CLIPVisionConfig(**VISION, image_size=28, patch_size=14, projection_dim=32),
        text_config=llama_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_seq_length=4,
        video_seq_length=40,
        **ids_of(tokenizer),
    )
    processor = hf.VideoLlavaProcessor(
        hf.VideoLlavaImageProcessor(**_LLAVA_SIZES),
        videos_of("VideoLlavaVideoProcessor", PlainVideos(False, 28), **_LLAVA_SIZES),
        tokenizer,
        patch_size=14,
        chat_template=template_with(IMAGE="<image>\n", VIDEO="<video>\n"),
    )
    return hf.VideoLlavaForConditionalGeneration(config), processor


def smolvlm() -> tuple[Any, Any]:
    """SmolVLM: the times of frames in the text; its configuration names no token for videos. It needs num2words."""
    import transformers as hf

    special = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>", "<video>"]
    tokenizer = make_tokenizer(*special)
    config = hf.SmolVLMConfig(
        vision_config={**VISION, "image_size": 32, "patch_size": 8},
        text_config=llama_config(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        **ids_of(tokenizer),
    )
    sizes = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    processor = hf.SmolVLMProcessor(
        images_of("SmolVLMImageProcessor", **sizes),
        tokenizer,
        videos_of("SmolVLMVideoProcessor", PlainVideos(False, 32, "pixel_values"), **sizes, num_frames=64, fps=1),
        image_seq_len=4,
        chat_template=template_with(IMAGE="<image>", VIDEO="<video>"),
    )
    return hf.SmolVLMForConditionalGeneration(config), processor


def qwen2_5_omni() -> tuple[Any, Any]:
    """The part of Qwen2.5-Omni that writes text: images, sounds, and videos with their sound between the frames."""
    import transformers as hf

    tokenizer = _omni_tokenizer()
    config = hf.Qwen2_5OmniThinkerConfig(
        audio_config={**audio_config("qwen2_5_omni_audio_encoder"), "output_dim": 32, "n_window": 25},
        vision_config={**_QWEN_VISION, "out_hidden_size": 32, "window_size": 32, "fullatt_block_indexes": [1]},
        text_config=qwen_text([2, 1, 1]),
        **_omni_ids(tokenizer),
    )
    processor = hf.Qwen2_5OmniProcessor(
        images_of("Qwen2VLImageProcessor", **_SIZES),
        videos_of("Qwen2VLVideoProcessor", PlainVideos(), **_SIZES),
        hf.WhisperFeatureExtractor(feature_size=16, chunk_length=8),
        tokenizer,
        chat_template=_omni_template(),
    )
    return hf.Qwen2_5OmniThinkerForConditionalGeneration(config), processor


def qwen3_omni() -> tuple[Any, Any]:
    """The part of Qwen3-Omni that writes text, with experts."""
    import transformers as hf

    tokenizer = _omni_tokenizer()
    text = {**qwen_text([2, 1, 1]), "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2}
    audio = {**audio_config("qwen3_omni_moe_audio_encoder"), "output_dim": 32, "downsample_hidden_size": 8}
    config = hf.Qwen3OmniMoeThinkerConfig(
        audio_config=audio,
        vision_config={
            **_QWEN_VISION,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        text_config={**text, "moe_intermediate_size": 32},
        position_id_per_seconds=13,
        **_omni_ids(tokenizer),
    )
    processor = hf.Qwen3OmniMoeProcessor(
        images_of("Qwen2VLImageProcessor", **_SIZES),
        videos_of("Qwen2VLVideoProcessor", PlainVideos(), **_SIZES),
        hf.WhisperFeatureExtractor(feature_size=16, chunk_length=8),
        tokenizer,
        chat_template=_omni_template(),
    )
    return hf.Qwen3OmniMoeThinkerForConditionalGeneration(config), processor


VIDEO_ARCHITECTURES = {
    made.__name__: made
    for made in (
        qwen2_vl,
        qwen2_5_vl,
        qwen3_vl,
        internvl,
        llava_onevision,
        llava_next_video,
        video_llava,
        smolvlm,
        qwen2_5_omni,
        qwen3_omni,
    )
}


def write_video_checkpoint(architecture: str, folder: Path) -> Path:
    """Write a checkpoint, by a name of ``VIDEO_ARCHITECTURES``."""
    if architecture == "smolvlm":
        pytest.importorskip("num2words")
    return make_checkpoint(lambda: _made(architecture), folder)


def read_processor_as_made(monkeypatch: pytest.MonkeyPatch, architecture: str) -> None:
    """Without torchvision, which Transformers needs to read a video processor, have it return one made anew."""
    if not HAS_TORCHVISION:
        monkeypatch.setattr("transformers.AutoProcessor.from_pretrained", lambda *_, **__: _made(architecture)[1])


def _made(architecture: str) -> tuple[Any, Any]:
    with pytest.MonkeyPatch.context() as patched:
        if not HAS_TORCHVISION:  # which Transformers needs even to compare the class of a video processor
            patched.setattr("transformers.ProcessorMixin.check_argument_for_proper_class", lambda *_: None)
        return VIDEO_ARCHITECTURES[architecture]()


def _omni_tokenizer() -> Any:
    return make_tokenizer(
        "<|im_start|>",
        image_token="<|IMAGE|>",
        audio_token="<|AUDIO|>",
        video_token="<|VIDEO|>",
        vision_bos_token="<|vision_bos|>",
        vision_eos_token="<|vision_eos|>",
        audio_bos_token="<|audio_bos|>",
        audio_eos_token="<|audio_eos|>",
    )


def _omni_template() -> str:
    return template_with(
        IMAGE="<|vision_bos|><|IMAGE|><|vision_eos|>",
        VIDEO="<|vision_bos|><|VIDEO|><|vision_eos|>",
        AUDIO="<|audio_bos|><|AUDIO|><|audio_eos|>",
    )


def _omni_ids(tokenizer: Any) -> dict[str, int]:
    places = {
        "image_token_id": "<|IMAGE|>",
        "video_token_id": "<|VIDEO|>",
        "audio_token_id": "<|AUDIO|>",
        "vision_start_token_id": "<|vision_bos|>",
        "vision_end_token_id": "<|vision_eos|>",
        "audio_start_token_id": "<|audio_bos|>",
        "audio_end_token_id": "<|audio_eos|>",
        "user_token_id": "<|im_start|>",
    }
    return {name: tokenizer.convert_tokens_to_ids(token) for name, token in places.items()} | ids_of(tokenizer)
