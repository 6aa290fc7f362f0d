"""The choice that an answer names, as a place in the order that was asked."""

from __future__ import annotations

from collections.abc import Sequence

from polymeter.core.request import Output
from polymeter.core.settings.choice_orders import ChoiceOrders
from polymeter.core.task import Rollout, Score
from polymeter.metrics.choice_targets import letter_of
from polymeter.reading.choices import choice_reading, option_labels
from polymeter.reading.reasoning import separated


def chosen_place(orders: ChoiceOrders, texts: Sequence[str], score: Score, rollout: Rollout) -> int | None:
    """Return the place that was chosen; ``None`` if no choice can be read.

    The likeliest choice counts where log-probabilities were asked for, else the part of the answer that the task's
    metrics have compared. If the task does not report that, its answer is read by the rules of ``reading.choices``.

    Args:
        orders: The task's functions for orders.
        texts: The choices in the order that was asked.
        score: The score of this order.
        rollout: Its rollout.
    """
    logprobs = [item.logprob for output in _outputs(rollout) for item in output.logprobs][: len(texts)]
    if len(logprobs) == len(texts):
        return max(range(len(texts)), key=logprobs.__getitem__)
    if score.extracted:
        read = next((text for text in score.extracted.values() if text is not None), None)
        if read is None:
            return None
        place = _named(read, texts, are_texts=orders.are_read_as_texts)
        if place is not None:
            return place
    answer = next((output.text for output in _outputs(rollout) if output.text), None)
    return None if answer is None else choice_reading(separated(answer, None).text, list(texts)).index


def _outputs(rollout: Rollout) -> list[Output]:
    return [output for response in rollout.responses for output in response.outputs]


def _named(read: str, texts: Sequence[str], *, are_texts: bool) -> int | None:
    """Return the place that a text names, as a letter or as the text of one choice."""
    bare = read.strip()
    letter = "" if are_texts else letter_of(bare)
    labels = option_labels(len(texts))
    if letter in labels:
        return labels.index(letter)
    same = [place for place, text in enumerate(texts) if text.strip().casefold() == bare.casefold()]
    return same[0] if same else None
