"""Train the tiny vision-language model that comes with Polymeter, from scratch, on two cores in minutes.

First the vision tower learns to name what each patch and the whole image show (its heads are discarded afterwards).
Then the projector learns to map patches to the embeddings of the words for them. Finally projector and language model
learn to answer questions, several about each image; at first some of their attention heads are shown where the answer
is (`tiny_vlm_packing.py`).

Run by hand, rarely: the checkpoint that it writes is committed. The same seed gives the same images, questions and
order; the weights then agree as far as the processor's arithmetic and the number of threads do. It needs torch 2.9 or
later, transformers, scikit-learn and Pillow.

Usage:

    python scripts/train_tiny_vlm.py [--out FOLDER] [--seed 4] [--threads 1]
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
from tiny_vlm_check import check
from tiny_vlm_model import PATCH, make_model, make_processor, save
from tiny_vlm_packing import Packer, segments_of
from tiny_vlm_scenes import COLOURS, SHAPES, SIZE, Scene, draw_scene
from torch import nn

OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library" / "tiny_vlm"

SCENES = {"one": 0.1, "two": 0.4, "many": 0.2, "digit": 0.3}
"""How often each kind of scene is drawn in training."""
PRETRAINING = {"steps": 1200, "batch": 96}
ALIGNMENT = {"steps": 150, "batch": 96}
TRAINING = {"steps": 2000, "batch": 24}

MUON_RATE, ADAM_RATE, ALIGNMENT_RATE = 8e-3, 2e-3, 3e-3

Batch = dict[str, torch.Tensor]
GRID = SIZE // PATCH
THINGS = (*SHAPES, *(f"digit {number}" for number in range(10)))
N_WHOLES = 5 + 10
"""The labels of a whole image in stage one: the number of shapes, or the digit."""


def say(text: str) -> None:
    """Print a line without buffering."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def pixels(pictures: list[np.ndarray]) -> torch.Tensor:
    """What the processor makes of images of the right size: shape (n, 3, height, width), values from -1 to 1."""
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
        """Share of images whose number of shapes, or digit, is named."""
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
    """The label of a whole image; -1: it has none."""
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


def align(model: Any, tokenizer: Any, seed: int, steps: int, batch: int) -> None:
    """Between the stages: each patch of a thing is projected to the embeddings of the words for its colour and kind, so
    that a question's words can attend to it.
    """

    def word(text: str) -> int:
        return int(tokenizer(text, add_special_tokens=False)["input_ids"][-1])

    colours = torch.tensor([word(f" {name}") for name in COLOURS])
    things = torch.tensor([word(f" {name}") for name in THINGS])
    projector, words = model.model.multi_modal_projector, model.lm_head
    optimizer = torch.optim.AdamW([*projector.parameters(), *words.parameters()], lr=ALIGNMENT_RATE)
    started = time.monotonic()
    for step, made in enumerate(patch_batches(seed + 1, batch, steps), start=1):
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            states = model.model.vision_tower(made["pixels"], output_hidden_states=True).hidden_states[-1][:, 1:]
        is_thing = made["things"] > 0
        projected = projector(states[is_thing].float())
        logits = words(nn.functional.rms_norm(projected, projected.shape[-1:]))
        loss = nn.functional.cross_entropy(logits, colours[made["colours"][is_thing] - 1])
        loss = loss + nn.functional.cross_entropy(logits, things[made["things"][is_thing] - 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            say(f"projector: step {step} of {steps}, loss {loss.item():.3f}, {time.monotonic() - started:.0f} s")


def train(model: Any, processor: Any, out: Path, seed: int, steps: int, batch: int) -> None:
    """Stage two; the checkpoint is saved every 250 steps.

    The vision tower stays as it is, as in LLaVA: what a language model without experience asks of it would only undo
    it. Lettered options come in slowly: they need the answer that open questions teach.
    """
    packer = Packer(processor.tokenizer)
    model.model.vision_tower.requires_grad_(False)
    stepper = Stepper(nn.ModuleList([model.model.multi_modal_projector, model.model.language_model]), steps)
    started = time.monotonic()
    recent = 0.0
    for step in range(1, steps + 1):
        rng = np.random.default_rng([seed, 2, step])
        drawn = [random_scene(rng) for _ in range(batch)]
        share = 0.5 * min(1.0, step / (0.2 * steps))
        hint_weight = 0.3 * max(0.0, 1 - step / (0.7 * steps))
        asked = [segments_of(rng, scene, share) for scene, _ in drawn]
        with torch.autocast("cpu", torch.bfloat16):
            loss = packer.loss(model, pixels([picture for _, picture in drawn]), asked, hint_weight)
        stepper.step(loss)
        recent = loss.item() if step == 1 else 0.95 * recent + 0.05 * loss.item()
        if step % 50 == 0:
            say(f"questions: step {step} of {steps}, loss {recent:.3f}, {time.monotonic() - started:.0f} s")
        if step % 250 == 0:
            save(model, processor, out)


def main() -> None:
    """Train and measure, or measure only."""
    parser = argparse.ArgumentParser(description="Train the tiny vision-language model, or measure it.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="measure the checkpoint that is there")
    parser.add_argument("--samples", type=int, default=400, help="held-out questions of each kind")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    if not chosen.check:
        torch.manual_seed(chosen.seed)
        processor = make_processor()
        model = make_model(processor.tokenizer)
        model.set_attn_implementation("eager")  # the one that shows attention, and the fastest here
        say(f"{sum(one.numel() for one in model.parameters()):,} parameters, seed {chosen.seed}")
        pretrain(model, chosen.seed, **PRETRAINING)
        align(model, processor.tokenizer, chosen.seed, **ALIGNMENT)
        train(model, processor, chosen.out, chosen.seed, **TRAINING)
        save(model, processor, chosen.out)
    say(json.dumps(check(chosen.out, chosen.samples)))


if __name__ == "__main__":
    main()
