"""A benchmark that is bound to a model: its prompts are made, its answers are scored by its adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.identity import seed_for
from polymeter.core.repeats import repeats_of
from polymeter.core.request import Loglikelihood, Origin, Parameters
from polymeter.core.samples import SampleView
from polymeter.core.task import (
    MetricKey,
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
from polymeter.guests import contained
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.reduction import REVIEW_KEY, Reduced, Reduction
from polymeter.interop.evalscope.tasks.requests import Asking
from polymeter.interop.evalscope.tasks.reviewing import Review, Reviewer

_SHOWN = 2000


@dataclass(frozen=True, slots=True)
class Prepared:
    """One record with its prompt.

    Attributes:
        subset: Its subset.
        index: Its position within the subset.
        prompt: What ``gen_prompt`` gave.
        record: The record itself, the object that ``gen_prompt`` was given.
    """

    subset: str
    index: int
    prompt: Mapping[str, Any]
    record: Any


@dataclass(frozen=True, slots=True)
class Identity:
    """What the engine asks of a task besides its samples; see ``polymeter.core.task.Task``."""

    needs: Needs
    fingerprint: str
    score_digest: str
    num_fewshot: int
    notes: tuple[str, ...]


class PreparedSamples(SampleView):
    """Samples of records that are all there, subset after subset."""

    def __init__(self, task: str, prepared: Sequence[Prepared]) -> None:
        self._task = task
        self._prepared = prepared

    def __len__(self) -> int:
        return len(self._prepared)

    def _sample(self, index: int) -> Sample:
        item = self._prepared[index]
        return Sample(self._task, f"{item.subset}/{item.index}", index, item.record, (item.subset,))


class AdapterTask:
    """See ``polymeter.core.task.Task``.

    Its adapter keeps what it likes on itself, so its methods are called one at a time.

    Args:
        spec: What it was made from.
        identity: What the engine asks of it.
        adapter: The benchmark.
        prepared: Its records with their prompts, limited.
        asking: How prompts become requests.
        reviewer: How answers are scored.
        reduction: How reviews become results and a report.
        seed: The run's seed.
    """

    is_guest = True
    is_thread_safe = False
    limits_itself = True

    def __init__(
        self,
        spec: TaskSpec,
        identity: Identity,
        adapter: DataAdapter,
        prepared: Sequence[Prepared],
        asking: Asking,
        reviewer: Reviewer,
        reduction: Reduction,
        seed: int,
    ) -> None:
        self.spec = spec
        self.needs = identity.needs
        self.fingerprint = identity.fingerprint
        self.score_digest = identity.score_digest
        self.num_fewshot = identity.num_fewshot
        self.notes = identity.notes
        self.adapter = adapter
        self._prepared = prepared
        self._asking = asking
        self._reviewer = reviewer
        self._reduction = reduction
        self._seed = seed
        self._reduced: Reduced | None = None

    @property
    def samples(self) -> PreparedSamples:
        """Its samples."""
        return PreparedSamples(self.spec.name, self._prepared)

    @property
    def asks(self) -> Sequence[Parameters]:
        """What its requests ask for."""
        return (self._asking.ask,)

    def play(self, sample: Sample) -> RolloutSteps:
        """Ask about one record, in one step."""
        prompt = self._prepared[sample.index].prompt
        requests = self._asking.requests(prompt, self._origin(sample, prompt))
        if isinstance(self._asking.ask, Loglikelihood):
            yield requests
            return
        seeds = [seed_for(self._seed, self.spec.name, sample.id, number) for number in range(self._asking.n)]
        repeats = repeats_of(requests[0], seeds)
        yield repeats if len(repeats) > 1 else repeats[0]

    def score(self, sample: Sample, played: Rollout) -> Score:
        """Review every answer of one record.

        Raises:
            ScoreError: The adapter raised, or there is no answer.
            UnscoredError: A judge's verdict could not be had or used.
        """
        contents = self._asking.contents(self._prepared[sample.index].prompt, played.responses)
        if not contents:
            raise ScoreError(f"Sample {sample.id} of benchmark {self.spec.name!r} has no answer to score.")
        reviews = [self._reviewer.review(sample.doc, content) for content in contents]
        log: dict[str, Any] = {
            "reviews": [{"gold": item.gold, "pred": item.pred, "result": item.result} for item in reviews]
        }
        if isinstance(self._asking.ask, Loglikelihood):
            log["contents"] = contents  # made of several numbers; other answers stand in their exchanges
        return Score(
            self._values([item.result for item in reviews]),
            _shown(reviews[0].gold),
            _shown(_first_preds(reviews)),
            None,
            log,
        )

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        """Metrics of each subset, and the report."""
        self._reduced = self._reduction.reduce(rows, self._prepared, self._contents_of, context)
        return list(self._reduced.results)

    def finish(self, results: Sequence[Result], report_path: Path) -> None:
        """Show the adapter its report, which has been written."""
        reduced = self._reduced
        if reduced is None or reduced.report is None:
            return
        with contained():
            self.adapter.post_process_report(reduced.report, report_path=str(reduced.folder))

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
            finish=self.finish,
            row_functions=RowFunctions(
                full_doc=lambda index: samples[index].full_doc(),
                target=lambda index: self.adapter.get_gold_answer(samples[index].full_doc()),
                choices=lambda index: self._prepared[index].prompt.get("multi_choices") or None,
            ),
            parameters=tuple(self.asks),
            fingerprint=self.fingerprint,
            score_digest=self.score_digest,
            is_guest=self.is_guest,
            is_thread_safe=self.is_thread_safe,
            limits_subsets=self.limits_itself,
            num_fewshot=self.num_fewshot,
            notes=self.notes,
        )

    def _contents_of(self, row: ScoredRow) -> list[Any]:
        return self._asking.contents(self._prepared[row.index].prompt, row.responses())

    def _values(self, results: list[Any]) -> dict[MetricKey, Any]:
        """What was found, exactly as it was, and numbers by the metrics that they are averaged for."""
        values: dict[MetricKey, Any] = {}
        if all(isinstance(result, Mapping) for result in results):
            for name in results[0]:
                _add_mean(values, str(name), [result.get(name) for result in results])
        elif len(self.adapter.metric_list) == 1:
            _add_mean(values, self.adapter.metric_list[0], results)
        return {**values, REVIEW_KEY: results}

    def _origin(self, sample: Sample, prompt: Mapping[str, Any]) -> Origin:
        metadata = {"task": self.spec.name, "doc_id": sample.index, "subset": sample.subset[0]}
        split = self.adapter.eval_split or ""
        return Origin(self.spec.name, sample.id, split, sample.index, metadata=metadata, prompt=prompt)


def _add_mean(values: dict[MetricKey, Any], metric: str, results: Sequence[Any]) -> None:
    if all(isinstance(result, Real) for result in results):
        values[metric, "none"] = sum(float(result) for result in results) / len(results)


def _first_preds(reviews: Sequence[Review]) -> Any:
    return reviews[0].pred if len(reviews) == 1 else [item.pred for item in reviews]


def _shown(value: Any) -> str:
    return (value if isinstance(value, str) else repr(value))[:_SHOWN]
