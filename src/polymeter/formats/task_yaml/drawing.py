"""``generate_image``: a task whose answers are pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.errors import PolymeterError, ScoreError
from polymeter.core.parts import is_picture
from polymeter.core.repeats import repeats_of
from polymeter.core.request import Parameters, Request, Response
from polymeter.core.task import ReduceContext, Result, Rollout, RolloutSteps, Sample, Score, ScoredRow
from polymeter.formats.task_yaml.generation import ImagePlan
from polymeter.formats.task_yaml.metrics import BoundMetric, call_score
from polymeter.formats.task_yaml.pictures import golds_of
from polymeter.formats.task_yaml.prompt import full_row
from polymeter.formats.task_yaml.reduction import reduce_task
from polymeter.formats.task_yaml.scoring import Scorer, as_text
from polymeter.formats.task_yaml.task import YamlTask

_NO_FILTER = "none"
_BYPASS = frozenset({"bypass", "by_pass"})


class DrawingTask(YamlTask):
    """A task that asks for pictures, and compares each with the row's targets. Of several pictures of one prompt a
    metric is the mean.
    """

    def bind(self, plan: ImagePlan, scorer: Scorer | None) -> DrawingTask:
        """Say how it asks and scores; called once, by ``compile_task``."""
        self._plan = plan
        self._scorer = scorer
        self._sees_media = self.config.process_results_use_image
        self._of_samples = tuple(metric for metric in self._metrics if metric.of_sets is None)
        self._of_sets = tuple(metric for metric in self._metrics if metric.of_sets is not None)
        self._names = frozenset(metric.name for metric in self._of_samples)
        self._is_compared = not self._names <= _BYPASS
        self._needs_targets = bool(self._of_sets) or (scorer is None and self._is_compared)
        return self

    @property
    def asks(self) -> Sequence[Parameters]:
        """Pictures, with the settings of all its requests."""
        return (self._plan.ask,)

    def play(self, sample: Sample) -> RolloutSteps:
        """Ask once; a task with repeats asks that many times at once. Every picture has a seed of its own."""
        origin = self._origin(sample, self._plan.raw)
        messages = yield from self.prompt.asked(sample, origin)
        request = Request(messages, self._plan.ask, origin)
        asked = repeats_of(request, self._plan.n * self.config.repeats, self._run_seed, self.spec.name, sample.id)
        yield asked if len(asked) > 1 else asked[0]

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score the pictures of one sample.

        Raises:
            ScoreError: There is none, the task's code raised, or a metric finds nothing to compare with.
            DataError: A target cannot be read.
        """
        pictures = list(_pictures(played.responses))
        if not pictures:
            raise ScoreError(f"Sample {sample.id} of task {self.spec.name!r} has no picture to score.")
        targets, problem = self._targets(sample)
        references = _references(targets)
        target = problem or _shown(targets)
        if self._scorer is not None:
            found = self._scorer(full_row(sample) if self._sees_media else sample.doc, pictures)
            values = {(name, _NO_FILTER): value for name, value in found.items() if name in self._names}
            log = {name: value for name, value in found.items() if name not in self._names}
            return Score(values, target, None, None, {**references, **log})
        each = picture_values(self._of_samples, targets, pictures)
        values = {(name, _NO_FILTER): _mean(found, name) for name, found in each.items()}
        log = {"per_picture": each} if len(pictures) > 1 and self._is_compared else {}
        return Score(values, target, None, self._resized(targets, pictures), {**references, **log})

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """Results from rows in sample order; what is of all pictures draws them from the rows one by one."""
        name = self.spec.name
        found = reduce_task(name, rows, self._of_samples, self._filters, context, self.config.score_key)
        found += [self._between_sets(metric, rows, context) for metric in self._of_sets]
        order = {metric.name: place for place, metric in enumerate(self._metrics)}
        return sorted(found, key=lambda result: (bool(result.subset), order[result.metric]))

    def _targets(self, sample: Sample) -> tuple[Sequence[Any], str]:
        """What the pictures are compared with, and why it is not known: where a task scores by itself, or not at all,
        it is right whatever its ``doc_to_target`` does.
        """
        try:
            targets = self._target(full_row(sample))
        except PolymeterError as error:
            if self._needs_targets:
                raise
            return (), f"doc_to_target failed: {error}"
        for metric in self._of_sets:
            _refuse_nothing(metric, golds_of(metric, targets))
        return targets, ""

    def _resized(self, targets: Sequence[Any], pictures: Sequence[Any]) -> str | None:
        """A note where a picture had to be brought to the size of what it was compared with."""
        if all(metric.reference != "image" for metric in self._of_samples):
            return None
        wanted = {target.size for target in targets if is_picture(target)}
        other = sorted({picture.size for picture in pictures} - wanted)
        if not other:
            return None
        width, height = other[0]
        return f"A picture of {width} × {height} pixels was brought to the reference's size first."

    def _between_sets(self, metric: BoundMetric, rows: Iterable[ScoredRow], context: ReduceContext) -> Result:
        assert metric.of_sets is not None
        n = sum(row.score is not None for row in rows)
        result = Result(metric.name, _NO_FILTER, None, n, higher_is_better=metric.higher_is_better)
        try:
            value = metric.of_sets(_all_pictures(rows), self._all_references(rows), **metric.kwargs) if n else None
        except PolymeterError as error:
            if context.failed is None:
                raise
            context.failed(error)
            return result
        return replace(result, value=value)

    def _all_references(self, rows: Iterable[ScoredRow]) -> Iterator[Any]:
        for row in rows:
            if row.score is not None:
                targets = self._target(full_row(self._samples[row.index]))
                yield from (target for target in targets if is_picture(target))


