"""Scoring: the values of each scorer for the answers to a sample, combined over repeats, and the results of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from polymeter.core.content import is_image
from polymeter.core.errors import ScoreError
from polymeter.core.task import MetricKey, ReduceContext, Result, Sample, Score, ScoredRow
from polymeter.stats import RowReduction
from polymeter.tasks.python.fields import BoundFields, called, targets_of
from polymeter.tasks.python.rows import row_of
from polymeter.tasks.python.scoring.bound_scorers import OF, RETURNS, BoundScorer
from polymeter.tasks.python.scoring.combining import Combine, combined_score
from polymeter.tasks.python.writing.scorers import Scored
from polymeter.tasks.yaml.outputs.images import image_values, set_result
from polymeter.tasks.yaml.scoring.readings import as_text, default_scorer
from polymeter.tasks.yaml.scoring.reduction import NO_FILTER, reduce_task


@dataclass(frozen=True, slots=True)
class AnswerScoring:
    """Everything that scores the answers of a task.

    Attributes:
        fields: Its fields.
        scorers: Its scorers.
        combined: The ways in which the scores of repeats become one, by the name of the reading.
    """

    fields: BoundFields
    scorers: tuple[BoundScorer, ...]
    combined: Mapping[str, Combine]

    def score_of(self, sample: Sample, answers: Sequence[Any]) -> Score:
        """Score a sample.

        Args:
            sample: The sample.
            answers: The answers to it, one for each repeat: texts, Pillow images, or what a generator returned.

        Raises:
            ScoreError: if there is no answer or no reference, or a scorer fails.
        """
        if not answers:
            raise ScoreError(f"Sample {sample.id} of task {self.fields.task.name!r} has no answer to score.")
        row = row_of(sample)
        reference = self.fields.reference(row)
        values: dict[MetricKey, Any] = {}
        extracted: dict[MetricKey, str | None] = {}
        notes = _Notes()
        for scorer in self.scorers:
            if reference is None and scorer.needs_reference:
                what = f"Sample {sample.id} of task {self.fields.task.name!r} has no reference."
                raise ScoreError(
                    what, where=self.fields.task.where, hint="Write it into the row, or leave the row out."
                )
            if scorer.metric is not None and scorer.metric.of_sets is not None:
                continue
            n_notes = len(notes.answers)
            for name, found in self._values(scorer, sample, row, reference, answers, notes).items():
                values.update({(name, reading): value for reading, value in found.items()})
                if len(answers) == 1:
                    part = _extracted(scorer, answers[0], notes.answers[n_notes:])
                    extracted |= {(name, reading): text for reading in found for text in part}
        shown = _shown_images(reference)
        return Score(
            values,
            None if shown else as_text(reference),
            notes.answer or _shown_answer(answers),
            notes.explanation,
            {**shown, **notes.log},
            extracted=extracted,
        )

    def _values(
        self,
        scorer: BoundScorer,
        sample: Sample,
        row: dict[str, Any],
        reference: Any,
        answers: Sequence[Any],
        notes: _Notes,
    ) -> Mapping[str, Mapping[str, Any]]:
        """Return the values of a scorer for a sample: name → reading → value."""
        if scorer.takes_all or scorer.is_pair:
            return {
                name: {NO_FILTER: value}
                for name, value in self._scored(scorer, row, reference, answers[0], answers, notes).items()
            }
        each = [
            self._scored(scorer, row_of(sample) if number else row, reference, answer, answers, notes)
            for number, answer in enumerate(answers)
        ]
        names = dict.fromkeys(name for one in each for name in one)
        return {
            name: {reading: combined_score(combine, answers, name, each) for reading, combine in self.combined.items()}
            for name in names
        }

    def _scored(
        self,
        scorer: BoundScorer,
        row: dict[str, Any],
        reference: Any,
        answer: Any,
        answers: Sequence[Any],
        notes: _Notes,
    ) -> Mapping[str, Any]:
        """Return the values of a scorer for one answer, by name."""
        if scorer.metric is not None:
            return {scorer.name: _of_metric(scorer, reference, row, answer, answers)}
        assert scorer.scorer is not None
        given = {"answer": answer, "reference": reference, "row": row, "answers": list(answers)}
        named = {name: given[name] for name in scorer.scorer.arguments}
        task = self.fields.task.name
        doing = f"Scorer {scorer.name!r} of task {task!r}"
        returned = called(scorer.scorer.function, (), named, doing, ScoreError, self.fields.columns)
        if isinstance(returned, Scored):
            notes.add(returned)
            returned = returned.value
        values = {scorer.name: returned}
        if isinstance(returned, Mapping):
            values = {f"{scorer.name}{OF}{name}": value for name, value in returned.items()}
        if scorer.takes_any_value:
            return values
        return {name: _number(value, name, doing) for name, value in values.items()}


class _Notes:
    """Texts and values that scorers return beside their scores."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self._explanations: list[str] = []
        self.log: dict[str, Any] = {}

    def add(self, scored: Scored) -> None:
        """Keep the texts and values of one score."""
        self.answers += [scored.answer] if scored.answer is not None else []
        self._explanations += [scored.explanation] if scored.explanation is not None else []
        self.log.update(scored.log)

    @property
    def answer(self) -> str | None:
        """The parts of answers that were scored."""
        return _numbered(list(dict.fromkeys(self.answers)))

    @property
    def explanation(self) -> str | None:
        """The reasons."""
        return _numbered(self._explanations)


