"""Scores and rounds of the `demo_vlm` benchmarks.

An answer may be a sentence: it is right when, of all words that could answer the question, it says the right one alone.
"""

from __future__ import annotations

import re
from typing import Any

from PIL import Image

Doc = dict[str, Any]

COLOURS = ["red", "orange", "yellow", "green", "blue", "purple"]
SHAPES = ["circle", "square", "triangle", "cross", "star"]
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

ONE_WORD = "\nAnswer with one word."
FOLLOW_UP = "What colour is it?"


def says_only(answer: str, right: str, words: list[str]) -> float:
    """Return 1 if the answer names the right one of some words and no other; numbers may be written out."""
    said = re.findall(r"[a-z]+|\d+", answer.lower())
    said = [str(NUMBERS.index(word)) if word in NUMBERS else word for word in said]
    return float(set(words) & set(said) == {right})


def process_word(doc: Doc, results: list[str]) -> dict[str, float]:
    return {"acc": says_only(results[0], doc["answer"], doc["choices"])}


def process_letter(doc: Doc, results: list[str]) -> dict[str, float]:
    """Take the last letter that stands alone: what an answer comes to stands at its end."""
    letters = re.findall(r"\b[A-D]\b", results[0])
    return {"acc": float(letters[-1:] == [doc["letter"]])}


def doc_to_visual(doc: Doc) -> list[Image.Image]:
    return [doc["image"].convert("RGB")]


def doc_to_text(
    doc: Doc,
    lmms_eval_specific_kwargs: dict[str, Any] | None = None,
    previous_output: list[str] | None = None,
    round_idx: int | None = None,
    previous_round_info: Any = None,
) -> Any:
    """Return the first prompt, and for models that take no conversation a second one that tells the first answer."""
    if round_idx is None:
        return doc["question"] + ONE_WORD
    if round_idx == 1:
        text = f"What colour is the {previous_output[-1].strip().rstrip('.').lower()}?{ONE_WORD}"
        return doc_to_visual(doc), text, False, previous_output, None
    return None, None, True, previous_output, None


def doc_to_messages(
    doc: Doc,
    round_idx: int | None = None,
    previous_output: list[str] | None = None,
    previous_round_info: Any = None,
) -> Any:
    """Return the conversation; in the second round "it" can only be found out from the model's own first answer."""
    content = [{"type": "image", "url": picture} for picture in doc_to_visual(doc)]
    messages = [{"role": "user", "content": [*content, {"type": "text", "text": doc["question"] + ONE_WORD}]}]
    if round_idx is None:
        return messages
    if round_idx == 1:
        said = {"role": "assistant", "content": [{"type": "text", "text": previous_output[-1]}]}
        asked = {"role": "user", "content": [{"type": "text", "text": FOLLOW_UP + ONE_WORD}]}
        return [*messages, said, asked], False, previous_output, None
    return [], True, previous_output, None


def process_rounds(doc: Doc, results: list[list[str]]) -> dict[str, float]:
    """Score both rounds: `acc` wants the shape and then its colour."""
    first, second = results[0]
    named = says_only(first, doc["shape"], SHAPES)
    return {"acc": named * says_only(second, doc["colour"], COLOURS), "first_round_acc": named}
