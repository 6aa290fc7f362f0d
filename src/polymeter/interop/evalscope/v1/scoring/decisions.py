"""Scores of single decisions with a probability for every option, and their numbers over a benchmark."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, ClassVar

from pydantic import BaseModel

from polymeter.interop.evalscope.v1.registries import get_metric, register_aggregation, register_metric
from polymeter.interop.evalscope.v1.scoring.aggregators import Mean
from polymeter.interop.evalscope.v1.scoring.metric_base import Metric
from polymeter.interop.evalscope.v1.types.scores import Aggregator, AggScore, SampleScore, Score

NLL_EPSILON = 1e-12
"""The least probability of which a logarithm is taken."""
_BINS = 10
_ACCURACY = ("acc", "accuracy")
_TOP, _OF_PROVIDER = "top_probability", "provider_confidence"


class DecisionObservation(BaseModel):
    """A decision with its right answer, as it is kept for the numbers of the benchmark.

    Attributes:
        kind: ``choice``, ``noul`` (yes or no) or ``score`` (a level of a scale).
        labels: The options, or the levels in their order.
        probabilities: A probability for each.
        raw_probabilities: As they came.
        gold: The right option, or a number on the scale.
        predicted: The option that was chosen.
        correct: Whether it is right.
        expected: The mean level.
        confidence: The provider's own confidence.
        threshold: From this probability of yes on, the choice is yes.
        continuous: Whether the right answer is a number between levels.
        family: A label for a mean over families.
        tier: A label.
        fixed_classes: Whether all decisions have the same options.
        class_labels: Names of classes by option.
        noul_rule: How yes or no was chosen.
    """

    kind: str
    labels: list[str]
    probabilities: list[float]
    raw_probabilities: dict[str, float]
    gold: str | float
    predicted: str
    correct: float
    expected: float | None = None
    confidence: float | None = None
    threshold: float | None = 0.5
    continuous: bool = False
    family: str = ""
    tier: str = ""
    fixed_classes: bool = False
    class_labels: dict[str, str] | None = None
    noul_rule: str = "threshold"

    @property
    def yes(self) -> float:
        """The probability of yes."""
        return self.probabilities[self.labels.index("yes")]

    @property
    def sureness(self) -> float:
        """The largest probability."""
        return max(self.probabilities)


Entry = tuple[SampleScore, DecisionObservation]


class ProbabilityMetric(Metric):
    """A loss of probabilities, written as a list in JSON, against a right place, written in JSON."""

    loss: ClassVar[Any]

    def apply(self, predictions: list[str], references: list[Any]) -> Sequence[float]:
        """The values of some decisions."""
        pairs = zip(predictions, references, strict=False)
        return [type(self).loss(json.loads(prediction), json.loads(reference)) for prediction, reference in pairs]


def _nll(p: Sequence[float], y: float) -> float:
    return -math.log(max(p[int(y)], NLL_EPSILON))


def _brier(p: Sequence[float], y: float) -> float:
    return sum((value - (at == int(y))) ** 2 for at, value in enumerate(p))


def _binary_brier(p: Sequence[float], y: float) -> float:
    return (p[1] - float(y)) ** 2


def _rps(p: Sequence[float], y: float) -> float:
    return sum((sum(p[: at + 1]) - (int(y) <= at)) ** 2 for at in range(len(p) - 1)) / (len(p) - 1)


def _mae(p: Sequence[float], y: float) -> float:
    return abs(sum(at * value for at, value in enumerate(p)) - float(y))


@register_metric("decision_nll")
class DecisionNLL(ProbabilityMetric):
    """The negative logarithm of the right option's probability."""

    loss = staticmethod(_nll)


@register_metric("decision_brier")
class DecisionBrier(ProbabilityMetric):
    """The squared error over all options."""

    loss = staticmethod(_brier)


@register_metric("decision_binary_brier")
class DecisionBinaryBrier(ProbabilityMetric):
    """The squared error of the probability of yes."""

    loss = staticmethod(_binary_brier)


