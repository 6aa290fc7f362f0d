"""Train the tiny vision-language model that comes with Polymeter, from nothing, on two cores in minutes.

First the vision tower learns to name what lies under each patch and what the whole shows (its heads are thrown away),
then the whole model answers questions. In the second stage several questions share one picture: each sees the picture
and itself, at the positions that it would have alone, so the picture is computed once for all of them.

Run by hand, rarely: the checkpoint that it writes is committed. The same seed gives the same pictures, questions and
order; weights then agree as far as the arithmetic of the processor does. It needs torch, transformers, scikit-learn and
Pillow.

Usage:

    python scripts/train_tiny_vlm.py [--out FOLDER] [--seed 4] [--threads 2]
    python scripts/train_tiny_vlm.py --check [--out FOLDER]     # measure the checkpoint that is there
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tiny_vlm_model import IMAGE, PATCH, make_model, make_processor
from tiny_vlm_questions import (
    SCENE_OF_KIND,
    Turn,
    ask,
    dialogue,
    lettered_turn,
    open_turn,
    options,
)
from tiny_vlm_scenes import COLOURS, SHAPES, SIZE, Scene, draw_scene
from torch import nn

OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library" / "tiny_vlm"

SCENES = {"one": 0.1, "two": 0.4, "many": 0.2, "digit": 0.3}
"""How often each kind of scene is drawn in training."""
SEGMENTS = {"one": 5, "two": 8, "many": 3, "digit": 5}
"""How many questions or dialogues share a picture."""

PRETRAINING = {"steps": 1200, "batch": 96}
TRAINING = {"steps": 1500, "batch": 32}

MUON_RATE, ADAM_RATE = 8e-3, 2e-3

GRID = SIZE // PATCH
THINGS = (*SHAPES, *(f"digit {number}" for number in range(10)))
N_WHOLES = 5 + 10
"""What a whole picture can be asked for in stage one: how many shapes, or which digit."""
Batch = dict[str, torch.Tensor]


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def pixels(pictures: list[np.ndarray]) -> torch.Tensor:
    """What the processor makes of pictures of the right size: shape (n, 3, height, width), values from -1 to 1."""
    return torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 127.5 - 1


def random_scene(rng: np.random.Generator) -> tuple[Scene, np.ndarray]:
    """A scene for training."""
    kind = list(SCENES)[int(rng.choice(len(SCENES), p=list(SCENES.values())))]
    scene, picture = draw_scene(rng, kind, "train")
    return scene, np.asarray(picture)


# Stage one: the vision tower


class Heads(nn.Module):
    """What the vision tower is asked for: colour and thing of each patch; number of shapes, or digit, of the whole."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.colour = nn.Linear(width, len(COLOURS) + 1)
        self.thing = nn.Linear(width, len(THINGS) + 1)
        self.whole = nn.Linear(width, N_WHOLES)

    def loss(self, states: torch.Tensor, batch: Batch) -> torch.Tensor:
        """The sum of three losses; ``states`` has the shape (n, patches, width)."""
        loss = nn.functional.cross_entropy
        of_colours = loss(self.colour(states).flatten(0, 1), batch["colours"].flatten())
        of_things = loss(self.thing(states).flatten(0, 1), batch["things"].flatten())
        of_wholes = loss(self.whole(states.mean(1)), batch["wholes"], ignore_index=-1)
        return of_colours + of_things + 0.5 * of_wholes

    @torch.no_grad()
    def share_right(self, states: torch.Tensor, batch: Batch) -> float:
        """Share of pictures whose number of shapes, or digit, is named."""
        is_asked = batch["wholes"] >= 0
        return (self.whole(states.mean(1)).argmax(-1) == batch["wholes"])[is_asked].float().mean().item()


