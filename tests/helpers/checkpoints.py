"""Small checkpoints of real architectures with random weights: what `transformers` would download, made in a second.

Each is a folder that the Auto classes load: weights, configuration, tokenizer, image or sound processor, chat template.
Weights are drawn with a fixed seed and are wider than usual, so that answers depend on every token of the prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.helpers.plain_videos import PlainVideos

HAS_TORCHVISION = find_spec("torchvision") is not None
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | upper }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% elif part['type'] == 'video' %}VIDEO{% elif part['type'] == 'audio' %}"
    "AUDIO{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT: {% endif %}"
)
_CORPUS = (
    "What is in the picture? Answer with the option's letter from the given choices directly. "
    "The colour of the square is red, green, blue or yellow; how many circles are there: one, two, three or four? "
    "Question: which shape is left of the triangle? Choices: A. square B. circle C. star D. none. Answer: the circle. "
    "Listen to the sound and say what you hear. Describe the video in one sentence, please. USER: ASSISTANT: SYSTEM: "
)
TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
VOCABULARY = 480


def make_checkpoint(
    architecture: str | Callable[..., tuple[Any, Any]], folder: Path, *, seed: int = 0, **options: Any
) -> Path:
    """Write a checkpoint.

    Args:
        architecture: A name of ``ARCHITECTURES``, or a function like theirs.
        folder: Where to; made if need be.
        seed: Of the weights.
        options: What its function takes (``has_template=False`` where a model may be without one).

    Returns:
        The folder.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = ARCHITECTURES[architecture] if isinstance(architecture, str) else architecture
        network, processor = made(**options)
        _widen(network)
    network.generation_config.pad_token_id = getattr(processor, "tokenizer", processor).pad_token_id
    network.generation_config.eos_token_id = getattr(processor, "tokenizer", processor).eos_token_id
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def make_tokenizer(*special: str, template: str | None = None, adds_bos: bool = False, **named: str) -> Any:
    """A byte-level BPE tokenizer of 480 tokens at most, trained on a few sentences.

    Args:
        special: Further special tokens.
        template: Chat template.
        adds_bos: Whether it puts ``<s>`` before a text by itself.
        named: Special tokens with a name, such as ``image_token``.
    """
    import transformers as hf
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokens = ["<pad>", "<s>", "</s>", *special, *(token for token in named.values() if token not in special)]
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=tokens, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator([_CORPUS], trainer)
    if adds_bos:
        inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    made = hf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
        extra_special_tokens=named,
    )
    made.chat_template = template
    return made


def llama(*, has_template: bool = True, adds_bos: bool = True, positions: int = 512) -> tuple[Any, Any]:
    """A causal LM; without a template a completion model."""
    import transformers as hf

    tokenizer = make_tokenizer(template=CHAT_TEMPLATE if has_template else None, adds_bos=adds_bos)
    config = hf.LlamaConfig(
        **TEXT, num_key_value_heads=2, vocab_size=VOCABULARY, max_position_embeddings=positions, **ids_of(tokenizer)
    )
    return hf.LlamaForCausalLM(config), tokenizer


def qwen2(*, has_template: bool = True) -> tuple[Any, Any]:
    """A causal LM whose tokenizer adds nothing."""
    import transformers as hf

    tokenizer = make_tokenizer(template=CHAT_TEMPLATE if has_template else None)
    config = hf.Qwen2Config(**TEXT, num_key_value_heads=2, vocab_size=VOCABULARY, **ids_of(tokenizer))
    return hf.Qwen2ForCausalLM(config), tokenizer


def llava(*, has_template: bool = True) -> tuple[Any, Any]:
    """LLaVA 1.5: CLIP, one size for every image, four tokens each."""
    import transformers as hf

    tokenizer = make_tokenizer("<image>", adds_bos=True)
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**VISION, image_size=28, patch_size=14, projection_dim=32),
        text_config=llama_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=4,
        **ids_of(tokenizer),
    )
    size = {"height": 28, "width": 28}
    images = hf.CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size=size)
    processor = hf.LlavaProcessor(
        images, tokenizer, 14, "default", _template("<image>", has_template), num_additional_image_tokens=1
    )
    return hf.LlavaForConditionalGeneration(config), processor


def llava_next(*, has_template: bool = True) -> tuple[Any, Any]:
    """LLaVA-NeXT: CLIP on tiles, so that the number of tokens depends on an image's shape."""
    import transformers as hf

    tokenizer = make_tokenizer("<image>", adds_bos=True)
    pinpoints = [[28, 56], [56, 28], [56, 56]]
    config = hf.LlavaNextConfig(
        vision_config=hf.CLIPVisionConfig(**VISION, image_size=28, patch_size=14, projection_dim=32),
        text_config=llama_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=pinpoints,
        **ids_of(tokenizer),
    )
    images = hf.LlavaNextImageProcessorPil(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}, image_grid_pinpoints=pinpoints
    )
    processor = hf.LlavaNextProcessor(
        images, tokenizer, 14, "default", _template("<image>", has_template), num_additional_image_tokens=1
    )
    return hf.LlavaNextForConditionalGeneration(config), processor


