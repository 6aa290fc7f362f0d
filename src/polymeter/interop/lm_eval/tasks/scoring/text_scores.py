"""The values of a generated answer: each metric on the answer and its reference, or on each of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError, ScoreError, boundary
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.metrics import as_written
from polymeter.metrics.references import share_equal
from polymeter.metrics.text import exact_match
from polymeter.reading.lists import PrintedList
from polymeter.tasks.yaml.scoring.metrics import BoundMetric

if TYPE_CHECKING:
    from polymeter.interop.lm_eval.tasks.scoring.chain_scores import RowFields

_EXACT, _BYPASS, _ACC = "exact_match", "bypass", "acc"
Values = tuple[Mapping[str, Any], Mapping[str, str]]


def refuse_pairs_under_means(metrics: Sequence[BoundMetric], task: str) -> None:
    """Refuse a metric that only passes reference and answer on, and then takes the mean of such pairs.

    Raises:
        PlanError: if there is one.
    """
    for metric in metrics:
        is_mean = metric.aggregation is not None and metric.aggregation.name in ("mean", "nanmean", "median")
        if metric.score is None and is_mean and metric.name not in (_EXACT, _BYPASS, _ACC):
            raise PlanError(
                f"Metric {metric.name!r} of task {task!r} passes generated texts to its aggregation, and "
                f"{metric.aggregation.name if metric.aggregation else 'mean'} cannot aggregate texts.",
                hint="Name an aggregation of texts, or compute the value in process_results.",
            )


def text_scores(
    metrics: Sequence[BoundMetric], fields: RowFields, multiple_target: int = 0, parity: Parity = NO_PARITY
) -> Callable[[Any, list[Any]], Values]:
    """From a row and its filtered answers, the values by metric, and for those that are a part of another, the name of
    that one.

    A target of another type becomes text, as the answer is one. Of several targets a metric counts the nearest; one
    that passes on reference and answer passes all of them on.

    Args:
        metrics: The metrics.
        fields: The values of a row; if it has choices, a target is the index of one.
        multiple_target: Whether the first row has several targets, which decides for all where the run is at parity.
        parity: The other system whose values are used.
    """
    is_any = parity.on("any-target")
    keeps_list = parity.on("repeated-answers")
    is_by_first_row = parity.on("first-row-targets")
    splits_printed = parity.on("printed-targets")
    exact = partial(_exact, as_written.exact_match if parity.on("exact-as-written") else exact_match)
    casts = all(metric.name != _BYPASS for metric in metrics)

    def references(doc: Any, answer: Any) -> tuple[list[Any], bool]:
        """The references, and whether there are several."""
        target = fields.target(doc)
        if isinstance(target, PrintedList) and not (target.is_several or fields.has_choices or splits_printed):
            return [target.text], False
        is_missing = target is None or (isinstance(target, (list, tuple)) and not target)
        if is_missing and not parity.on("none-target"):
            raise ScoreError(
                "The row has no target to compare the answer with.", hint="Leave it out with process_docs."
            )
        if fields.has_choices:
            choices = list(fields.choices(doc))
            if isinstance(target, (list, tuple)):
                return [_choice(item, choices) for item in target], True
            return [_choice(target, choices)], False
        is_several = bool(multiple_target) if is_by_first_row else isinstance(target, (list, tuple))
        if is_several:
            # A text among rows with lists is taken apart into characters there.
            return list(target) if is_by_first_row or not isinstance(target, str) else [target], True
        return [_cast(target, answer) if casts else target], False

    def values(doc: Any, results: list[Any]) -> Values:
        answer = results[0]
        golds, is_several = references(doc, answer)
        made: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for metric in metrics:
            if is_several:
                value = _several(metric, golds, answer, is_any, exact)
            else:
                value = _single(metric, golds[0], answer, exact)
            if keeps_list and is_several and metric.name == _EXACT:
                answer = [answer] * len(golds)  # there the variable is overwritten, and later metrics get the list
            if isinstance(value, Mapping):
                made |= {str(name): item for name, item in value.items()}
                sources |= {str(name): metric.name for name in value if str(name) != metric.name}
            else:
                made[metric.name] = value
        return made, sources

    return values


def _single(metric: BoundMetric, gold: Any, answer: Any, exact: Callable[..., float]) -> Any:
    if metric.score is not None:
        return _called(metric, gold, answer)
    if metric.name == _EXACT:
        return exact(metric, [gold], answer)
    if _is_accuracy(metric):
        return share_equal([gold], [answer])
    return answer if metric.name == _BYPASS else [gold, answer]


def _several(metric: BoundMetric, golds: list[Any], answer: Any, is_any: bool, exact: Callable[..., float]) -> Any:
    if metric.score is None and metric.name == _EXACT:
        return exact(metric, golds, answer)
    if metric.score is None:
        if _is_accuracy(metric):
            return share_equal(golds, [answer])
        return answer if metric.name == _BYPASS else [golds, answer]
    scores = [_called(metric, gold, answer) for gold in golds]
    scores = [_own_value(metric, score) for score in scores]
    if is_any:
        return float(any(scores))
    return (min if metric.higher_is_better is False else max)(scores, default=0.0)


def _exact(match: Callable[..., float], metric: BoundMetric, golds: list[Any], answer: Any) -> float:
    """Return whether the answer equals a reference; of several answers the share that does."""
    answers = answer if isinstance(answer, list) else [answer]
    if not answers:
        raise ScoreError("The filters left no answer to score.")
    return sum([match(golds, [each], **metric.kwargs) for each in answers]) / len(answers)


def _called(metric: BoundMetric, gold: Any, answer: Any) -> Any:
    """The value of an author's metric, called with names, or if that fails with one list, the older form."""
    assert metric.score is not None
    with boundary(ScoreError, f"Metric {metric.name!r}"):
        try:
            return metric.score(references=[gold], predictions=[answer], **metric.kwargs)
        except TypeError as first:
            try:
                return metric.score([gold, answer])
            except TypeError:
                raise first from None


def _own_value(metric: BoundMetric, value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if metric.name not in value:
        raise ScoreError(f"Metric {metric.name!r} returned the keys {sorted(map(str, value))}, but not its own name.")
    return value[metric.name]


def _is_accuracy(metric: BoundMetric) -> bool:
    """Return whether a metric is ``acc`` as a mean. lm-eval has no number for it; here it is the share of answers that
    equal their target.
    """
    return metric.name == _ACC and metric.aggregation is not None


def _cast(target: Any, answer: Any) -> Any:
    """A target of the answer's type, if it can be made; several answers have none."""
    if answer is None or isinstance(answer, list) or type(target) is type(answer):
        return target
    try:
        return type(answer)(target)
    except (TypeError, ValueError):  # then no answer of that type equals it
        return target


def _choice(item: Any, choices: Sequence[Any]) -> Any:
    """Return the choice of an index; a text is returned unchanged."""
    if not isinstance(item, Integral):
        return item
    index = int(item)
    if not -len(choices) <= index < len(choices):
        raise ScoreError(f"The target is choice {index}, but there are {len(choices)} choices.")
    return choices[index]
