"""A collection as one task: its prompts come from a file, and each answer is parsed and scored by the adapter of the
benchmark that the prompt was drawn from.

The collection's own report has the mean over all scores of each subset of each benchmark. ``LEVELS`` has the means by
subset, dataset, task type, tag and category.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, isnan, nan
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import DataError, PlanError, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.identity import fingerprint
from polymeter.core.machine.files import replacing
from polymeter.core.rows import RowFunctions
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
from polymeter.core.text.json_text import json_text
from polymeter.interop.evalscope.tasks.guest import OpenBenchmark, PromptedRecord
from polymeter.interop.evalscope.tasks.prompts import RequestForm, prompt_problem
from polymeter.interop.evalscope.tasks.scoring.reduction import (
    REPORTS,
    Reduce,
    SubsetNumber,
    checked_scores,
    keep_unreduced,
    model_id_of,
    results_of,
    results_of_numbers,
    review_record,
)
from polymeter.interop.evalscope.tasks.scoring.report import Category, Metric, Report, Subset
from polymeter.interop.evalscope.tasks.scoring.reviews import JudgeUse, ReviewAnswer, score_rollout
from polymeter.interop.evalscope.tasks.settings import AdapterRunOptions

COLLECTION = "data_collection"
LEVELS = "collections"
"""The folder, among a run's artifacts, for the means by level: one JSON file for each collection."""
_METRIC = "Average"
_FOUR_DIGITS = 10_000
_NO_OWN_DATA = ("local_path", "dataset_id")
_OF_0_17 = frozenset({"data", "gen", "multi_choices"})
"""Keys that a prompt of 0.17 has, and a sample of 1.x has not."""
_LEVEL_COLUMNS = {
    "subset_level": ("task_type", "metric", "dataset_name", "subset_name"),
    "dataset_level": ("task_type", "metric", "dataset_name"),
    "task_level": ("task_type", "metric"),
}


@dataclass(frozen=True, slots=True)
class CollectionEntry:
    """One line of a collection's file."""

    index: int
    prompt: dict[str, Any]
    dataset_name: str
    subset_name: str
    tags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    task_type: str = ""

    @property
    def subset(self) -> str:
        """Benchmark and subset, as the report names them."""
        return f"{self.dataset_name}/{self.subset_name}"