def idefics3() -> tuple[Any, Any]:
    """Idefics3: images cut into pieces, named in the text by row and column."""
    import transformers as hf

    special = ["<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>"]
    tokenizer = make_tokenizer(*special)
    config = hf.Idefics3Config(
        vision_config={**VISION, "image_size": 32, "patch_size": 8},
        text_config=llama_config(tokenizer),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        **ids_of(tokenizer),
    )
    images = hf.Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    processor = hf.Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=_template("<image>"))
    return hf.Idefics3ForConditionalGeneration(config), processor


def gemma3() -> tuple[Any, Any]:
    """Gemma 3: sliding windows, and attention in both directions within an image."""
    import transformers as hf

    named = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    tokenizer = make_tokenizer(adds_bos=True, **named)
    text = {**TEXT, "num_hidden_layers": 6, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": VOCABULARY}
    config = hf.Gemma3Config(
        vision_config={**VISION, "image_size": 32, "patch_size": 8, "vision_use_head": False},
        text_config={**text, "sliding_window": 16, "max_position_embeddings": 1024, **ids_of(tokenizer)},
        mm_tokens_per_image=4,
        image_token_index=tokenizer.image_token_id,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
        **ids_of(tokenizer),
    )
    images = hf.Gemma3ImageProcessorPil(size={"height": 32, "width": 32})
    processor = hf.Gemma3Processor(images, tokenizer, _template("<start_of_image>"), image_seq_length=4)
    return hf.Gemma3ForConditionalGeneration(config), processor


def pixtral() -> tuple[Any, Any]:
    """Pixtral in the LLaVA architecture: images in their own shapes. Its processor needs torchvision."""
    import transformers as hf

    tokenizer = make_tokenizer("[IMG]", "[IMG_BREAK]", "[IMG_END]", adds_bos=True)
    config = hf.LlavaConfig(
        vision_config=hf.PixtralVisionConfig(**VISION, image_size=64, patch_size=8),
        text_config=llama_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        **ids_of(tokenizer),
    )
    images = hf.PixtralImageProcessor(size={"longest_edge": 48}, patch_size={"height": 8, "width": 8})
    processor = hf.PixtralProcessor(images, tokenizer, patch_size=8, chat_template=_template("[IMG]"))
    return hf.LlavaForConditionalGeneration(config), processor


def qwen2_audio() -> tuple[Any, Any]:
    """Qwen2-Audio: a Whisper encoder whose output takes the place of tokens."""
    import transformers as hf

    tokenizer = make_tokenizer("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>")
    config = hf.Qwen2AudioConfig(
        audio_config=audio_config("qwen2_audio_encoder"),
        text_config={"model_type": "qwen2", **TEXT, "num_key_value_heads": 2, "vocab_size": VOCABULARY},
        audio_token_index=tokenizer.convert_tokens_to_ids("<|AUDIO|>"),
        **ids_of(tokenizer),
    )
    sounds = hf.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
    template = _template("<|AUDIO|>", medium="AUDIO")
    processor = hf.Qwen2AudioProcessor(sounds, tokenizer, chat_template=template)
    return hf.Qwen2AudioForConditionalGeneration(config), processor


def whisper() -> tuple[Any, Any]:
    """Whisper: a sound in, its transcript out, and no chat."""
    import transformers as hf

    tokenizer = make_tokenizer("<|startoftranscript|>")
    start = tokenizer.convert_tokens_to_ids("<|startoftranscript|>")
    config = hf.WhisperConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=50,
        max_target_positions=64,
        vocab_size=VOCABULARY,
        decoder_start_token_id=start,
        begin_suppress_tokens=None,
        **ids_of(tokenizer),
    )
    network = hf.WhisperForConditionalGeneration(config)
    network.generation_config.decoder_start_token_id = start
    return network, hf.WhisperProcessor(hf.WhisperFeatureExtractor(feature_size=16, chunk_length=1), tokenizer)


def qwen2_5_vl() -> tuple[Any, Any]:
    """Qwen2.5-VL: images in their own shapes, positions in three dimensions. Its processor needs torchvision."""
    import transformers as hf

    from tests.helpers.plain_videos import PlainVideos

    tokenizer = qwen_tokenizer()
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 32}
    config = hf.Qwen2_5_VLConfig(
        vision_config={**vision, "patch_size": 8, "window_size": 32, "fullatt_block_indexes": [1]},
        text_config=qwen_text([2, 1, 1]),
        **qwen_ids(tokenizer),
    )
    sizes = {"patch_size": 8, "size": {"shortest_edge": 16 * 16, "longest_edge": 64 * 64}}
    processor = hf.Qwen2_5_VLProcessor(
        images_of("Qwen2VLImageProcessor", **sizes),
        tokenizer,
        videos_of("Qwen2VLVideoProcessor", PlainVideos(), **sizes),
        chat_template=qwen_template(),
    )
    return hf.Qwen2_5_VLForConditionalGeneration(config), processor


