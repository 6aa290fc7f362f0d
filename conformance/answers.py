"""Three scripted models. Both tools are given the same texts, made here from what a benchmark expects.

*right* knows the answer to five questions of six, *wrong* to one of six, so that means lie between their extremes.
*messy* says what models say: markdown, a letter in a sentence, a unit, several readings, reasoning, nothing.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

_KNOWN = {"right": 0.84, "wrong": 0.17, "messy": 0.67}
_FORMS = (
    "{0}",
    "**{0}**",
    "Answer: {0}",
    "The answer is {0}.",
    "The answer is ({0}).",
    "<think>\nIt could be {1}, but no.\n</think>\n\n{0}",
    "so it is {1}? No.</think>\n\n{0}",
    "Let me think step by step. First {1}, then {0}.\n\nFinal answer: {0}",
    "\\boxed{{{0}}}",
    "{0} or {1}",
    "I would say {1}. No, wait: {0}",
    "{0} cm",
    "\u201c{0}\u201d \u2013 s\u00ed, na\u00efvet\u00e9 \u2713",
    '```json\n{{"answer": "{0}", "score": 3}}\n```',
    "  {0}\n\n(because of the picture)",
    "$$x = {0}$$",
    "\uff21nswer\uff1a{0}",
    "",
    "I cannot answer that.",
)


def generator(*key: object) -> random.Random:
    """A generator that depends on the key alone, in every process and tool."""
    text = "\x1f".join(map(str, key))
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def known(model: str, count: int, key: Sequence[object]) -> set[int]:
    """Which of a benchmark's questions a scripted model knows the answer to: always the same share."""
    return set(generator("known", model, *key).sample(range(count), round(_KNOWN[model] * count)))


def scripted(
    model: str, target: str, others: Sequence[str], key: Sequence[object], *, is_known: bool, is_bare: bool = False
) -> str:
    """What a scripted model answers.

    Args:
        model: ``right``, ``wrong`` or ``messy``.
        target: What the benchmark expects.
        others: Other possible answers, such as the remaining options.
        key: What the answer depends on beside that: seed, benchmark, sample.
        is_known: Whether the model knows the answer.
        is_bare: Whether *messy* says what it knows without anything around it.
    """
    chance = generator(model, *key)
    wrong = chance.choice([one for one in others if one != target] or ["something else"])
    said, other = (target, wrong) if is_known else (wrong, target)
    if model != "messy" or (is_known and is_bare):
        return said
    return chance.choice(_FORMS).format(said, other)


def loss(model: str, is_target: bool, is_known: bool, key: Sequence[object]) -> float:
    """The negative log-likelihood that a scripted model gives to one continuation: the lowest is its answer."""
    chance = generator(model, *key)
    return round(5.0 + 3.0 * chance.random() - (4.0 if is_target == is_known else 0.0), 6)