def picture_values(
    metrics: Sequence[BoundMetric], targets: Sequence[Any], pictures: Sequence[Any]
) -> dict[str, list[Any]]:
    """The values of the metrics, for each the values of the pictures in order.

    Raises:
        ScoreError: A metric raised, or finds nothing to compare with among the targets.
    """
    values: dict[str, list[Any]] = {}
    for metric in metrics:
        if metric.name in _BYPASS:
            values[metric.name] = [len(pictures)]
            continue
        golds = golds_of(metric, targets)
        _refuse_nothing(metric, golds)
        values[metric.name] = [call_score(metric, golds, picture) for picture in pictures]
    return values


def _refuse_nothing(metric: BoundMetric, golds: Sequence[Any]) -> None:
    if metric.reference is not None and not golds:
        raise ScoreError(f"Metric {metric.name!r} finds nothing to compare with in this row's doc_to_target.")


def _pictures(responses: Iterable[Response]) -> Iterator[Any]:
    for response in responses:
        for output in response.outputs:
            yield from output.images


def _all_pictures(rows: Iterable[ScoredRow]) -> Iterator[Any]:
    for row in rows:
        if row.score is not None:
            yield from _pictures(row.responses())


def _mean(values: Sequence[Any], name: str) -> Any:
    if len(values) == 1:
        return values[0]
    if not all(isinstance(value, (int, float)) for value in values):
        raise ScoreError(f"Metric {name!r} gave something other than numbers for several pictures, which have no mean.")
    return math.fsum(values) / len(values)


def _shown(targets: Sequence[Any]) -> str | None:
    """The texts among the targets, for people."""
    texts = [target for target in targets if isinstance(target, str)]
    return as_text(texts) if texts else None


def _references(targets: Sequence[Any]) -> Mapping[str, Any]:
    """The pictures among the targets, as the report shows them beside the answer."""
    pictures = [target for target in targets if is_picture(target)]
    if len(pictures) == 1:
        return {"reference": pictures[0]}
    return {f"reference {number}": picture for number, picture in enumerate(pictures, 1)}
