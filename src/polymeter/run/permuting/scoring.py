"""Scores of orders: each by the task's own scoring, and together as the score of one question, with what was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.attempts import (
    ALL_ORDERS,
    AT,
    CHOICE,
    CHOICE_BIAS,
    CONSISTENCY,
    UNREAD,
    are_shares,
    filter_of,
    orders_in,
    with_means,
)
from polymeter.core.settings.choice_orders import Order, in_order
from polymeter.core.task import MetricKey, Rollout, Sample, Score
from polymeter.core.text.codec import is_nan
from polymeter.reading.choices import option_labels
from polymeter.run.permuting.asking import Permuting
from polymeter.run.permuting.chosen import chosen_place
from polymeter.run.variants.asking import OneVariant
from polymeter.run.variants.scoring import VariantKind

ORDERS = VariantKind("order", "orders")


@dataclass(frozen=True, slots=True)
class _ChosenPlace:
    """The choice in one order.

    Attributes:
        order: The order.
        place: The place that was chosen; ``None``: none was read.
    """

    order: Order
    place: int | None


def score_orders(
    permuting: Permuting, score: Callable[[Sample, Rollout], Score], sample: Sample, rollout: Rollout
) -> Score:
    """Score every order of a sample, and join the scores. A question with fewer orders counts as if they were asked in
    turn.

    Args:
        permuting: The task's orders.
        score: The task's own scoring.
        sample: The sample.
        rollout: The rollout of ``Permuting.ask``.

    Raises:
        ScoreError: if the task's own code failed for one of them.
        UnscoredError: if a judge's verdict on one of them is missing.
    """
    variants: Sequence[OneVariant] = rollout.returned
    scores = [score(one.sample, one.rollout) for one in variants]
    choices: Mapping[MetricKey, float] = {}
    chosen: Sequence[_ChosenPlace] = ()
    if len(variants) > 1:
        listed = permuting.listed(sample)
        asked = zip(permuting.orders_for(sample, listed), scores, variants, strict=True)
        chosen = [
            _ChosenPlace(order, chosen_place(permuting.orders, in_order(listed.texts, order), own_score, one.rollout))
            for order, own_score, one in asked
        ]
        choices = _choice_values(listed.texts, chosen)
    return _joint(permuting.k, variants, scores, choices, chosen)


def score_of_order(score: Score, number: int) -> Score:
    """Return the score of one order, from that of its sample.

    Args:
        score: The score of the sample.
        number: The number of the order, from 0.
    """
    values = {key: each[number] for key, each in orders_in(score.values).items()}
    return ORDERS.score(score, number, values)


def _choice_values(texts: Sequence[str], chosen: Sequence[_ChosenPlace]) -> dict[MetricKey, float]:
    """Return what was chosen, right or wrong.

    ``consistency`` is 1 if the same content was chosen in all orders. ``at A`` is the share of orders in which the
    first place was chosen. Its bias is the difference to the share that is expected: that of a model that makes
    the same choices, each in an order drawn from those asked, and so prefers no place. Choices that could not be read
    have no place.
    """
    read = [(one.order, one.place) for one in chosen if one.place is not None]
    values = {(CHOICE, UNREAD): 1 - len(read) / len(chosen)}
    if not read:
        return values
    first_of = {text.strip(): number for number, text in reversed([*enumerate(texts)])}
    contents = [order[place] for order, place in read]
    same = {first_of[texts[content].strip()] for content in contents}
    values[CHOICE, CONSISTENCY] = float(len(read) == len(chosen) and len(same) == 1)
    for place, label in enumerate(option_labels(len(texts))):
        share = sum(own == place for _, own in read) / len(read)
        expected = sum(one.order[place] == content for one in chosen for content in contents)
        values[CHOICE, f"{AT}{label}"] = share
        values[CHOICE_BIAS, f"{AT}{label}"] = share - expected / len(chosen) / len(read)
    return values


def _joint(
    k: int,
    variants: Sequence[OneVariant],
    scores: Sequence[Score],
    choices: Mapping[MetricKey, float],
    chosen: Sequence[_ChosenPlace],
) -> Score:
    turns = [number % len(scores) for number in range(k)]
    each = [scores[turn] for turn in turns]
    keys = dict.fromkeys(key for one in scores for key in one.values)
    of_orders = {
        (metric, filter_of(f"order {number}", own)): one.values.get((metric, own), math.nan)
        for metric, own in keys
        for number, one in enumerate(each, 1)
    }
    means = {key: value for key, value in with_means(of_orders).items() if key in keys}
    more = [_record(scores[turn], chosen[turn] if chosen else None) for turn in turns]
    numbered = zip(turns, more, strict=True)
    return Score(
        {**means, **_all_orders(of_orders), **choices, **of_orders},
        scores[0].target,
        scores[0].answer,
        "\n".join(_explained(number, scores[turn], record) for number, (turn, record) in enumerate(numbered, 1)),
        ORDERS.log(each, [variants[turn].places for turn in turns], more),
    )


def _all_orders(of_orders: Mapping[MetricKey, Any]) -> dict[MetricKey, float]:
    """Return, for each metric of right and wrong, whether the question is right in all orders (CircularEval, Liu et al.
    2023, arXiv:2307.06281). It has no such value if one order has none.
    """
    return {
        (metric, filter_of(ALL_ORDERS, own)): math.nan if any(map(is_nan, values)) else float(min(values))
        for (metric, own), values in orders_in(of_orders).items()
        if are_shares(values)
    }


def _explained(number: int, score: Score, record: Mapping[str, Any]) -> str:
    """Return what happened in one order, in a line: ``order 2 (D-A-B-C): chosen A, target B``."""
    order = f" ({'-'.join(record['order'])})" if "order" in record else ""
    chosen = f"chosen {record['chosen'] or 'none'}" if "order" in record else ""
    target = "" if score.target is None else f"target {score.target}"
    said = ", ".join(filter(None, (chosen, target, score.explanation)))
    return f"order {number}{order}: {said}"


def _record(score: Score, chosen: _ChosenPlace | None) -> dict[str, Any]:
    """Return what the log of a score says about an order besides its texts: the order, the place that was chosen, and
    the target there.
    """
    record: dict[str, Any] = {} if score.target is None else {"target": score.target}
    if chosen is not None:
        labels = option_labels(len(chosen.order))
        record["order"] = [labels[place] for place in chosen.order]
        record["chosen"] = None if chosen.place is None else labels[chosen.place]
    return record
