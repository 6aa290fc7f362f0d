"""Repeats of a question, and orders of its choices, in the score of a sample: the names of their values, and the
estimates that follow from these.

A sample keeps the value of each repeat under the filter ``repeat 1``, ``repeat 2`` and so on, and that of each order
under ``order 1`` and so on, behind the task's own filter if that has a name (``strict/repeat 1``). Each order may be
repeated (``order 1/repeat 2``). The mean over them stands under the metric's own key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from polymeter.core.text.codec import is_nan

Key = tuple[str, str]
"""Metric and filter."""

NO_FILTER = "none"
_OF_REPEAT = re.compile(r"(?:(?P<filter>.*)/)?repeat (?P<number>[1-9][0-9]*)", re.DOTALL)
_OF_ORDER = re.compile(
    r"(?:(?P<filter>.*)/)?order (?P<number>[1-9][0-9]*)(?:/(?P<repeat>repeat [1-9][0-9]*))?", re.DOTALL
)
ALL_ORDERS, ORDER_SD, ORDER_SPREAD = "all orders", "order sd", "order spread"
"""The filters of estimates over orders: the share of questions that are right in all of them, the standard deviation of
the results of the orders, and the part of it that sampling does not explain."""
CHOICE, CHOICE_BIAS = "choice", "choice_bias"
"""The metrics of what was chosen, whether right or wrong, and of how much the place decided that."""
CONSISTENCY, UNREAD, AT = "consistency", "unread", "at "
"""Their filters; the last one stands before the letter of a place."""
_OF_CHOICES = re.compile(rf"(?:{CONSISTENCY}|{UNREAD}|{AT}[A-Z]+)(?:/repeat [1-9][0-9]*)?")
_ORDER_ESTIMATE = re.compile(
    rf"(?:(?P<filter>.*)/)?(?:order [1-9][0-9]*|{ALL_ORDERS}|{ORDER_SD}|{ORDER_SPREAD})", re.DOTALL
)
_ESTIMATE = re.compile(r"(?:.*/)?(?P<how>mean@|maj@|pass[@^])(?P<k>[1-9][0-9]*)", re.DOTALL)


def pass_at_k(n: int, n_passed: int, k: int) -> float:
    """Estimate the probability that at least one of ``k`` attempts passes. The attempts are drawn without replacement
    from ``n``, and ``n_passed`` of these pass. This is the unbiased estimator 1 − C(n−c, k) / C(n, k) of Chen et al.
    2021 (arXiv:2107.03374, section 2.1), computed as a product so that no binomial coefficient overflows.

    Args:
        n: The number of attempts, at least ``k``.
        n_passed: The number of attempts that passed.
        k: The number of attempts that count.

    Raises:
        ValueError: if there are fewer than ``k`` attempts.
    """
    _check_enough(n, k)
    if n - n_passed < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / attempt for attempt in range(n - n_passed + 1, n + 1))


def pass_all_k(n: int, n_passed: int, k: int) -> float:
    """Estimate the probability that all of ``k`` attempts pass, drawn as in ``pass_at_k``: C(c, k) / C(n, k) (Yao et
    al. 2024, arXiv:2406.12045, section 4).

    Raises:
        ValueError: if there are fewer than ``k`` attempts.
    """
    _check_enough(n, k)
    return math.comb(n_passed, k) / math.comb(n, k)


def _check_enough(n: int, k: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"pass@{k} needs at least {k} attempts, and there are {n}")


def filter_of(name: str, own: str) -> str:
    """Return the filter of an estimate (``pass@2``) or repeat (``repeat 2``) of a task's own filter."""
    return name if own == NO_FILTER else f"{own}/{name}"


def is_of_repeat(name: str) -> bool:
    """Return whether a filter is that of one repeat."""
    return _OF_REPEAT.fullmatch(name) is not None


def is_of_part(name: str) -> bool:
    """Return whether a filter is that of one repeat or of one order of the choices."""
    return is_of_repeat(name) or _OF_ORDER.fullmatch(name) is not None


def is_of_choices(key: Key) -> bool:
    """Return whether a value is about what was chosen, right or wrong, and so is no score."""
    return key[0] in (CHOICE, CHOICE_BIAS) and _OF_CHOICES.fullmatch(key[1]) is not None


def own_filter(name: str) -> str:
    """Return the task's own filter behind that of a repeat or an order; any other filter is its own."""
    match = _OF_ORDER.fullmatch(name) or _OF_REPEAT.fullmatch(name)
    return name if match is None else match["filter"] or NO_FILTER


def _without_repeat(name: str) -> str:
    match = _OF_REPEAT.fullmatch(name)
    return name if match is None else match["filter"] or NO_FILTER


def estimates_among(keys: Collection[Key]) -> set[Key]:
    """Return the keys of results that are estimates of repeats, or of orders of the choices. A filter of the task
    itself may have such a name too (``pass@2``). It differs from an estimate, because with repeats it has a ``mean@N``
    of its own, and with orders an ``order 1``.
    """
    own = {(metric, _own_of(name, match)) for metric, name in keys if (match := _is_mean(name))}
    of_repeats = {
        (metric, name)
        for metric, name in keys
        if (match := _ESTIMATE.fullmatch(name)) and (metric, _own_of(name, match)) in own and (metric, name) not in own
    }
    ordered = {(metric, own_filter(name)) for metric, name in keys if _OF_ORDER.fullmatch(name)}
    return of_repeats | {
        (metric, name)
        for metric, name in keys
        if is_of_choices((metric, name))
        or ((match := _ORDER_ESTIMATE.fullmatch(name)) and (metric, match["filter"] or NO_FILTER) in ordered)
    }


