"""The value of one sample as text.

A metric of a whole corpus has no number for one sample: its values are parts, such as edits and words, from which the
number of the corpus is computed. Every page and command shows them by ``sample_value``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polymeter.core.errors import count
from polymeter.report.formatting import as_float, clip, number, one_line

_COMPARING = ("bleu", "chrf", "ter", "cider", "f1", "mcc", "matthews_corrcoef")
_LONGEST = 60
_LONGEST_PART = 24


def sample_value(metric: str, value: Any) -> str:
    """Return the value of one sample as text: ``0.7500``, ``3 errors / 4 words``, ``answer "a cat", reference "the
    cat"``.

    Args:
        metric: The name of the metric, also with a filter (``NAME,FILTER``).
        value: The value as stored.
    """
    parts = value if isinstance(value, (list, tuple)) and len(value) == 2 else None
    shown = SHOWN_PARTS.get(metric.partition(",")[0])
    text = None if parts is None or shown is None else shown(parts)
    return number(value) if text is None else clip(text, _LONGEST)


def short_sample_value(metric: str, value: Any) -> str:
    """Return the same without zeros that mean nothing: values of one sample are often whole."""
    text = sample_value(metric, value)
    return text.rstrip("0").rstrip(".") if isinstance(value, float) and "." in text and "e" not in text else text


def _counted(first: str, second: str) -> Callable[[Sequence[Any]], str | None]:
    """Return a function for two counts: ``3 errors / 4 words``."""

    def shown(parts: Sequence[Any]) -> str | None:
        numbers = [as_float(part) for part in parts]
        if any(one is None or one != int(one) for one in numbers):
            return None
        counts = [count(int(one or 0), noun) for one, noun in zip(numbers, (first, second), strict=True)]
        return " / ".join(counts)

    return shown


def _likelihood_per(noun: str) -> Callable[[Sequence[Any]], str | None]:
    """Return a function for a log-likelihood and its weight: ``-12.300 / 4 words``."""

    def shown(parts: Sequence[Any]) -> str | None:
        weight = as_float(parts[1])
        if weight is None or weight != int(weight) or not isinstance(parts[0], (int, float)):
            return None
        return f"{number(parts[0])} / {count(int(weight), noun)}"

    return shown


def _compared(parts: Sequence[Any]) -> str:
    """Show a reference, or several, and the answer that is compared with it."""
    reference, answer = parts
    several = isinstance(reference, (list, tuple)) and len(reference) != 1
    one = reference[0] if isinstance(reference, (list, tuple)) and len(reference) == 1 else reference
    given = count(len(reference), "reference") if several else f"reference {_part(one)}"
    return f"answer {_part(answer)}, {given}"


def _tokens_and_success(parts: Sequence[Any]) -> str | None:
    """Show the tokens of a sample and its success: ``1,250 tokens, success 1``."""
    tokens, success = map(as_float, parts)
    if tokens is None or success is None:
        return None
    return f"{count(int(tokens), 'token')}, success {success:g}"


def _probabilities(parts: Sequence[Any]) -> str | None:
    reference, shares = parts
    if not isinstance(shares, (list, tuple)):
        return None
    return f"reference {_part(reference)}, probabilities {' '.join(map(number, shares))}"


def _answer_to_row(parts: Sequence[Any]) -> str:
    return f"answer {_part(parts[0])}"  # the second part is the whole row


def _greedy(parts: Sequence[Any]) -> str | None:
    """Show a log-likelihood, and whether the target is the greedy continuation: ``-1.2000, greedy``."""
    if not isinstance(parts[1], bool):
        return None
    return f"{number(parts[0])}, {'greedy' if parts[1] else 'not greedy'}"


def _part(value: Any) -> str:
    text = json.dumps(one_line(value), ensure_ascii=False) if isinstance(value, str) else number(value)
    return clip(text, _LONGEST_PART)


SHOWN_PARTS: Mapping[str, Callable[[Sequence[Any]], str | None]] = {
    "corpus_wer": _counted("error", "word"),
    "corpus_cer": _counted("error", "character"),
    "word_perplexity": _likelihood_per("word"),
    "byte_perplexity": _likelihood_per("byte"),
    "bits_per_byte": _likelihood_per("byte"),
    **dict.fromkeys(_COMPARING, _compared),
    **dict.fromkeys(("bypass", "by_pass"), _greedy),
    "brier_score": _probabilities,
    "tokens_per_success": _tokens_and_success,
    "acc_all": _answer_to_row,
}
"""By metric, the function that shows the two parts of a sample's value; its result is ``None`` for another kind of
value, which a task may have computed itself.
"""