def _of_metric(scorer: BoundScorer, reference: Any, row: dict[str, Any], answer: Any, answers: Sequence[Any]) -> Any:
    metric = scorer.metric
    assert metric is not None
    if is_image(answer):
        return image_values((metric,), targets_of(reference), [answer])[metric.name][0]
    texts = [item if isinstance(item, str) else str(item) for item in (answers if metric.takes_all else [answer])]
    return default_scorer((metric,), lambda doc: reference, None)(row, texts)[metric.name]


def _extracted(scorer: BoundScorer, answer: Any, stated: Sequence[str]) -> Iterator[str | None]:
    """Yield the part of an answer that was scored, if a metric by name or the function states one."""
    metric = scorer.metric
    if metric is None:
        yield from [text or None for text in stated[:1]]
    elif metric.extract is not None and isinstance(answer, str):
        yield metric.extract(answer, **metric.kwargs)


def _number(value: Any, name: str, doing: str) -> float:
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, (bool, Real)):
        return float(value)
    given = "None" if value is None else repr(value)[:80]
    where = f" for {name.partition(OF)[2]!r}" if OF in name else ""
    raise ScoreError(
        f"{doing} returned {given}{where}, which is not a number.",
        hint=RETURNS,
    )


def reduce_scores(
    scoring: AnswerScoring, references: Callable[[int], Any], rows: Iterable[ScoredRow], context: ReduceContext
) -> list[Result]:
    """Return the results of a task, in the order of its scorers.

    Args:
        scoring: How it scores.
        references: From the position of a sample to its reference, for metrics that compare sets of images.
        rows: Its rows in sample order.
        context: What the reduction may use.
    """
    results: list[Result] = []
    for scorer in scoring.scorers:
        readings = tuple(scoring.combined) if not (scorer.takes_all or scorer.is_pair) else (NO_FILTER,)
        if scorer.metric is not None and scorer.metric.of_sets is not None:
            results.append(set_result(scorer.metric, rows, lambda index: targets_of(references(index)), context))
        elif scorer.metric is not None:
            results += reduce_task(
                rows,
                context,
                task=scoring.fields.task.name,
                metrics=(scorer.metric,),
                filters=readings,
                score_key="score",
            )
        else:
            results += _of_function(scorer, readings, rows, context)
    return results


def _of_function(
    scorer: BoundScorer,
    readings: Sequence[str],
    rows: Iterable[ScoredRow],
    context: ReduceContext,
) -> list[Result]:
    """Return the results of a function, whose scores name its values."""
    reduction = RowReduction(
        (), lambda key: scorer.plan(*key) if key[0].partition(OF)[0] == scorer.name and key[1] in readings else None
    )
    for row in rows:
        reduction.add(row.score, row.subset, row.cluster, row.id)
    try:
        results = reduction.results(context.seed)
    except ScoreError as error:
        if context.failed is None:
            raise
        context.failed(error)
        results = []
    if results:
        return results
    plans = [scorer.plan(scorer.name, reading) for reading in readings]
    return [Result(plan.name, plan.filter, None, 0, higher_is_better=plan.higher_is_better) for plan in plans]


def _shown_answer(answers: Sequence[Any]) -> str | None:
    """Return the answers as text. Images are shown by themselves."""
    return _numbered([as_text(answer) or "" for answer in answers if not is_image(answer)])


def _numbered(texts: Sequence[str]) -> str | None:
    """Return one text, or several with their numbers."""
    if len(texts) < 2:
        return texts[0] if texts else None
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


def _shown_images(reference: Any) -> dict[str, Any]:
    """Return the images of a reference, which the report shows beside the answer."""
    items = reference if isinstance(reference, (list, tuple)) else [reference]
    images = [item for item in items if is_image(item)]
    if len(images) == 1:
        return {"reference": images[0]}
    return {f"reference {number}": image for number, image in enumerate(images, 1)}
