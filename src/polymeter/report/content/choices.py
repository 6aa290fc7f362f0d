"""The choices of a sample with their log-probabilities as bars, the one that was taken and the right one marked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.report.content.text import ShownText, visible
from polymeter.report.content.view import Block, BlockView, as_text, entry, messages_of, outputs_of, parts_of
from polymeter.report.formatting import number, one_line

ORDER = 30
_LETTER = re.compile(r"\(?([A-Za-z])[).:]?")
_LEAST_MARK = 0.4
"""The least length of a bar in hundredths, so that it is visible."""


@dataclass(frozen=True, slots=True)
class ShownChoice:
    """One choice.

    Attributes:
        text: The continuation.
        logprob: The sum of its tokens' log-probabilities, as text.
        per_token: The same for one token, as text; empty if it has one token or their number is unknown.
        n_tokens: Its number of tokens; ``None``: unknown.
        percent: Its probability among these choices in hundredths; ``None``: it has no finite log-probability.
        is_greedy: Whether greedy decoding would have produced it.
        is_taken: Whether it is the sample's answer.
        is_right: Whether it is the target.
    """

    text: ShownText
    logprob: str
    per_token: str
    n_tokens: int | None
    percent: float | None
    is_greedy: bool
    is_taken: bool
    is_right: bool

    @property
    def width(self) -> float:
        """The length of its bar in hundredths."""
        return 0.0 if self.percent is None else round(max(self.percent, _LEAST_MARK), 1)


@dataclass(frozen=True, slots=True)
class Question:
    """The choices of one request.

    Attributes:
        choices: They, in the order of the request.
        note: Their source, and the marked ones.
    """

    choices: tuple[ShownChoice, ...]
    note: str


def make(view: BlockView) -> Block | None:
    """The choices of each request for log-probabilities."""
    asked = [
        (exchange, output) for exchange in view.exchanges() for output in outputs_of(exchange) if _logprobs(output)
    ]
    if not asked:
        return None
    contexts = _contexts(asked)
    questions = [contexts] if contexts else [_question(view, *pair) for pair in asked]
    return Block("choices", "Choices", "content/choices.html", questions)


def matching(value: Any, texts: Sequence[str]) -> int | None:
    """Return the choice that a stored target or answer means: by its text, its letter or its number; ``None``: none."""
    found = as_text(value)
    if found is None:
        return None
    plain = found.strip()
    stripped = [text.strip() for text in texts]
    if plain in stripped:
        return stripped.index(plain)
    folded = [text.casefold() for text in stripped]
    if folded.count(plain.casefold()) == 1:
        return folded.index(plain.casefold())
    letter = _LETTER.fullmatch(plain)
    place = ord(letter[1].upper()) - ord("A") if letter else int(plain) if plain.isdecimal() and len(plain) < 4 else -1
    return place if 0 <= place < len(texts) else None


def _question(view: BlockView, exchange: Mapping[str, Any], output: Mapping[str, Any]) -> Question:
    logprobs = _logprobs(output)
    given = entry(entry(exchange, "request"), "ask").get("continuations")
    named = [str(text) for text in given] if isinstance(given, list) else []
    texts = [named[place] if place < len(named) else f"continuation {place + 1}" for place in range(len(logprobs))]
    return _of(view, texts, logprobs, one_line(str(output.get("note") or "")))


def _contexts(asked: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Question | None:
    """Several requests with one continuation each, which differ by their prompt: the prompts are the choices."""
    if len(asked) < 2 or any(len(_logprobs(output)) != 1 for _, output in asked):
        return None
    prompts = ["\n".join(_texts(exchange)) for exchange, _ in asked]
    logprobs = [_logprobs(output)[0] for _, output in asked]
    note = "Each choice is a prompt; the same continuation is scored after each."
    return Question(tuple(_choices(prompts, logprobs, None, None)), note)


def _texts(exchange: Mapping[str, Any]) -> list[str]:
    return [str(part["text"]) for message in messages_of(exchange) for part in parts_of(message) if "text" in part]


def _of(view: BlockView, texts: Sequence[str], logprobs: Sequence[Sequence[Any]], note: str) -> Question:
    right = matching(view.sample.get("target"), texts) if len(texts) > 1 else None
    taken = matching(view.sample.get("answer"), texts) if len(texts) > 1 else None
    said = [note] if note else []
    if len(texts) > 1:
        if taken is None:
            likeliest = [logprob_value(logprob) for logprob in logprobs]
            taken = likeliest.index(max(likeliest)) if any(map(math.isfinite, likeliest)) else None
            said.append("The stored answer is not one of these, so the likeliest is marked as chosen.")
        if right is None:
            said.append("No choice is marked as right: the target matches none by text, letter or number.")
    return Question(tuple(_choices(texts, logprobs, taken, right)), " ".join(said))


def _choices(
    texts: Sequence[str], logprobs: Sequence[Sequence[Any]], taken: int | None, right: int | None
) -> list[ShownChoice]:
    values = [logprob_value(logprob) for logprob in logprobs]
    shares = probabilities(values) if len(values) > 1 else [math.exp(min(value, 0.0)) for value in values]
    choices = []
    for place, (text, logprob, value, share) in enumerate(zip(texts, logprobs, values, shares, strict=True)):
        n_tokens = logprob[2] if len(logprob) > 2 and isinstance(logprob[2], int) else None
        is_finite = math.isfinite(value)
        choices.append(
            ShownChoice(
                visible(text),
                number(value) if is_finite else "none",
                number(value / n_tokens) if is_finite and n_tokens and n_tokens > 1 else "",
                n_tokens,
                100 * share if is_finite else None,
                len(logprob) > 1 and logprob[1] is True,
                place == taken,
                place == right,
            )
        )
    return choices


def probabilities(values: Sequence[float]) -> list[float]:
    """The probabilities of choices among themselves, from their log-probabilities; 0 for one that has none."""
    top = max((value for value in values if math.isfinite(value)), default=0.0)
    weights = [math.exp(value - top) if math.isfinite(value) else 0.0 for value in values]
    total = math.fsum(weights)
    return [weight / total if total else 0.0 for weight in weights]


def _logprobs(output: Mapping[str, Any]) -> list[Sequence[Any]]:
    found = output.get("logprobs")
    return [one for one in found if isinstance(one, (list, tuple)) and one] if isinstance(found, list) else []


def logprob_value(logprob: Sequence[Any]) -> float:
    """The log-probability of a stored choice; minus infinity if it has none."""
    value = logprob[0]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else -math.inf
