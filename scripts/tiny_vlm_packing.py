"""Many questions about one picture, the picture computed once.

The language model reads the picture, and each question goes on from the keys and values of that reading, so it is
answered exactly as if it had been asked alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tiny_vlm_model import IMAGE, PATCH
from tiny_vlm_questions import SCENE_OF_KIND, Turn, ask, dialogue, lettered_turn, open_turn, options
from tiny_vlm_scenes import SIZE, Scene
from torch import nn

SEGMENTS = {"one": 5, "two": 8, "many": 3, "digit": 5}
"""How many questions or dialogues share a picture, by kind of scene."""
N_GROUPS = 3
"""Questions of like length are computed together, in so many groups, so that little is padding."""

Ids = tuple[list[int], list[int]]


def segments_of(rng: np.random.Generator, scene: Scene, lettered_share: float = 0.5) -> list[tuple[Turn, ...]]:
    """What is asked about a picture: open and lettered questions, and dialogues where there are two shapes.

    Args:
        rng: Where its random numbers come from.
        scene: What the picture shows.
        lettered_share: How many of the questions that can have options have them.
    """
    kinds = [kind for kind, scenes in SCENE_OF_KIND.items() if scene.kind in scenes]
    segments: list[tuple[Turn, ...]] = []
    for number in range(SEGMENTS[scene.kind]):
        if scene.kind == "two" and number == 0:
            segments.append(dialogue(rng, scene))
            continue
        question = ask(rng, scene, kinds[int(rng.integers(len(kinds)))])
        if question.kind != "yes_no" and rng.random() < lettered_share:
            segments.append((lettered_turn(question, options(rng, question)),))
        else:
            segments.append((open_turn(question, has_suffix=bool(rng.random() < 0.8)),))
    return segments


class Packer:
    """Turns questions into tokens, and into a loss.

    Args:
        tokenizer: The model's own.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._known: dict[str, list[int]] = {}
        self._tokenizer = tokenizer
        self.prefix = [*self._ids("<|user|>"), *self._ids(IMAGE) * (SIZE // PATCH) ** 2]

    def loss(self, model: Any, pixels: torch.Tensor, packed: list[list[tuple[Turn, ...]]]) -> torch.Tensor:
        """Mean cross-entropy of the answers' tokens.

        Args:
            model: The model.
            pixels: Pictures, of shape (n, 3, height, width).
            packed: For each picture what is asked about it.
        """
        segments = [(self.segment(turns), owner) for owner, several in enumerate(packed) for turns in several]
        segments.sort(key=lambda one: len(one[0][0]))
        read = self._read(model, pixels)
        losses, n_answers = [], 0
        for places in np.array_split(np.arange(len(segments)), N_GROUPS):
            group = [segments[place] for place in places]
            ids, labels, mask = self._padded([one for one, _ in group])
            cache = _of_rows(read, [owner for _, owner in group])
            states = model.model(input_ids=ids, attention_mask=mask, past_key_values=cache).last_hidden_state
            is_answer = labels[:, 1:] != -100
            logits = model.lm_head(states[:, :-1][is_answer]).float()
            losses.append(nn.functional.cross_entropy(logits, labels[:, 1:][is_answer], reduction="sum"))
            n_answers += len(logits)
        return sum(losses[1:], losses[0]) / n_answers

    def segment(self, turns: tuple[Turn, ...]) -> Ids:
        """Ids behind the prefix, and the labels: only answers and their ends count."""
        ids: list[int] = []
        labels: list[int] = []
        for number, turn in enumerate(turns):
            asked = self._ids(("<|user|>" if number else "") + turn.prompt + "<|end|><|assistant|>")
            answered = self._ids(f" {turn.answer}<|end|>")
            ids += asked + answered
            labels += [-100] * len(asked) + answered
        return ids, labels

    def _ids(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._known[text]

    def _read(self, model: Any, pixels: torch.Tensor) -> Any:
        """Keys and values of the pictures."""
        prefix = torch.tensor(self.prefix).expand(len(pixels), -1)
        return model.model(input_ids=prefix, pixel_values=pixels, use_cache=True).past_key_values

    def _padded(self, group: list[Ids]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ids and labels of shape (rows, length), and the mask of shape (rows, prefix + length)."""
        length = max(len(ids) for ids, _ in group)
        pad = self._tokenizer.pad_token_id
        rows = torch.tensor([ids + [pad] * (length - len(ids)) for ids, _ in group])
        labels = torch.tensor([wanted + [-100] * (length - len(wanted)) for _, wanted in group])
        seen = [[1] * (len(self.prefix) + len(ids)) + [0] * (length - len(ids)) for ids, _ in group]
        return rows, labels, torch.tensor(seen)


def _of_rows(cache: Any, owners: list[int]) -> Any:
    """The keys and values of some pictures, one row for each question."""
    from transformers import DynamicCache

    rows = torch.tensor(owners)
    made = DynamicCache()
    for number, layer in enumerate(cache.layers):
        made.update(layer.keys[rows], layer.values[rows], number)
    return made
