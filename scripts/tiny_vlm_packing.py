"""Many questions about one picture in one row of tokens.

Each question sees the picture and itself, at the positions that it would have alone, so the picture is computed once
for all of them and each is answered as if it had been asked alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tiny_vlm_model import IMAGE, PATCH
from tiny_vlm_questions import SCENE_OF_KIND, Turn, ask, dialogue, lettered_turn, open_turn, options
from tiny_vlm_scenes import SIZE, Scene

SEGMENTS = {"one": 5, "two": 8, "many": 3, "digit": 5}
"""How many questions or dialogues share a picture, by kind of scene."""

Batch = dict[str, torch.Tensor]


def segments_of(rng: np.random.Generator, scene: Scene) -> list[tuple[Turn, ...]]:
    """What is asked about a picture: open and lettered questions, and dialogues where there are two shapes."""
    kinds = [kind for kind, scenes in SCENE_OF_KIND.items() if scene.kind in scenes]
    segments: list[tuple[Turn, ...]] = []
    for number in range(SEGMENTS[scene.kind]):
        if scene.kind == "two" and number == 0:
            segments.append(dialogue(rng, scene))
            continue
        question = ask(rng, scene, kinds[int(rng.integers(len(kinds)))])
        if question.kind != "yes_no" and rng.random() < 0.5:
            segments.append((lettered_turn(question, options(rng, question)),))
        else:
            segments.append((open_turn(question, has_suffix=bool(rng.random() < 0.8)),))
    return segments


class Packer:
    """Lays out pictures and questions as token ids.

    Args:
        tokenizer: The model's own.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._ids: dict[str, list[int]] = {}
        self._tokenizer = tokenizer
        self.prefix = [*self.ids("<|user|>"), *self.ids(IMAGE) * (SIZE // PATCH) ** 2]

    def ids(self, text: str) -> list[int]:
        """The ids of a text, which are remembered."""
        if text not in self._ids:
            self._ids[text] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._ids[text]

    def segment(self, turns: tuple[Turn, ...]) -> tuple[list[int], list[int]]:
        """Ids behind the prefix, and the labels: only answers and their ends count."""
        ids: list[int] = []
        labels: list[int] = []
        for number, turn in enumerate(turns):
            asked = self.ids(("<|user|>" if number else "") + turn.prompt + "<|end|><|assistant|>")
            answered = self.ids(f" {turn.answer}<|end|>")
            ids += asked + answered
            labels += [-100] * len(asked) + answered
        return ids, labels

    def batch(self, packed: list[list[tuple[Turn, ...]]]) -> Batch:
        """Rows of several segments behind one prefix.

        Returns:
            ``input_ids``, ``labels`` and ``position_ids`` of shape (rows, length), and ``attention_mask`` of shape
            (rows, 1, length, length): what is added to the attention scores, nothing where a token sees another.
        """
        n_prefix = len(self.prefix)
        rows = []
        for segments in packed:
            ids, labels, positions, owners = [*self.prefix], [-100] * n_prefix, list(range(n_prefix)), [0] * n_prefix
            for number, turns in enumerate(segments, start=1):
                more, wanted = self.segment(turns)
                ids += more
                labels += wanted
                positions += range(n_prefix, n_prefix + len(more))
                owners += [number] * len(more)
            rows.append((ids, labels, positions, owners))
        length = max(len(row[0]) for row in rows)
        fillers = (self._tokenizer.pad_token_id, -100, 0, -1)
        filled = [
            torch.tensor([row[part] + [filler] * (length - len(row[part])) for row in rows])
            for part, filler in enumerate(fillers)
        ]
        ids, labels, positions, owners = filled
        is_own = (owners[:, :, None] == owners[:, None, :]) | (owners[:, None, :] == 0)
        is_before = torch.ones(length, length, dtype=torch.bool).tril()
        mask = torch.zeros(is_own.shape).masked_fill(~(is_own & is_before), torch.finfo(torch.float32).min)[:, None]
        return {"input_ids": ids, "labels": labels, "position_ids": positions, "attention_mask": mask}
