"""Many questions about one image, which is computed once.

The language model reads the image, and each question goes on from the keys and values of that reading, so it is
answered exactly as if it had been asked alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tiny_vlm_model import IMAGE, PATCH
from tiny_vlm_questions import LETTERS, SCENE_OF_KIND, Turn, ask, dialogue, lettered_turn, open_turn, options
from tiny_vlm_scenes import SIZE, Scene, Thing
from torch import nn

SEGMENTS = {"one": 5, "two": 8, "many": 3, "digit": 5}
"""How many questions or dialogues share an image, by kind of scene."""
N_GROUPS = 3
"""Questions of similar length are computed together, in this many groups, so that there is little padding."""

OPTION_LAYER, LOOK_LAYER, CHOICE_LAYER = 1, 2, 3
"""Layers whose first head gets hints: from an option's word to its letter, to the answer's place in the image, and to
the answer among the options.
"""


@dataclass
class Segment:
    """What follows an image.

    Attributes:
        ids: Tokens.
        labels: The same for answers and their ends, else -100.
        hints: Layer, place of a token, and places of what it should attend to; places count from the prefix's start.
    """

    ids: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    hints: list[tuple[int, int, list[int]]] = field(default_factory=list)


def segments_of(rng: np.random.Generator, scene: Scene, lettered_share: float = 0.5) -> list[tuple[Turn, ...]]:
    """What is asked about an image: open and lettered questions, and dialogues where there are two shapes.

    Args:
        rng: Where its random numbers come from.
        scene: What the image shows.
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

    def loss(
        self, model: Any, pixels: torch.Tensor, packed: list[list[tuple[Turn, ...]]], hint_weight: float = 0.0
    ) -> torch.Tensor:
        """Mean cross-entropy of the answers' tokens, and of some heads' attention.

        Args:
            model: The model.
            pixels: Images, of shape (n, 3, height, width).
            packed: For each image what is asked about it.
            hint_weight: How much it counts that attention goes where the answer is.
        """
        segments = [(self.segment(turns), owner) for owner, several in enumerate(packed) for turns in several]
        segments.sort(key=lambda one: len(one[0].ids))
        read = self._read(model, pixels)
        losses, n_answers = [], 0
        hints: list[torch.Tensor] = []
        for places in np.array_split(np.arange(len(segments)), N_GROUPS):
            group = [segments[place] for place in places]
            ids, labels, mask = self._padded([one for one, _ in group])
            cache = _of_rows(read, [owner for _, owner in group])
            wanted = {"input_ids": ids, "attention_mask": mask, "past_key_values": cache}
            made = model.model(**wanted, output_attentions=hint_weight > 0)
            is_answer = labels[:, 1:] != -100
            logits = model.lm_head(made.last_hidden_state[:, :-1][is_answer]).float()
            losses.append(nn.functional.cross_entropy(logits, labels[:, 1:][is_answer], reduction="sum"))
            n_answers += len(logits)
            if hint_weight > 0:
                hints += self._missed([one for one, _ in group], made.attentions)
        loss = sum(losses[1:], losses[0]) / n_answers
        return loss + hint_weight * torch.cat(hints).mean() if hints else loss

    def segment(self, turns: tuple[Turn, ...]) -> Segment:
        """Tokens and hints of a dialogue."""
        made = Segment()
        n_prefix = len(self.prefix)
        for number, turn in enumerate(turns):
            opening = "<|user|>" if number else ""
            start = n_prefix + len(made.ids)
            asked = self._ids(opening + turn.prompt + "<|end|><|assistant|>")
            answered = self._ids(f" {turn.answer}<|end|>")
            made.ids += asked + answered
            made.labels += [-100] * len(asked) + answered
            last = start + len(asked) - 1
            if turn.thing is not None:
                made.hints.append((LOOK_LAYER, last, self._patches(turn.thing)))
            for letter, places in zip(LETTERS, turn.options, strict=False):
                to_letter, to_word = (start + len(self._ids(turn.prompt[:end])) - 1 for end in places)
                made.hints.append((OPTION_LAYER, to_word, [to_letter]))
                if letter == turn.answer:
                    made.hints.append((CHOICE_LAYER, last, [to_word]))
        return made

    def _patches(self, thing: Thing) -> list[int]:
        """Places of the patches whose middle lies in a thing; of the nearest one if there is none."""
        grid = SIZE // PATCH
        middles = [((place % grid + 0.5) * PATCH, (place // grid + 0.5) * PATCH) for place in range(grid * grid)]
        found = [place for place, middle in enumerate(middles) if thing.covers(*middle)]
        return [place + 1 for place in found or [int(thing.y // PATCH) * grid + int(thing.x // PATCH)]]

    def _missed(self, group: list[Segment], attentions: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
        """For each hint minus the logarithm of the attention that goes where it should, layer by layer."""
        missed = []
        for layer in (OPTION_LAYER, LOOK_LAYER, CHOICE_LAYER):
            hints = [(row, at, keys) for row, one in enumerate(group) for of, at, keys in one.hints if of == layer]
            if not hints:
                continue
            rows = torch.tensor([row for row, _, _ in hints])
            queries = torch.tensor([at for _, at, _ in hints]) - len(self.prefix)
            attention = attentions[layer][rows, 0, queries].float()
            is_wanted = torch.zeros(attention.shape)
            for number, (_, _, keys) in enumerate(hints):
                is_wanted[number, keys] = 1
            missed.append(-(attention * is_wanted).sum(1).clamp_min(1e-6).log())
        return missed

    def _ids(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._known[text]

    def _read(self, model: Any, pixels: torch.Tensor) -> Any:
        """Keys and values of the images."""
        prefix = torch.tensor(self.prefix).expand(len(pixels), -1)
        return model.model(input_ids=prefix, pixel_values=pixels, use_cache=True).past_key_values

    def _padded(self, group: list[Segment]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Ids and labels of shape (rows, length), and the mask of shape (rows, prefix + length)."""
        length = max(len(one.ids) for one in group)
        pad = self._tokenizer.pad_token_id
        rows = torch.tensor([one.ids + [pad] * (length - len(one.ids)) for one in group])
        labels = torch.tensor([one.labels + [-100] * (length - len(one.labels)) for one in group])
        seen = [[1] * (len(self.prefix) + len(one.ids)) + [0] * (length - len(one.ids)) for one in group]
        return rows, labels, torch.tensor(seen)


def _of_rows(cache: Any, owners: list[int]) -> Any:
    """The keys and values of some images, one row for each question."""
    from transformers import DynamicCache

    rows = torch.tensor(owners)
    made = DynamicCache()
    for number, layer in enumerate(cache.layers):
        made.update(layer.keys[rows], layer.values[rows], number)
    return made