@register_metric("decision_rps")
class DecisionRPS(ProbabilityMetric):
    """The squared error of the cumulative probabilities, per boundary between levels."""

    loss = staticmethod(_rps)


@register_metric("decision_mae")
class DecisionMAE(ProbabilityMetric):
    """The distance of the mean level."""

    loss = staticmethod(_mae)


def decision_score(  # noqa: PLR0913  (the signature that adapters are written against)
    answer: Any,
    gold: str | float,
    labels: list[str],
    *,
    continuous: bool = False,
    threshold: float = 0.5,
    family: str = "",
    tier: str = "",
    fixed_classes: bool = False,
    class_labels: dict[str, str] | None = None,
    normalize: bool = True,
    noul_use_argmax: bool = False,
) -> Score:
    """The score of a decision.

    Args:
        answer: The answer: its ``type``, its ``probabilities`` by option, and a ``confidence``.
        gold: The right option, or a number on the scale.
        labels: The options, or the levels in their order.
        continuous: The right answer is a number between levels.
        threshold: From this probability of yes on, the choice is yes.
        family: A label.
        tier: A label.
        fixed_classes: All decisions have the same options.
        class_labels: Names of classes by option.
        normalize: Scale the probabilities to the sum 1.
        noul_use_argmax: Choose the likelier of yes and no.

    Raises:
        ValueError: if the threshold is no probability.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"A threshold is between 0 and 1, not {threshold!r}.")
    total = sum(answer.probabilities.values())
    probabilities = [answer.probabilities[label] / (total if normalize else 1) for label in labels]
    by_label = dict(zip(labels, probabilities, strict=True))
    best = max(sorted(labels), key=by_label.__getitem__)
    if answer.type == "noul" and not noul_use_argmax:
        best = "yes" if by_label["yes"] >= threshold else "no"
    expected = sum(at * p for at, p in enumerate(probabilities)) if answer.type == "score" else None
    correct = float(not continuous and best == str(gold))
    observation = DecisionObservation(
        kind=answer.type,
        labels=labels,
        probabilities=probabilities,
        raw_probabilities=answer.probabilities,
        gold=gold,
        predicted=best,
        correct=correct,
        expected=expected,
        confidence=answer.confidence,
        threshold=None if noul_use_argmax else threshold,
        continuous=continuous,
        family=family,
        tier=tier,
        fixed_classes=fixed_classes,
        class_labels=class_labels,
        noul_rule="argmax" if noul_use_argmax else "threshold",
    )
    return Score(
        value=_losses(answer.type, probabilities, gold, labels, None if continuous else correct),
        main_score_name="mae" if continuous else "acc",
        extracted_prediction=str(expected) if continuous else best,
        metadata={
            "decision": observation.model_dump(),
            "probability_sum": total,
            "probabilities_normalized_for_scoring": normalize and not math.isclose(total, 1, abs_tol=1e-12),
            "nll_epsilon": NLL_EPSILON,
        },
    )


def _losses(
    kind: str, probabilities: list[float], gold: str | float, labels: list[str], correct: float | None
) -> dict[str, float]:
    """The values of a decision; without a right option, of a level alone."""
    values = {} if correct is None else {"acc": correct}
    if kind == "score":
        values["mae"] = _loss("mae", probabilities, float(gold))
    if correct is not None:
        at = labels.index(str(gold))
        if kind == "score":
            values["nrps"] = _loss("rps", probabilities, at)
        values["nll"] = _loss("nll", probabilities, at)
        values["brier"] = _loss("binary_brier" if kind == "noul" else "brier", probabilities, at)
    return values


def _loss(name: str, probabilities: list[float], gold: float) -> float:
    return float(get_metric(f"decision_{name}")()(json.dumps(probabilities), json.dumps(gold)))


@register_aggregation("decision")
class DecisionAggregator(Aggregator):
    """The means, and for each kind of decision and each scale: calibration, losses by confidence, and what can be
    computed of yes and no and of levels.
    """

    def __call__(self, scores: Sequence[SampleScore]) -> list[AggScore]:
        """The numbers of some decisions. Losses of different kinds are never averaged together."""
        groups: dict[tuple[str, int | None], list[Entry]] = defaultdict(list)
        for sample in scores:
            data = (sample.score.metadata or {}).get("decision")
            if data:
                row = DecisionObservation.model_validate(data)
                groups[row.kind, len(row.labels) if row.kind == "score" else None].append((sample, row))
        numbers = Mean()(scores)
        if len(groups) == 1:
            for number in numbers:
                if number.metric_name not in _ACCURACY:
                    number.dimensions = _dimensions(*next(iter(groups)))
        elif groups:
            numbers = [number for number in numbers if number.metric_name in _ACCURACY]
        for (kind, levels), entries in groups.items():
            numbers += _of_group(entries, kind, _dimensions(kind, levels), has_means=len(groups) > 1)
        return numbers + _of_families([row for entries in groups.values() for _, row in entries])


def ece(pairs: Sequence[tuple[float, float]], bins: int = _BINS) -> float:
    """The expected calibration error over bins of equal width.

    Args:
        pairs: A probability and whether it came true.
        bins: The number of bins.
    """
    gaps: dict[int, float] = defaultdict(float)
    for probability, outcome in pairs:
        gaps[min(int(probability * bins), bins - 1)] += probability - outcome
    return sum(map(abs, gaps.values())) / len(pairs)


def average_ranks(values: Sequence[float]) -> list[float]:
    """The ranks of some values, from 1 on; equal ones share the mean of theirs."""
    places: dict[float, list[int]] = defaultdict(list)
    for rank, value in enumerate(sorted(values), 1):
        places[value].append(rank)
    return [fmean(places[value]) for value in values]


def _dimensions(kind: str, levels: int | None) -> dict[str, Any]:
    return {"kind": kind} if levels is None else {"kind": kind, "levels": levels}


def _of_group(entries: Sequence[Entry], kind: str, dimensions: Mapping[str, Any], *, has_means: bool) -> list[AggScore]:
    rows = [row for _, row in entries]
    ids: list[Any] = [sample.sample_id for sample, _ in entries]
    notes: dict[str, Any] = {}
    numbers = Mean()([sample for sample, _ in entries]) if has_means else []
    for number in numbers:
        number.dimensions, number.aggregation = dict(dimensions), "decision"
    found = [*_calibration(rows, kind)]
    for name, value, more in found:
        numbers.append(_number(name, value, ids, {**dimensions, **more}))
    for basis in (_TOP, _OF_PROVIDER):
        eligible = [entry for entry in entries if basis == _TOP or entry[1].confidence is not None]
        if eligible:
            area, notes[f"risk_coverage_{basis}"] = _risk_curve([row for _, row in eligible], kind, basis)
            more = {"confidence": basis, "risk": "normalized_mae" if kind == "score" else "classification_error"}
            numbers.append(_number("aurc", area, [s.sample_id for s, _ in eligible], {**dimensions, **more}))
    own, unavailable = _of_yes_and_no(rows) if kind == "noul" else _of_levels(rows) if kind == "score" else ([], {})
    numbers += [_number(name, value, ids, dimensions) for name, value in own if math.isfinite(value)]
    if unavailable:
        notes["unavailable"] = unavailable
    for number in numbers:
        number.metadata = dict(notes)
    return numbers


def _number(name: str, value: float, ids: list[Any], dimensions: Mapping[str, Any]) -> AggScore:
    return AggScore(
        metric_name=name, aggregation="decision", score=value, num=len(ids), ids=ids, dimensions=dict(dimensions)
    )


def _calibration(rows: Sequence[DecisionObservation], kind: str) -> Iterator[tuple[str, float, dict[str, Any]]]:
    if any(row.continuous for row in rows):
        return
    is_binary = kind == "noul"
    pairs = [(row.yes, float(row.gold == "yes")) if is_binary else (row.sureness, row.correct) for row in rows]
    yield "ece", ece(pairs), {"bins": _BINS, "mode": "binary" if is_binary else "top_label"}
    classes = [row.class_labels or {label: label for label in row.labels} for row in rows]
    if all(row.fixed_classes for row in rows) and len({tuple(sorted(each.values())) for each in classes}) == 1:
        named = [(each[row.predicted], each[str(row.gold)]) for each, row in zip(classes, rows, strict=True)]
        yield "macro_f1", fmean(_f1(named, label) for label in classes[0].values()), {}


def _f1(named: Sequence[tuple[str, str]], label: str) -> float:
    right = sum(predicted == gold == label for predicted, gold in named)
    wrong = sum((predicted == label) != (gold == label) for predicted, gold in named)
    return 2 * right / (2 * right + wrong) if right or wrong else 0.0


def _risk_curve(rows: Sequence[DecisionObservation], kind: str, basis: str) -> tuple[float, list[dict[str, float]]]:
    """The area below the mean loss of the surest decisions, and its points. Equally sure ones enter together."""

    def sureness(row: DecisionObservation) -> float:
        return row.sureness if basis == _TOP or row.confidence is None else row.confidence

    def loss(row: DecisionObservation) -> float:
        is_level = kind == "score" and row.expected is not None
        return abs((row.expected or 0) - float(row.gold)) / (len(row.labels) - 1) if is_level else 1 - row.correct

    ordered = sorted(rows, key=sureness, reverse=True)
    curve: list[dict[str, float]] = []
    area = lost = 0.0
    before = 0
    for end, row in enumerate(ordered, 1):
        lost += loss(row)
        if end < len(ordered) and sureness(ordered[end]) == sureness(row):
            continue
        curve.append({"coverage": end / len(ordered), "risk": lost / end})
        area += (end - before) / len(ordered) * lost / end
        before = end
    return area, curve


def _of_yes_and_no(rows: Sequence[DecisionObservation]) -> tuple[list[tuple[str, float]], dict[str, str]]:
    gold = [row.gold == "yes" for row in rows]
    chosen = [row.predicted == "yes" for row in rows]
    p = [row.yes for row in rows]
    right, positives = sum(a and b for a, b in zip(gold, chosen, strict=True)), sum(gold)
    precision = right / sum(chosen) if any(chosen) else 0.0
    recall = right / positives if positives else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    numbers, unavailable = [("precision", precision), ("recall", recall), ("f1", f1)], {}
    if 0 < positives < len(rows):
        ranks = sum(rank for rank, is_yes in zip(average_ranks(p), gold, strict=True) if is_yes)
        pairs = positives * (len(rows) - positives)
        numbers.append(("auroc", (ranks - positives * (positives + 1) / 2) / pairs))
    else:
        unavailable["auroc"] = "Only one gold class."
    if positives:
        numbers.append(("auprc", _average_precision(p, gold)))
    else:
        unavailable["auprc"] = "No positive gold observations."
    return numbers, unavailable


def _average_precision(p: Sequence[float], gold: Sequence[bool]) -> float:
    total = found = seen = 0.0
    for probability in sorted(set(p), reverse=True):
        here = [is_yes for value, is_yes in zip(p, gold, strict=True) if value == probability]
        found, seen = found + sum(here), seen + len(here)
        total += sum(here) / sum(gold) * found / seen
    return total


def _of_levels(rows: Sequence[DecisionObservation]) -> tuple[list[tuple[str, float]], dict[str, str]]:
    import numpy as np

    gold, expected = [float(row.gold) for row in rows], [float(row.expected or 0) for row in rows]
    if len({*gold}) < 2 or len({*expected}) < 2:
        return [], {"correlations": "Need nonconstant predictions and golds."}
    spearman = np.corrcoef(average_ranks(gold), average_ranks(expected))[0, 1]
    return [("spearman", float(spearman)), ("pearson", float(np.corrcoef(gold, expected)[0, 1]))], {}


def _of_families(rows: Sequence[DecisionObservation]) -> list[AggScore]:
    families: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.family and not row.continuous:
            families[row.family].append(row.correct)
    if not families:
        return []
    means = {family: fmean(values) for family, values in families.items()}
    n = sum(map(len, families.values()))
    metadata = {"families": means}
    return [
        AggScore(
            metric_name="family_macro", aggregation="decision", score=fmean(means.values()), num=n, metadata=metadata
        )
    ]
