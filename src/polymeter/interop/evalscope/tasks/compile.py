"""From a benchmark's spec to the Task that the engine runs."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.errors import DataError, boundary, did_you_mean
from polymeter.core.format import OpenContext
from polymeter.core.identity import canonical, fingerprint, seed_for, source_hash
from polymeter.core.media.showing import NOTHING_STATED, Showing, read_showing, settings_of
from polymeter.core.model import ModelTraits
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.request import Loglikelihood, Origin
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.needs import Needs
from polymeter.core.settings.repeats import repeats_of
from polymeter.core.task import ReadingRules, RolloutSteps, Sample, Samples, SampleView, Task, TaskSpec
from polymeter.core.text.codec import jsonable
from polymeter.guests import contained, seeded
from polymeter.guests.loading.packages import GUEST_LOCK
from polymeter.guests.opened_sources import add_sources
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.choices.adapters import RecordOrders
from polymeter.interop.evalscope.tasks.code_needs import check_code_needs
from polymeter.interop.evalscope.tasks.collection import (
    COLLECTION,
    CollectionMember,
    checked_lines,
    compile_collection,
    is_of_1x,
    open_collection,
)
from polymeter.interop.evalscope.tasks.constants import OutputType
from polymeter.interop.evalscope.tasks.datasets import fingerprint_of
from polymeter.interop.evalscope.tasks.guest import (
    OpenBenchmark,
    PromptedRecord,
    load_lines,
    open_benchmark,
    open_member,
)
from polymeter.interop.evalscope.tasks.index import with_protocol
from polymeter.interop.evalscope.tasks.prompts import Prompt, RequestForm, requests_for
from polymeter.interop.evalscope.tasks.registration import SETTABLE
from polymeter.interop.evalscope.tasks.scoring.reduction import (
    Reduce,
    ReportSlot,
    keep_unreduced,
    reduce_rows,
    show_report,
)
from polymeter.interop.evalscope.tasks.scoring.reviews import (
    JudgeUse,
    ReviewAnswer,
    judge_use,
    keep_answer,
    review_answer,
    score_rollout,
)
from polymeter.interop.evalscope.tasks.settings import AdapterRunOptions, parameters_for, read_run_options
from polymeter.tasks.constant_targets import constant_target, equal_targets

_SCORING_VERSION = 1
_MOST_PROMPTS_LOOKED_AT = 16


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open. Runs its authors' code.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its dataset is missing or empty.
    """
    options = read_run_options(context.options)
    if spec.name == COLLECTION:
        return _compile_collection(spec, traits, options, context)
    if not options.predict_only:
        check_code_needs(spec.file, spec.sources, context.parity)
    benchmark = open_benchmark(spec, traits, options, context)
    spec = with_protocol(spec, benchmark.meta)
    adapter = benchmark.adapter
    mode = benchmark.mode
    records = benchmark.records
    form = _form(benchmark, context)
    if not (options.predict_only or context.is_begun):
        _check_references(benchmark, context.seed)
    samples = RecordSamples(spec.name, records)
    orders = RecordOrders(benchmark, samples, str(spec.file))
    judging, review = _scoring(benchmark, options)
    reports = ReportSlot()

    def row_functions(of: Samples) -> RowFunctions:
        return RowFunctions(
            full_doc=lambda index: of[index].full_doc(),
            target=lambda index: adapter.get_gold_answer(of[index].full_doc()),
            choices=lambda index: records[of[index].index].prompt.get("multi_choices") or None,
        )

    reduce: Reduce = keep_unreduced
    if not options.predict_only:
        reduce = partial(reduce_rows, benchmark, options, reports)
    return Task(
        spec=spec,
        needs=Needs(frozenset({mode.request_kind}), _modalities(form, records), _roles(options, judging)),
        samples=samples,
        rollout=partial(_rollout, benchmark, form, run_seed=context.seed, prompt_of=orders.prompt),
        score=partial(score_rollout, benchmark, review, is_judged=judging.is_needed),
        reduce=reduce,
        finish=partial(show_report, adapter, reports),
        row_functions=row_functions(samples),
        parameters=(form.parameters,),
        fingerprint=fingerprint([fingerprint_of([item.record for item in records]), _digest_of_prompts(records)]),
        score_digest=_score_digest(spec, benchmark, options, judging),
        is_guest=True,
        is_thread_safe=False,  # an adapter keeps what it likes on itself
        limits_subsets=True,
        reading=ReadingRules(is_separated=False),
        num_fewshot=int(adapter.few_shot_num or 0),
        keeps_answers_only=options.predict_only,
        repeats=form.n,
        notes=tuple(_notes(benchmark, options)),
        findings=() if options.predict_only else tuple(_findings(spec, benchmark, samples, context.seed)),
        showing=_stated_showing(benchmark),
        media_folders=_media_folders(spec, benchmark),
        choice_orders=partial(orders.functions, row_functions),
    )


