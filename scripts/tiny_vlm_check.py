"""The accuracy of the tiny model on questions that training never saw, through Transformers alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_vlm_questions import SCENE_OF_KIND, Turn, ask, dialogue, lettered_turn, open_turn, options
from tiny_vlm_scenes import draw_scene


def held_out(kind: str, n: int, *, is_lettered: bool = False) -> Iterator[tuple[np.ndarray, tuple[Turn, ...]]]:
    """Images and dialogues that training never saw."""
    for index in range(n):
        rng = np.random.default_rng([2**31, index])
        scenes = SCENE_OF_KIND.get(kind, ("two",))
        scene, picture = draw_scene(rng, scenes[index % len(scenes)], "test")
        if kind == "rounds":
            turns = dialogue(rng, scene)
        else:
            question = ask(rng, scene, kind)
            turns = (lettered_turn(question, options(rng, question)) if is_lettered else open_turn(question),)
        yield np.asarray(picture), turns


def answers(model: Any, processor: Any, pictures: list[np.ndarray], dialogues: list[list[str]]) -> list[str]:
    """What the model says, greedily, after dialogues of prompt, answer, prompt, …"""
    texts = []
    for said in dialogues:
        messages: list[dict[str, Any]] = [
            {"role": "assistant" if number % 2 else "user", "content": [{"type": "text", "text": text}]}
            for number, text in enumerate(said)
        ]
        messages[0]["content"].insert(0, {"type": "image"})
        texts.append(processor.apply_chat_template(messages, add_generation_prompt=True))
    inputs = processor(text=texts, images=pictures, padding=True, return_tensors="pt")
    with torch.inference_mode():
        made = model.generate(**inputs, max_new_tokens=6, do_sample=False)
    told = processor.batch_decode(made[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return [text.strip() for text in told]


def accuracy(model: Any, processor: Any, asked: list[tuple[np.ndarray, tuple[Turn, ...]]]) -> float:
    """Share of dialogues in which every answer is right; a later turn sees the model's own earlier answers."""
    n_right = 0
    for start in range(0, len(asked), 50):
        chunk = asked[start : start + 50]
        pictures = [picture for picture, _ in chunk]
        dialogues: list[list[str]] = [[] for _ in chunk]
        for number in range(len(chunk[0][1])):
            for said, (_, turns) in zip(dialogues, chunk, strict=True):
                said.append(turns[number].prompt)
            for said, told in zip(dialogues, answers(model, processor, pictures, dialogues), strict=True):
                said.append(told)
        n_right += sum(
            [turn.answer for turn in turns] == said[1::2] for said, (_, turns) in zip(dialogues, chunk, strict=True)
        )
    return n_right / len(asked)


def check(out: Path, n: int) -> dict[str, float]:
    """Accuracy of the checkpoint in a folder, in float32, by kind of question."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model = AutoModelForImageTextToText.from_pretrained(out, dtype=torch.float32, local_files_only=True).eval()
    processor = AutoProcessor.from_pretrained(out, local_files_only=True)
    found = {}
    for kind in (*SCENE_OF_KIND, "rounds"):
        for is_lettered in (False, True) if kind not in ("yes_no", "rounds") else (False,):
            name = f"{kind}, lettered" if is_lettered else kind
            found[name] = accuracy(model, processor, list(held_out(kind, n, is_lettered=is_lettered)))
            sys.stdout.write(f"{name:18} {found[name]:.3f}\n")
    return found