@dataclass(frozen=True, slots=True)
class CollectionMember:
    """A benchmark with prompts in a collection.

    Attributes:
        benchmark: Its adapter and how it is asked. Its records are those of the whole collection.
        form: What its requests have in common.
        judging: When a judge is asked about its answers.
        review: How its answers are scored.
        score_digest: Hash of all that can change a score of its answers.
    """

    benchmark: OpenBenchmark
    form: RequestForm
    judging: JudgeUse
    review: ReviewAnswer
    score_digest: str


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection that is ready to be asked.

    Attributes:
        name: The name of its file without its ending, or the last part of its dataset's id.
        entries: Its lines, limited.
        members: The benchmarks in it, by name.
    """

    name: str
    entries: Sequence[CollectionEntry]
    members: Mapping[str, CollectionMember]

    def member_of(self, index: int) -> CollectionMember:
        """The benchmark of a sample."""
        return self.members[self.entries[index].dataset_name]


def collection_name(dataset_args: Mapping[str, Mapping[str, Any]], otherwise: str = COLLECTION) -> str:
    """The name of a run's collection, which its report has: that of the file that the run names, without its ending, or
    the last part of the dataset's id.

    Args:
        dataset_args: The run's, by benchmark.
        otherwise: The file or dataset where the run names none.
    """
    told = dataset_args.get(COLLECTION, {})
    return Path(str(told.get("local_path") or told.get("dataset_id") or otherwise)).stem


MemberRollout = Callable[[OpenBenchmark, RequestForm, Sample], RolloutSteps]
MakeMember = Callable[[TaskSpec, Mapping[str, Any], Sequence[PromptedRecord]], CollectionMember]


def open_collection(
    spec: TaskSpec, lines: Any, path: str, options: AdapterRunOptions, context: OpenContext, make: MakeMember
) -> Collection:
    """The collection behind the lines of a file.

    Args:
        spec: The collection's spec. Its configuration names the files of the benchmarks.
        lines: What its adapter has loaded.
        path: The file, or the dataset's id.
        options: The run's options for adapters.
        context: The run's settings.
        make: Makes a member from the spec of its benchmark, what the run changes of it, and the records.

    Raises:
        DataError: if the file is empty, or a line is not an entry of a collection.
        PlanError: if a benchmark in it is not in reach.
    """
    entries = _limited(
        [_collection_entry(line, path, number) for number, line in enumerate(checked_lines(lines, path), 1)], context
    )
    records = [PromptedRecord(entry.subset, entry.index, entry.prompt, entry.prompt["raw_input"]) for entry in entries]
    files: Mapping[str, str] = spec.config.get("benchmarks", {})
    common = {
        name: value for name, value in options.dataset_args.get(COLLECTION, {}).items() if name not in _NO_OWN_DATA
    }
    members = {}
    for name in dict.fromkeys(entry.dataset_name for entry in entries):
        if name not in files:
            raise not_in_reach(name, files, path)
        own = TaskSpec(name, spec.format, Path(files[name]), {}, "")
        members[name] = make(own, {**options.dataset_args.get(name, {}), **common}, records)
    for number, entry in enumerate(entries):
        mode = members[entry.dataset_name].benchmark.mode
        problem = prompt_problem(entry.prompt, mode.output_type, mode.eval_type)
        if problem:
            raise PlanError(problem, where=f"{path}, entry {number}")
    return Collection(collection_name(options.dataset_args, path), entries, members)


def compile_collection(
    spec: TaskSpec,
    collection: Collection,
    options: AdapterRunOptions,
    *,
    samples: SampleView,
    rollout: MemberRollout,
    modalities: frozenset[Modality],
    dataset_fingerprint: str,
) -> Task:
    """The task of a collection.

    Args:
        spec: Its spec.
        collection: The collection.
        options: The run's options for adapters.
        samples: Its samples.
        rollout: Asks about one sample of a member.
        modalities: What its prompts show to the model.
        dataset_fingerprint: Of its entries.
    """
    members = collection.members.values()
    is_judged = any(member.judging.is_needed for member in members)
    reduce: Reduce = keep_unreduced if options.predict_only else partial(_reduce, collection, options)
    return Task(
        spec=spec,
        needs=Needs(
            frozenset(member.benchmark.mode.request_kind for member in members),
            modalities,
            frozenset({"judge"}) if is_judged else frozenset(),
        ),
        samples=samples,
        rollout=partial(_rollout, collection, rollout),
        score=partial(_score, collection),
        reduce=reduce,
        row_functions=RowFunctions(
            full_doc=lambda index: samples[index].full_doc(),
            target=lambda index: collection.member_of(index).benchmark.adapter.get_gold_answer(
                samples[index].full_doc()
            ),
            choices=lambda index: collection.entries[index].prompt.get("multi_choices") or None,
        ),
        parameters=tuple({repr(member.form.parameters): member.form.parameters for member in members}.values()),
        fingerprint=dataset_fingerprint,
        score_digest=fingerprint([spec.source_hash, {name: m.score_digest for name, m in collection.members.items()}]),
        is_guest=True,
        is_thread_safe=False,
        limits_subsets=True,
        reading=ReadingRules(is_separated=False),
        keeps_answers_only=options.predict_only,
        notes=tuple(dict.fromkeys(member.benchmark.mode.note for member in members if member.benchmark.mode.note)),
    )


def not_in_reach(name: str, known: Iterable[str], path: str) -> PlanError:
    """Return the error that names a benchmark of a collection without a file."""
    hint = did_you_mean(name, known) or "Name the folder that it is in with --include-path."
    return PlanError(f"The collection needs the benchmark {name!r}, which is not in reach.", where=path, hint=hint)


def checked_lines(lines: Any, path: str) -> Sequence[Any]:
    """Return the lines of a collection's file.

    Raises:
        DataError: if there are none.
    """
    if not isinstance(lines, list) or not lines:
        raise DataError("A collection is a file with one JSON object in each line.", where=path)
    return lines


def _collection_entry(line: Any, path: str, number: int) -> CollectionEntry:
    entry = read_entry(line, path, number)
    if is_of_1x(line):
        raise DataError(
            f"Line {number} is a sample of {entry.dataset_name!r} that EvalScope 1.x has drawn, and the lines before "
            "are of 0.17's benchmarks.",
            where=f"{path}:{number}",
            hint="Draw a collection of each.",
        )
    return replace(entry, prompt={"raw_input": {}, **entry.prompt, "index": entry.index})


def is_of_1x(line: Any) -> bool:
    """Return whether a line of a collection's file holds a sample of EvalScope 1.x, and not a prompt of 0.17."""
    prompt = line.get("prompt") if isinstance(line, Mapping) else None
    return isinstance(prompt, Mapping) and "input" in prompt and not prompt.keys() & _OF_0_17


