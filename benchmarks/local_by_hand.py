"""A LLaVA of a size that can be timed, and hand-written code for it, with which Polymeter's speed is compared.

256 image tokens and 33 text tokens; random weights, large enough that a forward pass takes tens of milliseconds, and
small enough that the cost of Python still shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

SIDE = 224
PROMPT = "<s>USER: <image>{}ASSISTANT:"
_PATCH = 14


def make_llava(folder: Path, *, seed: int = 0, wide: float = 1.0) -> Path:
    """A LLaVA whose forward pass over 289 tokens takes tens of milliseconds on two cores; float32, 30 M parameters.

    Args:
        folder: Where to.
        seed: Of the weights.
        wide: What the embeddings of tokens are multiplied with. With a large number each token leads to another, where
            greedy answers would else repeat the same few.
    """
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    from tests.helpers.checkpoints import CHAT_TEMPLATE, make_tokenizer

    tokenizer = make_tokenizer("<image>", adds_bos=True)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    vision = CLIPVisionConfig(
        hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=4, image_size=SIDE,
        patch_size=_PATCH, projection_dim=256,
    )  # fmt: skip
    text = LlamaConfig(
        hidden_size=512, intermediate_size=1408, num_hidden_layers=6, num_attention_heads=8, vocab_size=10_000,
        max_position_embeddings=1024, **ids,
    )  # fmt: skip
    torch.manual_seed(seed)
    network = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=vision,
            text_config=text,
            image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
            image_seq_length=(SIDE // _PATCH) ** 2,
            **ids,
        )
    )
    network.get_input_embeddings().weight.data.mul_(wide)
    network.generation_config.eos_token_id = None  # answers have the length that is asked for
    network.save_pretrained(folder)
    images = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    template = CHAT_TEMPLATE.replace("IMAGE", "<image>").replace("ASSISTANT: {%", "ASSISTANT:{%")
    LlavaProcessor(images, tokenizer, _PATCH, "default", template, num_additional_image_tokens=1).save_pretrained(
        folder
    )
    return folder


class ByHand:
    """What somebody would write for this one model: no templates, no merged tokens, no handling of errors.

    Args:
        folder: The checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        from transformers import AutoProcessor, LlavaForConditionalGeneration

        self.processor = AutoProcessor.from_pretrained(folder)
        self.processor.tokenizer.padding_side = "left"
        self.network = LlavaForConditionalGeneration.from_pretrained(folder).eval()

    def encode(self, texts: Sequence[str], images: Sequence[Any]) -> dict[str, Any]:
        """The tensors of prompts with one image each; the texts begin with ``<s>``."""
        given = {"text": list(texts), "images": list(images), "return_tensors": "pt", "padding": True}
        return dict(self.processor(**given, add_special_tokens=False))

    def one_forward_per_choice(self, text: str, image: Any, choices: Sequence[str]) -> list[float]:
        """The plain way: context and choice through the whole network, logits at every token, one choice at a time."""
        context = self.encode([text], [image])
        scores = []
        for choice in choices:
            tokens = self._tokens(choice)
            logits = self._run({**context, **self._longer(context, tokens)}).logits[0]
            scores.append(_sum(logits[-len(tokens[0]) - 1 : -1], tokens[0]))
        return scores

    def shared_prefix(
        self, texts: Sequence[str], images: Sequence[Any], choices: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        """Each prompt once, then all choices on its keys and values; all questions have the same number of choices."""
        import torch

        context = self.encode(texts, images)
        n_choices = len(choices[0])
        positions = (context["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        first = self._run({**context, "position_ids": positions, "use_cache": True, "logits_to_keep": 1})
        cache, start = first.past_key_values, first.logits[:, -1]
        cache.batch_repeat_interleave(n_choices)
        tails = [self._tokens(choice)[0] for row in choices for choice in row]
        width = max(len(tail) for tail in tails)
        fed = torch.zeros(len(tails), width, dtype=torch.long)
        mask = torch.zeros(len(tails), width, dtype=torch.long)
        for row, tail in enumerate(tails):
            fed[row, : len(tail)], mask[row, : len(tail)] = tail, 1
        before = context["attention_mask"].repeat_interleave(n_choices, 0)
        positions = before.sum(-1, keepdim=True) + torch.arange(width - 1)
        given = {"input_ids": fed[:, :-1], "attention_mask": torch.cat([before, mask[:, :-1]], 1)}
        logits = self._run({**given, "position_ids": positions, "past_key_values": cache}).logits
        logits = torch.cat([start.repeat_interleave(n_choices, 0)[:, None], logits], 1).log_softmax(-1)
        scores = (logits.gather(-1, fed[..., None])[..., 0] * mask).sum(-1).tolist()
        return [scores[row : row + n_choices] for row in range(0, len(scores), n_choices)]

    def generate(
        self, texts: Sequence[str], images: Sequence[Any], n_tokens: int, ends: Sequence[int] = ()
    ) -> list[str]:
        """A greedy loop over a growing cache; it goes on until all answers have ended."""
        import torch

        given: dict[str, Any] = self.encode(texts, images) | {"logits_to_keep": 1, "use_cache": True}
        mask, made, position = given["attention_mask"], [], given["attention_mask"].sum(-1, keepdim=True)
        given["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        has_ended, ending = torch.zeros(len(mask), 1, dtype=torch.bool), torch.tensor(ends, dtype=torch.long)
        while len(made) < n_tokens and not has_ended.all():
            output = self._run(given)
            made.append(output.logits[:, -1].argmax(-1, keepdim=True))
            has_ended |= torch.isin(made[-1], ending)
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)
            given = {"input_ids": made[-1], "attention_mask": mask, "past_key_values": output.past_key_values}
            given["position_ids"] = position
            position = position + 1
        rows = [row[: _length(row, ends)] for row in torch.cat(made, 1).tolist()]
        return list(self.processor.batch_decode(rows, skip_special_tokens=True))

    def _run(self, given: dict[str, Any]) -> Any:
        import torch

        with torch.inference_mode():
            return self.network(**given)

    def _tokens(self, text: str) -> Any:
        return self.processor.tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]

    def _longer(self, context: dict[str, Any], tokens: Any) -> dict[str, Any]:
        import torch

        return {
            "input_ids": torch.cat([context["input_ids"], tokens], 1),
            "attention_mask": torch.ones(1, context["input_ids"].shape[1] + tokens.shape[1], dtype=torch.long),
        }


def _length(tokens: Sequence[int], ends: Sequence[int]) -> int:
    return next((place + 1 for place, token in enumerate(tokens) if token in ends), len(tokens))


def _sum(logits: Any, tokens: Any) -> float:
    return float(logits.log_softmax(-1).gather(1, tokens[:, None]).sum())
