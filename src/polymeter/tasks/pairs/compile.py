"""From a file of pairs to a Task: each sample is a pair, which the judge, as the model, is asked about in both orders.

The numbers that the journal keeps of a pair: ``win_rate``, what the first answer gets (1, 0.5 or 0); and of those
that were judged, because their answers differ, ``consistent``, whether both orders agree, and ``first_shown``, the
share of the verdicts for what stood first. The results are those of
each pair of runs, and the ``strength`` of each run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from polymeter.core.errors import UnscoredError
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import refuse_verdict
from polymeter.core.identity import fingerprint
from polymeter.core.model import ModelTraits
from polymeter.core.request import PROMPT_VERSION, Message, Origin, Request
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.generation import text_parameters
from polymeter.core.settings.needs import Needs
from polymeter.core.task import (
    ReadingRules,
    ReduceContext,
    Result,
    Rollout,
    RolloutSteps,
    Sample,
    SampleView,
    Score,
    ScoredRow,
    Task,
    TaskSpec,
)
from polymeter.judge.pairwise import pair_messages, pair_prompt_version, preference, read_preference
from polymeter.judge.reply import reply_of
from polymeter.metrics.basic import MEAN
from polymeter.stats import MetricPlan, bradley_terry, reduce_rows
from polymeter.tasks.pairs.file import AnswerPair, AnswerPairs

WIN_RATE = "win_rate"
CONSISTENT = "consistent"
FIRST_SHOWN = "first_shown"
STRENGTH = "strength"
_NO_FILTER = "none"
_VERSION = 1
_DEFAULTS = {"max_new_tokens": 1024, "temperature": 0.0}


class _PairSamples(SampleView):
    """A sample for each pair."""

    def __init__(self, task: str, pairs: AnswerPairs) -> None:
        self._task = task
        self._pairs = pairs
        self._has_several = len(pairs.head["runs"]) > 2

    def __len__(self) -> int:
        return len(self._pairs)

    def _sample(self, index: int) -> Sample:
        pair = self._pairs[index]
        subset = (pair_name(pair.first, pair.second),) if self._has_several else ()
        return Sample(self._task, pair.id, index, asdict(pair), subset, pair.unit)


def pair_name(first: str, second: str) -> str:
    """Return the name of a pair of runs in results."""
    return f"{first} over {second}"


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The task of a file of pairs.

    Raises:
        PlanError: if a generation setting is of the wrong type.
        DataError: if the file is broken.
    """
    pairs = AnswerPairs(spec.file)
    runs, rubric = [*pairs.head["runs"]], str(pairs.head["rubric"])
    parameters, _ = text_parameters({**context.generation, "n": 1}, _DEFAULTS)
    version = pair_prompt_version(rubric)
    samples = _PairSamples(spec.name, pairs)

    def request(sample: Sample, pair: AnswerPair, order: tuple[int, int]) -> Request:
        a, b = (pairs.parts(pair.answers[side]) for side in order)
        messages = _with_system(pair_messages(pairs.parts(pair.prompt), a, b, rubric), context.system_prompt)
        origin = Origin(spec.name, sample.id, "", sample.index, metadata={PROMPT_VERSION: version})
        return Request(messages, parameters, origin)

    def rollout(sample: Sample) -> RolloutSteps:
        pair = pairs[sample.index]
        if not pair.is_same:
            yield request(sample, pair, (0, 1)), request(sample, pair, (1, 0))

    def score(sample: Sample, rollout: Rollout) -> Score:
        return _scored(pairs[sample.index], rollout)

    def reduce(rows: Iterable[ScoredRow], reduce_context: ReduceContext) -> list[Result]:
        kept = [*rows]
        results = reduce_rows(kept, _METRICS, reduce_context)
        if len(runs) > 2:  # over all pairs, a win rate of the first run means nothing
            results = [result for result in results if result.metric != WIN_RATE or result.subset]
        return [*results, *_strengths(kept, pairs, runs)]

    return Task(
        spec=spec,
        needs=Needs(modalities=frozenset({"text", "image"} if pairs.head["has_images"] else {"text"})),
        samples=samples,
        rollout=rollout,
        score=score,
        reduce=reduce,
        row_functions=RowFunctions(full_doc=lambda index: samples[index].full_doc()),
        parameters=(parameters,),
        reading=ReadingRules(is_separated=False),  # its model is a judge, whose reasoning may say that it was cut off
        fingerprint=fingerprint([spec.name, pairs.digest]),
        score_digest=fingerprint([spec.source_hash, version, _VERSION]),
        notes=tuple(pairs.head.get("notes", ())),
    )


def _with_system(messages: tuple[Message, ...], system_prompt: str) -> tuple[Message, ...]:
    from polymeter.core.content import Text

    return (Message("system", (Text(system_prompt),)), *messages) if system_prompt else messages


def _scored(pair: AnswerPair, rollout: Rollout) -> Score:
    """The score of a pair.

    Raises:
        UnscoredError: if an answer of the judge is not a verdict, or ended inside its reasoning.
    """
    if pair.is_same:
        values: dict[tuple[str, str], Any] = {(WIN_RATE, _NO_FILTER): 0.5}
        return Score(values, answer="tie", explanation="Both answers are equal, so the judge was not asked.")
    try:
        in_order, exchanged = (read_preference(reply_of(response)) for response in rollout.responses)
    except UnscoredError as error:
        refuse_verdict(str(error))
        raise
    found = preference(in_order, exchanged)
    values = {
        (WIN_RATE, _NO_FILTER): found.got,
        (CONSISTENT, _NO_FILTER): float(found.is_consistent),
        (FIRST_SHOWN, _NO_FILTER): found.first_shown,
    }
    named = {1.0: pair.first, 0.0: pair.second, 0.5: "tie"}[found.got]
    why = "" if found.is_consistent else ", which contradict each other: a tie"
    return Score(values, answer=named, explanation=f"{pair.first} as A: {in_order}; as B: {exchanged}{why}.")


def _strengths(rows: Sequence[ScoredRow], pairs: AnswerPairs, runs: Sequence[str]) -> list[Result]:
    """The Bradley–Terry score of each run."""
    comparisons, units = [], []
    for row in rows:
        got = None if row.score is None else row.score.values.get((WIN_RATE, _NO_FILTER))
        if got is not None:
            pair = pairs[row.index]
            comparisons.append((runs.index(pair.first), runs.index(pair.second), float(got)))
            units.append(pair.unit)
    if not comparisons:
        return []
    found = bradley_terry(comparisons, len(runs), clusters=units)
    return [
        Result(
            STRENGTH,
            _NO_FILTER,
            found.values[number],
            sum(number in comparison[:2] for comparison in comparisons),
            (run,),
            found.stderrs[number],
            found.intervals[number],
            "sandwich" if found.stderrs[number] is not None else None,
            True,
            no_interval=found.problem or found.no_interval,
        )
        for number, run in enumerate(runs)
    ]


_METRICS = tuple(
    MetricPlan(name, _NO_FILTER, MEAN, is_good, (0.0, 1.0))
    for name, is_good in ((WIN_RATE, None), (CONSISTENT, True), (FIRST_SHOWN, None))
)
__all__ = ["CONSISTENT", "FIRST_SHOWN", "STRENGTH", "WIN_RATE", "compile_task", "pair_name"]