def read_entry(line: Any, path: str, number: int) -> CollectionEntry:
    """Read a line of a collection's file, as the samplers of both generations write it.

    Raises:
        DataError: if it is not an entry of a collection.
    """
    try:
        return CollectionEntry(
            int(line["index"]),
            dict(line["prompt"]),
            str(line["dataset_name"]),
            str(line["subset_name"]),
            tuple(map(str, line.get("tags") or ())),
            tuple(map(str, line.get("categories") or ())),
            str(line.get("task_type") or ""),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"Line {number} is not an entry of a collection: {error!r}.",
            where=f"{path}:{number}",
            hint="The samplers of evalscope.collections give such entries, and dump_jsonl_data writes them.",
        ) from None


def _limited(entries: list[CollectionEntry], context: OpenContext) -> list[CollectionEntry]:
    """As many entries as the run asks for, drawn at random over the whole collection."""
    limit = context.limit
    if limit is None:
        return entries
    n = min(len(entries), int(limit) if limit >= 1 else int(len(entries) * limit))
    return random.Random(context.seed).sample(entries, n)


def _rollout(collection: Collection, rollout: MemberRollout, sample: Sample) -> RolloutSteps:
    member = collection.member_of(sample.index)
    return rollout(member.benchmark, member.form, sample)


def _score(collection: Collection, sample: Sample, rollout: Rollout) -> Score:
    member = collection.member_of(sample.index)
    return score_rollout(member.benchmark, member.review, sample, rollout, is_judged=member.judging.is_needed)


# --- the report -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoredMetric:
    """One metric of one sample."""

    entry: CollectionEntry
    metric: str
    score: float


def _reduce(
    collection: Collection, options: AdapterRunOptions, rows: Iterable[ScoredRow], context: ReduceContext
) -> list[Result]:
    """The collection's report, written below the context's folder, and its means by level."""
    scored = list(_scored(collection, rows))
    if not scored:
        return [Result(_METRIC, "none", None, 0)]
    folder = context.output_dir / REPORTS / (options.model_id or model_id_of(context.args))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{collection.name}.json"
    _report(collection.name, scored, folder.name).to_json(file)
    levels = context.output_dir / LEVELS / f"{collection.name}.json"
    levels.parent.mkdir(parents=True, exist_ok=True)
    with replacing(levels) as stream:
        stream.write(json_text(levels_of(scored), indent=4, nan=None))
    artifact = file.relative_to(context.output_dir.parent).as_posix()
    return list(results_of_numbers(list(_subset_numbers(scored)), {}, artifact, context.seed))


