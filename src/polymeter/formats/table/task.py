"""A dataset that is bound to a model: its class makes the prompts and scores the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.identity import seed_for
from polymeter.core.request import Parameters
from polymeter.core.task import (
    Needs,
    ReduceContext,
    Result,
    Rollout,
    RolloutSteps,
    RowFunctions,
    Sample,
    Score,
    ScoredRow,
    Task,
    TaskSpec,
)
from polymeter.formats.table.reduction import Reduction
from polymeter.formats.table.requests import Asking, answer_of, choices_of
from polymeter.formats.table.rows import Table, TableSamples
from polymeter.formats.table.scoring import built_in, is_built_in, is_thread_safe, sample_score


@dataclass(eq=False)
class TsvTask:
    """See ``polymeter.core.task.Task``.

    Dataset classes keep what they like on themselves, so their methods are called one at a time, unless the class says
    ``is_thread_safe``.

    Attributes:
        spec: What it was made from.
        needs: What it needs of the run.
        fingerprint: Identity of the data.
        score_digest: Hash of what turns answers into scores.
        notes: What the user should know of how it was bound.
        dataset: The instance.
        table: Its rows.
        asking: How rows become requests.
        reduction: How answers become results.
        judge: What ``evaluate_sample`` is given besides row and prediction; ``None``: samples have no scores of their
            own.
        seed: The run's seed.
    """

    spec: TaskSpec
    needs: Needs
    fingerprint: str
    score_digest: str
    notes: tuple[str, ...]
    dataset: Any = field(repr=False)
    table: Table = field(repr=False)
    asking: Asking = field(repr=False)
    reduction: Reduction = field(repr=False)
    judge: Mapping[str, Any] | None
    seed: int
    num_fewshot: int = 0

    def __post_init__(self) -> None:
        found = type(self.dataset)
        self.is_thread_safe = is_thread_safe(found)
        self.is_guest = not (self.is_thread_safe and is_built_in(found))
        # Authors are given a Series; our own classes read any mapping.
        is_ours = is_built_in(found) and not self.asking.has_own_prompts
        self._line: Callable[[int], Any] = self.table.cells if is_ours else self.table.line

    @property
    def samples(self) -> TableSamples:
        """Its samples."""
        return TableSamples(self.spec.name, self.table, built_in(self.dataset, "cluster"))

    @property
    def asks(self) -> Sequence[Parameters]:
        """What its requests ask for."""
        return (self.asking.ask,)

    def play(self, sample: Sample) -> RolloutSteps:
        """Ask about one row, in one step."""
        seeds = [seed_for(self.seed, self.spec.name, sample.id, number) for number in range(self.asking.n)]
        yield from self.asking.rollout(self._line(sample.index), sample, seeds)

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Score one row's answer; without ``evaluate_sample`` a score without values.

        Raises:
            ScoreError: The model gave nothing, or the class raised or returned what is no score.
            UnscoredError: A judge's verdict could not be had or used.
        """
        prediction = self.asking.prediction(played.responses)
        target = answer_of(sample.doc)
        if self.judge is None:
            return Score({}, target or None)
        return sample_score(self.dataset, self._line(sample.index), prediction, self.judge, target)

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """Results of the samples' scores, and those that the class computes of all predictions."""
        return self.reduction.reduce(rows, context)

    def as_task(self) -> Task:
        """The record that the engine plays."""
        samples = self.samples
        return Task(
            spec=self.spec,
            needs=self.needs,
            samples=samples,
            rollout=self.play,
            score=self.score,
            reduce=self.reduce,
            row_functions=RowFunctions(
                full_doc=lambda index: samples[index].full_doc(),
                target=lambda index: answer_of(samples[index].doc),
                choices=lambda index: choices_of(samples[index].doc),
                prompt_row=self.table.line,
                dump_image=self.asking.dump_image,
            ),
            parameters=tuple(self.asks),
            fingerprint=self.fingerprint,
            score_digest=self.score_digest,
            is_guest=self.is_guest,
            is_thread_safe=self.is_thread_safe,
            num_fewshot=self.num_fewshot,
            notes=self.notes,
        )
