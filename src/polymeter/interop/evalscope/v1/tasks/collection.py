"""A collection of samples that EvalScope 1.x has drawn, as one task: each answer is asked for and scored by the adapter
of the benchmark that its sample was drawn from. The prompts stand in the file, so that no data of these is read.

The report has the mean of each metric over the samples whose score it leads, by category and subset.
``collection_detailed_report.json`` beside it has the means by subset, dataset, task type, tag and category.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint, source_hash
from polymeter.core.machine.files import replacing
from polymeter.core.model import ModelTraits
from polymeter.core.task import ReduceContext, Result, ScoredRow, Task, TaskSpec
from polymeter.core.text.json_text import json_text
from polymeter.guests import seeded
from polymeter.guests.opened_sources import add_sources
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.tasks.collection import COLLECTION, not_in_reach, read_entry
from polymeter.interop.evalscope.tasks.scoring.reduction import (
    REPORTS,
    SubsetNumber,
    model_id_of,
    results_of_numbers,
)
from polymeter.interop.evalscope.tasks.settings import AdapterRunOptions
from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.constants import DataCollection
from polymeter.interop.evalscope.v1.data.builders import build_dataset_from_records
from polymeter.interop.evalscope.v1.judging.disagreement import summarize_judge_runs
from polymeter.interop.evalscope.v1.registration import BenchmarkMeta
from polymeter.interop.evalscope.v1.report.generator import ReportMaker
from polymeter.interop.evalscope.v1.tasks.compile import digest_of_scoring, task_of
from polymeter.interop.evalscope.v1.tasks.guest import OpenAdapter, make_open
from polymeter.interop.evalscope.v1.tasks.hooks import is_judged
from polymeter.interop.evalscope.v1.tasks.reading import read_file
from polymeter.interop.evalscope.v1.tasks.reduction import execution_of, is_rising, scores_of
from polymeter.interop.evalscope.v1.tasks.rollout import Inference
from polymeter.interop.evalscope.v1.tasks.scoring import shown_name
from polymeter.interop.evalscope.v1.tasks.settings import NAME, Adapter1xOptions, read_run_options
from polymeter.interop.evalscope.v1.types.identities import canonicalize_producer_identity
from polymeter.interop.evalscope.v1.types.messages import ChatMessageUser
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import SampleScore
from polymeter.interop.evalscope.v1.types.state import TaskState

BENCHMARKS = "benchmarks_1x"
"""The key, in a collection's configuration, of the files of the benchmarks of 1.x, by name."""
_SUBSET = "default"
_BAYES = "bayes_at_n"
_DIGITS = 4


