"""Questions about the scenes of `tiny_vlm_scenes.py`, in the wordings that the `demo_vlm` benchmarks use.

A question knows its answer and the other answers of its kind, so that it can be asked openly, with lettered options, or
by weighing its choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tiny_vlm_scenes import COLOURS, SHAPES, Scene, Thing

LETTERS = "ABCD"
ONE_WORD = "\nAnswer with one word."
BY_LETTER = "\nAnswer with the letter."

COUNTS = tuple(str(number) for number in range(1, 6))
DIGITS = tuple(str(number) for number in range(10))
YES_NO = ("yes", "no")
FOLLOW_UP = "What colour is it?"

SCENE_OF_KIND = {"colour": ("one", "two", "digit"), "shape": ("one", "two"), "side": ("two",), "count": ("many",)}
SCENE_OF_KIND |= {"digit": ("digit",), "yes_no": ("one", "two", "digit")}
"""The kinds of question, and the scenes that they can be asked about."""


@dataclass(frozen=True)
class Question:
    """A question about an image.

    Attributes:
        kind: A key of `SCENE_OF_KIND`.
        text: The question alone.
        answer: The right answer, one word.
        pool: All answers that make sense, the right one among them.
        thing: Where to look for the answer, if it is in one place.
    """

    kind: str
    text: str
    answer: str
    pool: tuple[str, ...]
    thing: Thing | None = None


@dataclass(frozen=True)
class Turn:
    """A prompt and the answer to it; a dialogue is a tuple of them.

    Attributes:
        prompt: What is asked.
        answer: What is to be said.
        thing: Where to look for the answer, if it is in one place.
        options: For each lettered option how long the prompt is up to its letter, and up to its end.
    """

    prompt: str
    answer: str
    thing: Thing | None = None
    options: tuple[tuple[int, int], ...] = ()


def ask(rng: np.random.Generator, scene: Scene, kind: str) -> Question:
    """Ask a question of a kind about a scene that has an answer to it."""
    thing = scene.things[int(rng.integers(len(scene.things)))]
    if kind == "count":
        return Question(kind, "How many shapes are there?", str(len(scene.things)), COUNTS)
    if kind == "digit":
        return Question(kind, "Which digit is this?", str(scene.digit), DIGITS, thing)
    if kind == "colour":
        return Question(kind, f"What colour is the {thing.shape}?", thing.colour, tuple(COLOURS), thing)
    if kind == "shape":
        text = f"Which shape is {thing.colour}?" if scene.kind == "two" else "What shape is this?"
        return Question(kind, text, thing.shape, SHAPES, thing)
    if kind == "side":
        side = scene.sides[int(rng.integers(len(scene.sides)))]
        thing = scene.on_side(side)
        return Question(kind, f"Which shape is {side}?", thing.shape, SHAPES, thing)
    text, is_true, place = _claim(rng, scene, thing)
    return Question(kind, text, "yes" if is_true else "no", YES_NO, place)


def _claim(rng: np.random.Generator, scene: Scene, thing: Thing) -> tuple[str, bool, Thing | None]:
    """A question whose answer is yes or no, which one, and where to look."""
    is_true = bool(rng.random() < 0.5)
    form = int(rng.integers(2))
    if scene.digit is not None and form:
        told = str(scene.digit) if is_true else _other(rng, DIGITS, str(scene.digit))
        return f"Is this the digit {told}?", is_true, thing
    if scene.digit is not None or form:
        told = thing.colour if is_true else _other(rng, tuple(COLOURS), thing.colour)
        return f"Is the {thing.shape} {told}?", is_true, thing
    told = thing.shape if is_true else _other(rng, SHAPES, *(one.shape for one in scene.things))
    return f"Is there a {told}?", is_true, thing if is_true else None


def _other(rng: np.random.Generator, names: Sequence[str], *not_these: str) -> str:
    others = [name for name in names if name not in not_these]
    return others[int(rng.integers(len(others)))]


def options(rng: np.random.Generator, question: Question) -> tuple[str, ...]:
    """The right answer and others of its kind, at most four in all, in random order."""
    others = [word for word in question.pool if word != question.answer]
    chosen = [question.answer, *(others[place] for place in rng.permutation(len(others))[: len(LETTERS) - 1])]
    return tuple(chosen[place] for place in rng.permutation(len(chosen)))


def open_turn(question: Question, *, has_suffix: bool = True) -> Turn:
    """The question asked openly."""
    return Turn(question.text + ONE_WORD * has_suffix, question.answer, question.thing)


def lettered_turn(question: Question, choices: Sequence[str]) -> Turn:
    """The question with lettered options; the answer is a letter."""
    text, places = question.text, []
    for letter, word in zip(LETTERS, choices, strict=False):
        lettered = f"{text}\n{letter}"
        text = f"{lettered}. {word}"
        places.append((len(lettered), len(text)))
    answer = LETTERS[list(choices).index(question.answer)]
    return Turn(text + BY_LETTER, answer, question.thing, tuple(places))


def dialogue(rng: np.random.Generator, scene: Scene) -> tuple[Turn, Turn]:
    """Two rounds about a scene of two shapes: which one is on a side or has a colour, and then something about *it*."""
    if rng.random() < 0.75:
        first = ask(rng, scene, "side")
    else:
        first = ask(rng, scene, "shape")
    thing = next(thing for thing in scene.things if thing.shape == first.answer)
    return open_turn(first), Turn(FOLLOW_UP + ONE_WORD, thing.colour, thing)