def qwen3_vl() -> tuple[Any, Any]:
    """Qwen3-VL: features of several depths, and time stamps between frames. Its processor needs torchvision."""
    import transformers as hf

    from tests.helpers.plain_videos import PlainVideos

    tokenizer = qwen_tokenizer()
    vision = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 32}
    config = hf.Qwen3VLConfig(
        vision_config={**vision, "patch_size": 8, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        text_config={**qwen_text([2, 1, 1]), "head_dim": 8},
        **qwen_ids(tokenizer),
    )
    sizes = {"patch_size": 8, "size": {"shortest_edge": 16 * 16, "longest_edge": 64 * 64}}
    processor = hf.Qwen3VLProcessor(
        images_of("Qwen2VLImageProcessor", **sizes),
        tokenizer,
        videos_of("Qwen3VLVideoProcessor", PlainVideos(), **sizes),
        chat_template=qwen_template(),
    )
    return hf.Qwen3VLForConditionalGeneration(config), processor


def internvl() -> tuple[Any, Any]:
    """InternVL in the format of Transformers: tiles of one size. Its processor needs torchvision."""
    import transformers as hf

    from tests.helpers.plain_videos import PlainVideos

    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = make_tokenizer(**named)
    config = hf.InternVLConfig(
        vision_config={**VISION, "image_size": [32, 32], "patch_size": [8, 8]},
        text_config={"model_type": "qwen2", **TEXT, "num_key_value_heads": 2, "vocab_size": VOCABULARY},
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
        **ids_of(tokenizer),
    )
    size = {"height": 32, "width": 32}
    images = images_of("GotOcr2ImageProcessor", size=size, crop_to_patches=True, max_patches=4)
    processor = hf.InternVLProcessor(
        images,
        tokenizer,
        videos_of("InternVLVideoProcessor", PlainVideos(False, 32), size=size),
        image_seq_length=4,
        chat_template=_template("<IMG_CONTEXT>\n").replace("VIDEO", "<video>\n"),
    )
    return hf.InternVLForConditionalGeneration(config), processor


ARCHITECTURES: dict[str, Callable[..., tuple[Any, Any]]] = {
    made.__name__: made
    for made in (
        llama,
        qwen2,
        llava,
        llava_next,
        idefics3,
        gemma3,
        pixtral,
        qwen2_audio,
        whisper,
        qwen2_5_vl,
        qwen3_vl,
        internvl,
    )
}
NEED_TORCHVISION = ("pixtral", "qwen2_5_vl", "qwen3_vl", "internvl")


def images_of(name: str, **settings: Any) -> Any:
    """The image processor of a class that needs torchvision, or the one that does the same without it."""
    import transformers as hf

    return getattr(hf, name if HAS_TORCHVISION else f"{name}Pil")(**settings)


def videos_of(name: str, plain: PlainVideos, **settings: Any) -> Any:
    """The video processor of a class that needs torchvision, or what takes its place without it."""
    import transformers as hf

    return getattr(hf, name)(**settings) if HAS_TORCHVISION else plain


def template_with(**tokens: str) -> str:
    """The chat template, with tokens in place of the words for media."""
    template = CHAT_TEMPLATE
    for word, token in tokens.items():
        template = template.replace(word, token)
    return template


def _template(token: str, is_wanted: bool = True, *, medium: str = "IMAGE") -> str | None:
    return template_with(**{medium: token}) if is_wanted else None


def ids_of(tokenizer: Any) -> dict[str, int]:
    return {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def llama_config(tokenizer: Any) -> Any:
    import transformers as hf

    return hf.LlamaConfig(
        **TEXT, num_key_value_heads=2, vocab_size=VOCABULARY, max_position_embeddings=1024, **ids_of(tokenizer)
    )


def audio_config(model_type: str) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "d_model": 32,
        "encoder_layers": 2,
        "encoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "num_mel_bins": 16,
        "max_source_positions": 50,
    }


def qwen_tokenizer() -> Any:
    return make_tokenizer(
        "<|vision_start|>", "<|vision_end|>", image_token="<|image_pad|>", video_token="<|video_pad|>"
    )


def qwen_template() -> str:
    around = "<|vision_start|>{}<|vision_end|>"
    return CHAT_TEMPLATE.replace("IMAGE", around.format("<|image_pad|>")).replace(
        "VIDEO", around.format("<|video_pad|>")
    )


def qwen_text(section: list[int]) -> dict[str, Any]:
    rope = {"rope_type": "default", "mrope_section": section, "rope_theta": 10000.0}
    return {**TEXT, "num_key_value_heads": 2, "vocab_size": VOCABULARY, "rope_parameters": rope}


def qwen_ids(tokenizer: Any) -> dict[str, int]:
    places = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {name: tokenizer.convert_tokens_to_ids(token) for name, token in places.items()} | ids_of(tokenizer)


def _widen(network: Any) -> None:
    """Draw matrices so wide that the tiny network's answers differ from prompt to prompt."""
    import torch

    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.15)