class CollectionAdapter(DefaultDataAdapter):
    """Leaves each sample to the adapter of its benchmark.

    Args:
        members: These adapters by name.
        **kwargs: As of every adapter.
    """

    def __init__(self, members: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.members = members

    @property
    def use_llm_judge(self) -> bool:
        """True if a judge is asked about some sample."""
        return any(is_judged(member) for member in self.members.values())

    def record_to_sample(self, record: Any) -> Sample:
        """The sample that a line of the file holds, with the rest of the line in its metadata."""
        sample = Sample.model_validate(record["prompt"])
        if isinstance(sample.input, str):
            sample.input = [ChatMessageUser(content=sample.input)]
        sample.metadata = {
            **(sample.metadata or {}),
            DataCollection.INFO: {key: value for key, value in record.items() if key != "prompt"},
        }
        return sample

    def run_inference(self, model: Any, sample: Sample, output_dir: str, **kwargs: Any) -> TaskState:
        """Ask about a sample."""
        state: TaskState = self._member(sample.metadata).run_inference(
            model=model, sample=sample, output_dir=output_dir, **kwargs
        )
        return state

    def calculate_metrics(self, task_state: TaskState) -> SampleScore:
        """Score a sample."""
        score: SampleScore = self._member(task_state.metadata).calculate_metrics(task_state=task_state)
        return score

    def finalize(self, *args: Any, **kwargs: Any) -> None:
        """Let all adapters let go of what they hold."""
        for member in self.members.values():
            member.finalize(*args, **kwargs)

    def _member(self, metadata: Any) -> Any:
        return self.members[metadata[DataCollection.INFO]["dataset_name"]]


def compile_collection(
    spec: TaskSpec,
    lines: Sequence[Mapping[str, Any]],
    place: str,
    options: AdapterRunOptions,
    traits: ModelTraits,
    context: OpenContext,
) -> Task:
    """The task of a collection.

    Args:
        spec: Its spec. Its configuration names the files of the benchmarks.
        lines: The lines of its file.
        place: The file, or the dataset's id.
        options: The run's options for adapters; ``adapter_1x`` holds those for adapters of 1.x.
        traits: The model's.
        context: The run's settings.

    Raises:
        PlanError: if a benchmark in it is not in reach or cannot be made, or they ask a model for different things.
        DataError: if a line is not an entry of a collection.
    """
    own = read_run_options(options.adapter_1x)
    own = own.model_copy(update={"dataset_args": {**own.dataset_args, **options.dataset_args}})
    # Prompts stand in the file: what only changes prompts is no change of an adapter.
    plain = replace(context, options=options.adapter_1x, num_fewshot=None, system_prompt="")
    entries = [read_entry(line, place, number) for number, line in enumerate(lines, 1)]
    made = {
        name: _made(spec, name, place, traits, own, plain)
        for name in dict.fromkeys(entry.dataset_name for entry in entries)
    }
    kinds = {member.kind: name for name, (_, member) in made.items()}
    if len(kinds) > 1:
        raise PlanError(
            f"The benchmarks {' and '.join(map(repr, kinds.values()))} of this collection ask a model for different "
            f"things: {' and '.join(kinds)}.",
            where=place,
            hint="Draw a collection of each.",
        )
    _refuse_bayes(made, place)
    benchmark = _open(spec, lines, place, made, own, context)
    digests = {name: digest_of_scoring(known, member, own) for name, (known, member) in made.items()}
    runs_code = any(read_file(known.file).runs_code_of(known.benchmark) for known, _ in made.values())
    return task_of(
        replace(spec, runs_generated_code=runs_code),
        benchmark,
        own,
        traits,
        context,
        adapters=[member.adapter for _, member in made.values()],
        reduce=lambda inference: partial(_reduce, benchmark, inference, own),
        score_digest=fingerprint([spec.source_hash, digests]),
    )


def _refuse_bayes(made: Mapping[str, tuple[TaskSpec, OpenAdapter]], place: str) -> None:
    """Refuse benchmarks whose numbers are of one whole subset.

    Raises:
        PlanError: if there is one.
    """
    name = next((name for name, (_, member) in made.items() if member.adapter.aggregation == _BAYES), "")
    if name:
        raise PlanError(
            f"Benchmark {name!r} of this collection is aggregated by {_BAYES}, which is of one whole subset.",
            where=place,
            hint="Evaluate it by itself, or change its aggregation in dataset_args.",
        )


def _made(
    spec: TaskSpec, name: str, place: str, traits: ModelTraits, options: Adapter1xOptions, context: OpenContext
) -> tuple[TaskSpec, OpenAdapter]:
    """A benchmark of a collection, with its spec."""
    files: Mapping[str, str] = spec.config.get(BENCHMARKS, {})
    if name not in files:
        raise not_in_reach(name, files, place)
    file = Path(files[name])
    sources = files_behind([file]) if file.is_file() else ()
    add_sources(sources)  # only the collection's file names the benchmarks it rests on
    known = TaskSpec(name, NAME, file, {}, source_hash(sources) if sources else "", sources=sources)
    return known, make_open(known, traits, options, context)


def _open(
    spec: TaskSpec,
    lines: Sequence[Mapping[str, Any]],
    place: str,
    made: Mapping[str, tuple[TaskSpec, OpenAdapter]],
    options: Adapter1xOptions,
    context: OpenContext,
) -> OpenAdapter:
    """The collection as one benchmark, with its samples in the order of the file, limited."""
    changes = options.dataset_args.get(COLLECTION, {})
    first = next(iter(made.values()))[1]
    settings = replace(first.settings, datasets=[COLLECTION])
    meta = BenchmarkMeta(name=COLLECTION, dataset_id=place, pretty_name="Data-Collection", metric_list=["acc"])
    adapter = CollectionAdapter(
        {name: member.adapter for name, (_, member) in made.items()}, benchmark_meta=meta, task_config=settings
    )
    with seeded(context.seed):
        dataset = build_dataset_from_records(
            lines,
            adapter.record_to_sample,
            name=COLLECTION,
            location=place,
            limit=settings.limit,
            repeats=settings.repeats,
            shuffle=bool(changes.get("shuffle")),
            seed=None,  # as EvalScope's loader, which the run's generator shuffles
        )
    samples = list(dataset)
    subsets = [_name_of(sample) for sample in samples]
    return OpenAdapter(spec.name, meta, adapter, changes, settings, first.kind, subsets, samples)


def _name_of(sample: Sample) -> str:
    """Benchmark and subset of a sample, as the report names them."""
    info = sample.metadata[DataCollection.INFO]
    return f"{info['dataset_name']}/{info['subset_name']}"


# --- the report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LedScore:
    """The number that leads the score of a sample.

    Attributes:
        info: The sample's line of the collection's file, without its prompt.
        metric: The metric.
        score: The number.
    """

    info: Mapping[str, Any]
    metric: str
    score: float

    @property
    def member(self) -> tuple[str, str]:
        """Its benchmark and subset."""
        return self.info["dataset_name"], self.info["subset_name"]

    def column(self, name: str) -> str:
        """A label of its line; empty if that has none."""
        return str(self.info.get(name) or "")


def _reduce(
    benchmark: OpenAdapter,
    inference: Inference,
    options: Adapter1xOptions,
    rows: Iterable[ScoredRow],
    context: ReduceContext,
) -> list[Result]:
    """The collection's report, written below the context's folder, and its means by level."""
    known = list(rows)
    scores = scores_of(benchmark, inference, known)
    led = list(_led(scores))
    if not led:
        return [Result("accuracy", "none", None, 0)]
    folder = context.output_dir / REPORTS / (options.model_id or model_id_of(context.args))
    folder.mkdir(parents=True, exist_ok=True)
    report = ReportMaker.collection_report(
        ((one.metric, tuple(one.info.get("categories") or ()), *one.member, one.score) for one in led),
        COLLECTION,
        folder.name,
    )
    report.judge_summary = summarize_judge_runs([scores])
    report.execution_summary = execution_of({_SUBSET: scores}, {_SUBSET: known})
    file = folder / f"{COLLECTION}.json"
    report.to_json(str(file))
    with replacing(folder / DataCollection.REPORT_NAME) as stream:
        stream.write(json_text(levels_of(led), indent=2, nan=None))
    artifact = file.relative_to(context.output_dir.parent).as_posix()
    return list(results_of_numbers(list(_subset_numbers(led)), {}, artifact, context.seed))


def _led(scores: Iterable[SampleScore]) -> Iterator[LedScore]:
    """The leading number of each sample that has a score."""
    for one in scores:
        value = one.score.main_value
        if value is not None:
            info = (one.sample_metadata or {})[DataCollection.INFO]
            yield LedScore(info, str(one.score.main_score_name), float(value))


def _subset_numbers(led: Sequence[LedScore]) -> Iterator[SubsetNumber]:
    groups: dict[tuple[str, tuple[str, str]], list[float]] = {}
    for one in led:
        groups.setdefault((one.metric, one.member), []).append(one.score)
    for (metric, member), values in groups.items():
        identity = canonicalize_producer_identity(metric, "mean")
        yield SubsetNumber(
            "/".join(member),
            shown_name(identity),
            _mean(values),
            len(values),
            tuple(values),
            is_rising=is_rising(member[0], identity),
            is_part=True,
        )


def levels_of(led: Sequence[LedScore]) -> dict[str, list[dict[str, Any]]]:
    """The means by level, those over more samples first.

    Returns:
        The level → rows of what its samples have in common, the mean over samples (``micro_avg.``), over subsets
        (``macro_avg.``), by the weights of samples (``weighted_avg.``), and ``count``.
    """
    depth = max((len(one.info.get("categories") or ()) for one in led), default=0)
    names = [f"category{level}" for level in range(depth)]

    def columns(*wanted: str) -> list[tuple[dict[str, str], LedScore]]:
        return [({name: one.column(name) for name in wanted}, one) for one in led]

    by_subset = _means(columns("task_type", "dataset_name", "subset_name"))
    by_tag = [({"tags": str(tag)}, one) for one in led for tag in one.info.get("tags") or ()]
    by_category = [
        (dict(zip(names, [*map(str, one.info.get("categories") or ()), *[""] * depth], strict=False)), one)
        for one in led
    ]
    return {
        "subset_level": [
            {key: value for key, value in row.items() if key not in ("macro_avg.", "weighted_avg.")}
            for row in by_subset
        ],
        "dataset_level": _means(columns("task_type", "dataset_name")),
        "task_level": _means(columns("task_type")),
        "tag_level": _means(by_tag),
        "category_level": _means(by_category) if depth else [],
    }


def _means(labelled: Iterable[tuple[Mapping[str, str], LedScore]]) -> list[dict[str, Any]]:
    groups: dict[tuple[tuple[str, str], ...], list[LedScore]] = {}
    for labels, one in labelled:
        groups.setdefault(tuple(labels.items()), []).append(one)
    rows = [{**dict(labels), **_averages(own), "count": len(own)} for labels, own in sorted(groups.items())]
    return sorted(rows, key=lambda row: -row["count"])


def _averages(own: Sequence[LedScore]) -> dict[str, float]:
    """The means of some samples, summed as NumPy does, since the report rounds them."""
    import numpy

    members: dict[tuple[str, str], list[float]] = {}
    for one in own:
        members.setdefault(one.member, []).append(one.score)
    scores = numpy.array([one.score for one in own])
    weights = numpy.array([float(one.info.get("weight", 1.0)) for one in own])
    total = weights.sum()
    means = {
        "micro_avg.": scores.mean(),
        "macro_avg.": numpy.mean([numpy.mean(values) for values in members.values()]),
        "weighted_avg.": (scores * weights).sum() / total if total else scores.mean(),
    }
    return {name: round(float(mean), _DIGITS) for name, mean in means.items()}


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
