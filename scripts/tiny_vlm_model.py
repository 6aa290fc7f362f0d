"""The tiny vision-language model before it has learnt anything: tokenizer, processor and configuration.

It is the LLaVA of Transformers: a CLIP vision tower, a projector of two layers, and a Llama, only smaller.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tiny_vlm_questions import BY_LETTER, FOLLOW_UP, LETTERS, ONE_WORD
from tiny_vlm_scenes import COLOURS, SHAPES, SIDES, SIZE

PATCH = 8
WIDTH = 128
VOCABULARY = 1024
"""Most tokens; the corpus gives fewer."""

PAD, END, IMAGE = "<pad>", "<|end|>", "<image>"
ROLES = ("<|system|>", "<|user|>", "<|assistant|>")

# An answer begins with a space, so that it has the same tokens as a choice after a space.
CHAT_TEMPLATE = (
    "{%- for message in messages -%}{{- '<|' + message['role'] + '|>' -}}"
    "{%- set content = message['content'] -%}"
    "{%- if content is string -%}{%- set content = [{'type': 'text', 'text': content}] -%}{%- endif -%}"
    "{%- for part in content -%}"
    "{%- if part['type'] == 'image' -%}{{- '<image>' -}}"
    "{%- elif message['role'] == 'assistant' -%}{{- ' ' + part['text'] | trim -}}"
    "{%- else -%}{{- part['text'] -}}{%- endif -%}"
    "{%- endfor -%}{{- '<|end|>' -}}{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)


def make_tokenizer() -> Any:
    """Byte pairs over the words of the questions. Every byte has a token of its own, so no text is unknown to it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bytes_of_words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_of_words])
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        special_tokens=[PAD, END, IMAGE, *ROLES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(_corpus(), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[IMAGE, *ROLES],
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
    )


def _corpus() -> list[str]:
    questions = ["How many shapes are there?", "Which digit is this?", "What shape is this?", FOLLOW_UP, "yes no"]
    for shape, (colour, side) in itertools.product((*SHAPES, "digit"), itertools.product(COLOURS, SIDES)):
        questions += [f"What colour is the {shape}?", f"Which shape is {colour}?", f"Which shape is {side}?"]
        questions += [f"Is the {shape} {colour}?", f"Is there a {shape}?", "Is this the digit 1?"]
        options = "".join(f"\n{letter}. {colour}" for letter in LETTERS)
        questions += [f" {shape}", f" {colour}", ONE_WORD, BY_LETTER, options, *(f" {letter}" for letter in LETTERS)]
    return questions + questions


def make_processor() -> Any:
    """The tokenizer and the image processor: 64 × 64 pixels, values from -1 to 1, one token for each patch."""
    from transformers import CLIPImageProcessorPil, LlavaProcessor

    images = CLIPImageProcessorPil(
        size={"height": SIZE, "width": SIZE},
        crop_size={"height": SIZE, "width": SIZE},
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return LlavaProcessor(
        images,
        make_tokenizer(),
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        image_token=IMAGE,
        chat_template=CHAT_TEMPLATE,
    )


def make_model(tokenizer: Any) -> Any:
    """The model with random weights, drawn from torch's generator."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    vision = CLIPVisionConfig(
        hidden_size=96,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        image_size=SIZE,
        patch_size=PATCH,
        projection_dim=WIDTH,
    )
    text = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=352,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        initializer_range=0.06,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        image_seq_length=(SIZE // PATCH) ** 2,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        tie_word_embeddings=True,
    )
    return LlavaForConditionalGeneration(config)


def save(model: Any, processor: Any, out: Path) -> None:
    """Write the checkpoint, weights in half precision, in files that Transformers 4.57 reads as well as 5 does."""
    import torch
    from safetensors.torch import load_file, save_file

    out.mkdir(parents=True, exist_ok=True)
    model.config.dtype = torch.float16
    model.save_pretrained(out, state_dict={name: value.half() for name, value in model.state_dict().items()})
    processor.save_pretrained(out)
    weights = out / "model.safetensors"
    # The output layer is the embedding; a copy would only be read twice.
    named = {name: value for name, value in load_file(weights).items() if not name.endswith("lm_head.weight")}
    tower, older_tower = "vision_tower.", "vision_tower.vision_model."
    renamed = {name if older_tower in name else name.replace(tower, older_tower): one for name, one in named.items()}
    save_file(renamed, weights, metadata={"format": "pt"})
    weights.chmod(0o644)
    whole = json.loads((out / "processor_config.json").read_text())
    _write(out / "preprocessor_config.json", whole["image_processor"])
    config = json.loads((out / "tokenizer_config.json").read_text())
    config["additional_special_tokens"] = config.pop("extra_special_tokens", [IMAGE, *ROLES])
    _write(out / "tokenizer_config.json", config | {"tokenizer_class": "PreTrainedTokenizerFast"})


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")