def labels_of(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Colour and thing under each patch, 0 where there is nothing; both of shape (patches,)."""
    colours, things = np.zeros(GRID * GRID, np.int64), np.zeros(GRID * GRID, np.int64)
    for place in range(GRID * GRID):
        x, y = (place % GRID + 0.5) * PATCH, (place // GRID + 0.5) * PATCH
        for thing in scene.things:
            if thing.covers(x, y):
                colours[place] = 1 + list(COLOURS).index(thing.colour)
                name = thing.shape if scene.digit is None else f"digit {scene.digit}"
                things[place] = 1 + THINGS.index(name)
    return colours, things


def whole_of(scene: Scene) -> int:
    """The label of a whole picture; -1: it is asked for nothing."""
    if scene.digit is not None:
        return 5 + scene.digit
    return len(scene.things) - 1 if scene.kind == "many" else -1


def patch_batches(seed: int, size: int, steps: int) -> Iterator[Batch]:
    """Batches for stage one."""
    for step in range(steps):
        rng = np.random.default_rng([seed, 1, step])
        drawn = [random_scene(rng) for _ in range(size)]
        colours, things = zip(*(labels_of(scene) for scene, _ in drawn), strict=True)
        yield {
            "pixels": pixels([picture for _, picture in drawn]),
            "colours": torch.from_numpy(np.stack(colours)),
            "things": torch.from_numpy(np.stack(things)),
            "wholes": torch.tensor([whole_of(scene) for scene, _ in drawn]),
        }


# Stage two: questions


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
        self._n_image = GRID * GRID
        self.prefix = [*self.ids("<|user|>"), *self.ids(IMAGE) * self._n_image]

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


def question_batches(packer: Packer, seed: int, size: int, steps: int) -> Iterator[Batch]:
    """Batches for stage two."""
    for step in range(steps):
        rng = np.random.default_rng([seed, 2, step])
        drawn = [random_scene(rng) for _ in range(size)]
        batch = packer.batch([segments_of(rng, scene) for scene, _ in drawn])
        yield {"pixel_values": pixels([picture for _, picture in drawn]), **batch}


# Both stages


class Stepper:
    """Muon for the matrices of the layers and AdamW for the rest, both with a short rise and a cosine fall.

    Muon (Jordan et al. 2024) learns this in about half the steps that AdamW alone needs.
    """

    def __init__(self, modules: nn.Module, steps: int) -> None:
        named = list(modules.named_parameters())
        matrices = [value for name, value in named if value.ndim == 2 and ".layers." in name]
        known = {id(value) for value in matrices}
        others = [value for _, value in named if id(value) not in known]
        self._optimizers = [
            (torch.optim.Muon(matrices, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"), MUON_RATE),
            (torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0.01, fused=True), ADAM_RATE),
        ]
        self._parameters, self._steps, self._done = [value for _, value in named], steps, 0

    def step(self, loss: torch.Tensor) -> None:
        """Learn from one loss."""
        self._done += 1
        rise = min(1.0, self._done / 50)
        fall = 0.5 * (1 + math.cos(math.pi * min(1.0, self._done / self._steps)))
        for parameter in self._parameters:
            parameter.grad = None
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for optimizer, rate in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * rise * (0.01 + 0.99 * fall)
            optimizer.step()


def pretrain(model: Any, seed: int, steps: int, batch: int) -> None:
    """Stage one."""
    tower = model.model.vision_tower
    heads = Heads(tower.config.hidden_size)
    stepper = Stepper(nn.ModuleList([tower, heads]), steps)
    started = time.monotonic()
    for step, made in enumerate(patch_batches(seed, batch, steps), start=1):
        with torch.autocast("cpu", torch.bfloat16):
            states = tower(made["pixels"], output_hidden_states=True).hidden_states[-1][:, 1:]
            loss = heads.loss(states, made)
        stepper.step(loss)
        if step % 100 == 0:
            share = heads.share_right(states, made)
            spent = time.monotonic() - started
            say(f"vision tower: step {step} of {steps}, loss {loss.item():.3f}, {share:.0%} right, {spent:.0f} s")


def train(model: Any, processor: Any, out: Path, seed: int, steps: int, batch: int) -> None:
    """Stage two; the checkpoint is saved every 250 steps."""
    packer = Packer(processor.tokenizer)
    stepper = Stepper(model, steps)
    started = time.monotonic()
    recent = 0.0
    for step, made in enumerate(question_batches(packer, seed, batch, steps), start=1):
        labels = made.pop("labels")
        with torch.autocast("cpu", torch.bfloat16):
            states = model.model(**made, use_cache=False).last_hidden_state
            is_answer = labels[:, 1:] != -100
            logits = model.lm_head(states[:, :-1][is_answer])
        loss = nn.functional.cross_entropy(logits.float(), labels[:, 1:][is_answer])
        stepper.step(loss)
        recent = loss.item() if step == 1 else 0.98 * recent + 0.02 * loss.item()
        if step % 50 == 0:
            say(f"questions: step {step} of {steps}, loss {recent:.3f}, {time.monotonic() - started:.0f} s")
        if step % 250 == 0:
            save(model, processor, out)


def save(model: Any, processor: Any, out: Path) -> None:
    """Write the checkpoint, weights in half precision."""
    out.mkdir(parents=True, exist_ok=True)
    halves = {name: value.half() for name, value in model.state_dict().items()}
    model.config.dtype = torch.float16
    model.save_pretrained(out, state_dict=halves)
    processor.save_pretrained(out)


# Measuring


def held_out(kind: str, n: int, *, is_lettered: bool = False) -> Iterator[tuple[np.ndarray, tuple[Turn, ...]]]:
    """Pictures and dialogues that training never saw."""
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
            say(f"{name:18} {found[name]:.3f}")
    return found


def main() -> None:
    """Train and measure, or measure only."""
    parser = argparse.ArgumentParser(description="Train the tiny vision-language model, or measure it.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="measure the checkpoint that is there")
    parser.add_argument("--samples", type=int, default=400, help="held-out questions of each kind")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    if not chosen.check:
        torch.manual_seed(chosen.seed)
        processor = make_processor()
        model = make_model(processor.tokenizer)
        model.set_attn_implementation("eager")  # the fastest one for few tokens on a processor
        say(f"{sum(one.numel() for one in model.parameters()):,} parameters, seed {chosen.seed}")
        pretrain(model, chosen.seed, **PRETRAINING)
        train(model, processor, chosen.out, chosen.seed, **TRAINING)
        save(model, processor, chosen.out)
    say(json.dumps(check(chosen.out, chosen.samples)))


if __name__ == "__main__":
    main()