def _scored(collection: Collection, rows: Iterable[ScoredRow]) -> Iterator[ScoredMetric]:
    """Every metric of every sample that has a score: what its own benchmark computes for it alone."""
    for row in rows:
        if row.score is None:
            continue
        benchmark = collection.member_of(row.index).benchmark
        results = results_of([row])
        computed = benchmark.adapter.compute_metric(
            review_res_list=results, reviews_list=[review_record(benchmark, row)]
        )
        for item in checked_scores(benchmark.name, computed):
            yield ScoredMetric(collection.entries[row.index], str(item["metric_name"]), float(item["score"]))


def _report(name: str, scored: Sequence[ScoredMetric], model: str) -> Report:
    tree: dict[tuple[str, ...], dict[str, list[float]]] = {}
    for item in scored:
        tree.setdefault(item.entry.categories, {}).setdefault(item.entry.subset, []).append(item.score)
    categories = [
        Category(
            name=levels,
            subsets=[
                Subset(subset, _mean_of_numbers(values), len(_numbers_in(values)))
                for subset, values in sorted(by.items())
            ],
        )
        for levels, by in sorted(tree.items())
    ]
    return Report(
        name=COLLECTION, metrics=[Metric(_METRIC, categories=categories)], dataset_name=name, model_name=model
    )


def _subset_numbers(scored: Sequence[ScoredMetric]) -> Iterator[SubsetNumber]:
    by_subset: dict[str, list[float]] = {}
    for item in scored:
        by_subset.setdefault(item.entry.subset, []).append(item.score)
    for subset, values in by_subset.items():
        yield SubsetNumber(subset, _METRIC, sum(values) / len(values), len(values), tuple(values))


def levels_of(scored: Sequence[ScoredMetric]) -> dict[str, list[dict[str, Any]]]:
    """The means by level, those over more scores first.

    Returns:
        The level → rows of what they have in common, ``average_score`` and ``count``.
    """
    rows = [
        {
            "task_type": item.entry.task_type,
            "metric": item.metric,
            "dataset_name": item.entry.dataset_name,
            "subset_name": item.entry.subset_name,
            "score": item.score,
        }
        for item in scored
    ]
    levels = {level: _means(rows, columns) for level, columns in _LEVEL_COLUMNS.items()}
    by_tag = [{**row, "tags": tag} for row, item in zip(rows, scored, strict=True) for tag in item.entry.tags]
    levels["tag_level"] = _means(by_tag, ("tags", "metric"))
    depth = max(len(item.entry.categories) for item in scored)
    names = [f"category{level}" for level in range(depth)]
    by_category = [
        {**row, **dict(zip(names, (*item.entry.categories, *[""] * depth), strict=False))}
        for row, item in zip(rows, scored, strict=True)
    ]
    levels["category_level"] = _means(by_category, (*names, "metric"))
    return levels


def level_tables(levels: Mapping[str, Sequence[Mapping[str, Any]]], style: str = "pretty") -> str:
    """The means by level, each level as a table in a style of ``tabulate``."""
    from tabulate import tabulate

    return "\n".join(
        f"{level} Report:\n{tabulate(rows, headers='keys', tablefmt=style, showindex=False)}"
        for level, rows in levels.items()
    )


def _means(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row["score"])
    means = [
        {
            **dict(zip(columns, key, strict=True)),
            "average_score": _rounded(_numbers_in(values)),
            "count": len(values),
        }
        for key, values in sorted(groups.items())
    ]
    return sorted(means, key=lambda row: -row["count"])


def _numbers_in(values: Sequence[float]) -> Sequence[float]:
    """The scores that are numbers: as in EvalScope's reports, the others are missing from a mean."""
    return [value for value in values if not isnan(value)]


def _mean_of_numbers(values: Sequence[float]) -> float:
    """A mean that is summed as NumPy does, since the report rounds it."""
    import numpy

    numbers = _numbers_in(values)
    return float(numpy.mean(numbers)) if numbers else nan


def _rounded(values: Sequence[float]) -> float:
    """A mean to four digits as pandas rounds them: after scaling, so that 0.94375 is 0.9438 although it is stored as a
    little less.
    """
    return round(fsum(values) / len(values) * _FOUR_DIGITS) / _FOUR_DIGITS if values else nan