def _media_folders(spec: TaskSpec, benchmark: OpenBenchmark) -> tuple[Path, ...]:
    """Return the folder of the adapter, and that of its dataset if it is on this machine."""
    dataset = Path(str(benchmark.adapter.dataset_id or ""))
    return (spec.file.parent, dataset) if dataset.name and dataset.is_dir() else (spec.file.parent,)


def _stated_showing(benchmark: OpenBenchmark) -> Showing:
    """Return what the ``extra_params`` of a registration, or the run's ``dataset_args``, state to be shown of media.
    Values that are no mappings are settings of the adapter's own, and so are mappings in ``extra_params`` with other
    keys than those of a rule.

    Raises:
        PlanError: if a rule makes no sense.
    """
    arguments = benchmark.adapter.config_kwargs
    showing = NOTHING_STATED
    for written, where, may_be_own in (
        (arguments.get("extra_params"), f"extra_params of {benchmark.name!r}", True),
        (arguments, f"dataset_args of {benchmark.name!r}", False),
    ):
        if isinstance(written, Mapping):
            rules = {
                name: rule
                for name, rule in written.items()
                if isinstance(rule, Mapping) and not (may_be_own and rule.keys() - settings_of(name))
            }
            showing = showing.under(read_showing(rules, where))
    return showing


def _compile_collection(spec: TaskSpec, traits: ModelTraits, options: AdapterRunOptions, context: OpenContext) -> Task:
    """A collection for a model, with the benchmarks that its prompts come from."""

    def make(own: TaskSpec, changes: Mapping[str, Any], records: Sequence[PromptedRecord]) -> CollectionMember:
        benchmark = open_member(own, changes, records, traits, options, context)
        judging, review = _scoring(benchmark, options)
        sources = files_behind([own.file]) if own.file.is_file() else ()
        add_sources(sources)  # only the collection's file names the benchmarks it rests on
        check_code_needs(own.file, sources, context.parity)
        known = replace(own, source_hash=source_hash(sources), sources=sources)
        return CollectionMember(
            benchmark, _form(benchmark, context), judging, review, _score_digest(known, benchmark, options, judging)
        )

    lines, place = load_lines(spec, options, context)
    if is_of_1x(checked_lines(lines, place)[0]):
        from polymeter.interop.evalscope.v1.tasks.collection import compile_collection as compile_collection_1x

        return compile_collection_1x(spec, lines, place, options, traits, context)
    collection = open_collection(spec, lines, place, options, context, make)
    first = next(iter(collection.members.values()))
    records = first.benchmark.records
    members = {member.form.output_type: member for member in collection.members.values()}
    modalities = frozenset[Modality]().union(*(_modalities(member.form, records) for member in members.values()))
    return compile_collection(
        spec,
        collection,
        options,
        samples=RecordSamples(spec.name, records),
        rollout=partial(_rollout, run_seed=context.seed),
        modalities=modalities,
        dataset_fingerprint=fingerprint(
            [fingerprint_of([item.record for item in records]), _digest_of_prompts(records)]
        ),
    )


def _form(benchmark: OpenBenchmark, context: OpenContext) -> RequestForm:
    mode = benchmark.mode
    return RequestForm(
        OutputType.GENERATION if mode.request_kind == "generate" else mode.output_type,
        *parameters_for(mode, context.generation),
        context.system_prompt,
        has_raw_contexts=context.parity.on("raw-logprobs"),
        counts_last_tokens=context.parity.on("choice-tokens"),
    )


def _scoring(benchmark: OpenBenchmark, options: AdapterRunOptions) -> tuple[JudgeUse, ReviewAnswer]:
    """When a judge is asked about a benchmark's answers, and how they are scored."""
    if options.predict_only:
        return JudgeUse(), keep_answer
    judging = judge_use(benchmark.adapter, options.judge_strategy, options.judge_model_args)
    return judging, partial(review_answer, benchmark.adapter, benchmark.mode.eval_type, judging)


class RecordSamples(SampleView):
    """Samples of records that are all in memory, subset after subset."""

    def __init__(self, task: str, records: Sequence[PromptedRecord]) -> None:
        self._task = task
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def _sample(self, index: int) -> Sample:
        item = self._records[index]
        return Sample(self._task, f"{item.subset}/{item.index}", index, item.record, (item.subset,))


def _rollout(
    benchmark: OpenBenchmark,
    form: RequestForm,
    sample: Sample,
    *,
    run_seed: int,
    prompt_of: Callable[[Sample], Prompt] | None = None,
) -> RolloutSteps:
    """Ask about one record, in one step."""
    prompt = benchmark.records[sample.index].prompt if prompt_of is None else prompt_of(sample)
    origin = Origin(
        benchmark.name,
        sample.id,
        benchmark.adapter.eval_split or "",
        sample.index,
        metadata={"task": benchmark.name, "doc_id": sample.index, "subset": sample.subset[0]},
        prompt=prompt,
    )
    requests = requests_for(prompt, form, origin)
    if isinstance(form.parameters, Loglikelihood):
        yield requests
        return
    seeds = [seed_for(run_seed, benchmark.name, sample.id, number) for number in range(form.n)]
    repeats = repeats_of(requests[0], seeds)
    yield repeats if len(repeats) > 1 else repeats[0]