def _own_of(name: str, match: re.Match[str]) -> str:
    """Return the task's own filter behind that of an estimate."""
    return name[: match.start("how")].rstrip("/") or NO_FILTER


def shown_filters(names: Collection[str]) -> set[str]:
    """Return the filters of a metric's results that tables show.

    Of orders of the choices, the first is shown, which is the author's. ``mean@N`` stands for the metric's own number,
    which is the same. Of ``pass@k`` and ``pass^k`` those are shown whose
    k is a power of two or N; ``pass^1`` is ``pass@1``.
    """
    names = {name for name in names if (match := _OF_ORDER.fullmatch(name)) is None or match["number"] == "1"}
    n_by_own = {name[: match.start("how")]: int(match["k"]) for name in names if (match := _is_mean(name))}
    if not n_by_own:
        return names
    hidden = {own.rstrip("/") or NO_FILTER for own in n_by_own}
    for name in names:
        match = _ESTIMATE.fullmatch(name)
        n = None if match is None else n_by_own.get(name[: match.start("how")])
        if match is not None and n is not None and match["how"].startswith("pass"):
            k = int(match["k"])
            is_step = k == n or k & (k - 1) == 0
            hidden |= set() if is_step and (match["how"], k) != ("pass^", 1) else {name}
    return names - hidden


def _is_mean(name: str) -> re.Match[str] | None:
    match = _ESTIMATE.fullmatch(name)
    return match if match is not None and match["how"] == "mean@" else None


def repeats_in(values: Mapping[Key, Any]) -> dict[Key, list[Any]]:
    """Return the values of the repeats in a score, in order, by the metric's own key."""
    found: dict[Key, list[Any]] = {}
    for (metric, name), value in values.items():
        if is_of_repeat(name):
            found.setdefault((metric, _without_repeat(name)), []).append(value)
    return found


def orders_in(values: Mapping[Key, Any]) -> dict[Key, list[Any]]:
    """Return the values of the orders of the choices in a score, by the key of their mean: the metric's own, or that of
    a repeat.
    """
    found: dict[Key, list[Any]] = {}
    for (metric, name), value in values.items():
        match = _OF_ORDER.fullmatch(name)
        if match is not None:
            own = match["filter"] or NO_FILTER
            found.setdefault((metric, filter_of(match["repeat"], own) if match["repeat"] else own), []).append(value)
    return found


def with_means(values: Mapping[Key, Any]) -> dict[Key, Any]:
    """Return the values of a score with the means over its orders and over its repeats under the key of each metric
    that has numbers. A NaN is no value, and does not count.
    """
    known = {**values, **_means(orders_in(values))}
    return {**known, **_means(repeats_in(known))}


def _means(found: Mapping[Key, Sequence[Any]]) -> dict[Key, float]:
    numbers = {key: _numbers(each) for key, each in found.items()}
    return {key: _mean_of_known(known) for key, known in numbers.items() if known is not None}


def with_estimates(values: Mapping[Key, Any]) -> dict[Key, Any]:
    """Return the values of a score with the estimates for its question: ``mean@N`` of each metric that has numbers
    (see ``with_means``), and ``pass@k`` and ``pass^k`` for k from 1 to N where these are all 0 or 1. With a NaN among
    them, the question has no ``pass@k`` and ``pass^k``, because fewer than N attempts are known.
    """
    found = dict(values)
    for (metric, own), each in repeats_in(values).items():
        numbers = _numbers(each)
        if numbers is None:
            continue
        n = len(numbers)
        found[metric, filter_of(f"mean@{n}", own)] = _mean_of_known(numbers)
        if set(numbers) <= {0.0, 1.0}:
            n_passed = int(sum(numbers))
            for k in range(1, n + 1):
                found[metric, filter_of(f"pass@{k}", own)] = pass_at_k(n, n_passed, k)
                found[metric, filter_of(f"pass^{k}", own)] = pass_all_k(n, n_passed, k)
    return found


def are_shares(values: Sequence[Any]) -> bool:
    """Return whether the values of a question's repeats are numbers that are all 0 or 1. A NaN is no value, and does
    not count.
    """
    numbers = _numbers(values)
    return numbers is not None and all(value in (0.0, 1.0) or is_nan(value) for value in numbers)


def majority(answers: Sequence[str | None]) -> int:
    """Return the place of the most frequent answer; at a tie, of the one that came first. ``None`` casts no vote; if
    nothing else is there, the first place is returned.
    """
    votes: dict[str, int] = {}
    for answer in answers:
        if answer is not None:
            votes[answer] = votes.get(answer, 0) + 1
    if not votes:
        return 0
    return [*answers].index(max(votes, key=votes.__getitem__))


def _mean_of_known(numbers: Sequence[float]) -> float:
    known = [value for value in numbers if not is_nan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _numbers(values: Sequence[Any]) -> list[float] | None:
    """Return values as numbers; ``None`` if one is none."""
    plain = [value.item() if _is_scalar_array(value) else value for value in values]
    return [float(value) for value in plain] if all(isinstance(value, (int, float)) for value in plain) else None


def _is_scalar_array(value: Any) -> bool:
    return hasattr(value, "dtype") and getattr(value, "shape", None) == ()