def _check_references(benchmark: OpenBenchmark, seed: int) -> None:
    """Try the reference of the first record, so that a field that no record has shows before answers are paid for.

    Raises:
        DataError: if the adapter reads such a field.
    """
    records = [item.record for item in benchmark.records]
    if not all(isinstance(record, Mapping) for record in records):
        return
    what = f"The reference of benchmark {benchmark.name!r}"
    for record in records[:1]:
        try:
            with GUEST_LOCK, contained(), seeded(seed), boundary(DataError, what):
                benchmark.adapter.get_gold_answer(copy.deepcopy(record))
        except DataError as error:
            cause = error.__cause__
            field = cause.args[0] if isinstance(cause, KeyError) and cause.args else None
            if not isinstance(field, str) or any(field in one for one in records):
                return  # a failure of this record alone, as far as it shows
            raise DataError(
                f"The adapter of benchmark {benchmark.name!r} reads {field!r} for its reference, which no record has.",
                where=error.where,
                hint=f"{did_you_mean(field, record)} Its records have: {', '.join(map(str, record))}.".strip(),
            ) from error


def _findings(spec: TaskSpec, benchmark: OpenBenchmark, samples: Samples, seed: int) -> Iterator[LintFinding]:
    """A finding if the references of the records looked at are all equal."""
    what = f"The reference of benchmark {benchmark.name!r}"

    def reference(sample: Sample) -> object:
        with boundary(DataError, what):
            return benchmark.adapter.get_gold_answer(copy.deepcopy(benchmark.records[sample.index].record))

    with GUEST_LOCK, contained(), seeded(seed):
        targets = equal_targets(samples, reference)
    yield from constant_target(spec.name, str(spec.file), targets, len(samples), has_choices=False)


def _roles(options: AdapterRunOptions, judging: JudgeUse) -> frozenset[str]:
    """The judge, where answers or the report are shown to one."""
    is_analysed = options.analysis_report and not options.predict_only
    return frozenset({"judge"}) if judging.is_needed or is_analysed else frozenset()


def _modalities(form: RequestForm, records: Sequence[PromptedRecord]) -> frozenset[Modality]:
    """Return the modalities of the first prompts. Only conversations can hold more than text."""
    modalities: set[Modality] = {"text"}
    for item in records[:_MOST_PROMPTS_LOOKED_AT]:
        if item.prompt.get("messages"):
            for request in requests_for(item.prompt, form, Origin("", "")):
                modalities.update(part.modality for message in request.messages for part in message.parts)
    return frozenset(modalities)


_sorted_json = json.JSONEncoder(sort_keys=True).encode  # made once: ``json.dumps`` makes one for each call


def _digest_of_prompts(records: Sequence[PromptedRecord]) -> str:
    """Hash the prompts, since they may be made of files that lie beside the code."""
    state = hashlib.blake2b(digest_size=16)
    for item in records:
        prompt = {key: jsonable(value) for key, value in item.prompt.items() if key != "raw_input"}
        state.update(_sorted_json([item.subset, prompt]).encode())
    return state.hexdigest()


def _score_digest(spec: TaskSpec, benchmark: OpenBenchmark, options: AdapterRunOptions, judging: JudgeUse) -> str:
    """Hash of all that can change a score: the sources, how answers are reviewed, and the adapter's settings."""
    adapter, mode = benchmark.adapter, benchmark.mode
    strategy = None if options.predict_only else options.judge_strategy
    judge_args = options.judge_model_args if judging.is_needed else None
    reviewing = [_SCORING_VERSION, strategy, judge_args, mode.eval_type, mode.request_kind]
    settings = {
        **benchmark.changes,
        "filters": adapter.config_kwargs.get("filters"),
        "metric_list": adapter.metric_list,
    }
    settings.pop("local_path", None)  # where data lies changes no score; its content is in the fingerprint
    return fingerprint([spec.source_hash, reviewing, {key: _stable(value) for key, value in settings.items()}])


def _stable(value: Any) -> Any:
    """A setting as plain data. A live object in it has no content that could be hashed: it counts by the name of its
    class, so classes of ours that authors may put into settings keep their names.
    """
    try:
        return canonical(value)
    except TypeError:
        return type(value).__qualname__


def _notes(benchmark: OpenBenchmark, options: AdapterRunOptions) -> Iterator[str]:
    """Yield notes for the user: the choice of the mode, and settings that look misspelt."""
    if benchmark.mode.note:
        yield benchmark.mode.note
    for key in options.dataset_args.get(benchmark.meta.name, {}):
        suggestion = did_you_mean(key, SETTABLE) if key not in (*SETTABLE, "dataset_id", "local_path") else ""
        if suggestion:
            yield f"dataset_args of {benchmark.name!r}: {key!r} is passed to the adapter unchanged. {suggestion}"
