"""From the spec of a benchmark of EvalScope 1.x to the Task that the engine runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from polymeter.core.acting.schemas import check_tools
from polymeter.core.content import Image, Modality, is_image
from polymeter.core.errors import DataError, PlanError, ScoreError, boundary, count
from polymeter.core.format import OpenContext
from polymeter.core.identity import canonical, fingerprint
from polymeter.core.media.showing import NOTHING_STATED, Showing, read_showing, settings_of
from polymeter.core.media.sources import digest
from polymeter.core.model import ModelTraits
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.needs import Needs
from polymeter.core.task import ReadingRules, Result, Samples, SampleView, Task, TaskSpec
from polymeter.core.task import Sample as Row
from polymeter.core.text.codec import jsonable
from polymeter.guests import contained
from polymeter.interop.evalscope.choices.adapters_1x import in_order_of, sample_orders
from polymeter.interop.evalscope.tasks.index import with_protocol
from polymeter.interop.evalscope.tasks.scoring.reduction import Reduce
from polymeter.interop.evalscope.v1.tasks.conversion import offered, parameters_of, request_messages
from polymeter.interop.evalscope.v1.tasks.guest import OpenAdapter, open_adapter, settable
from polymeter.interop.evalscope.v1.tasks.hooks import (
    compares_with_targets,
    has_rounds,
    is_judged,
    writes,
)
from polymeter.interop.evalscope.v1.tasks.model import ModelSettings
from polymeter.interop.evalscope.v1.tasks.reduction import AdapterReduction
from polymeter.interop.evalscope.v1.tasks.rollout import Inference
from polymeter.interop.evalscope.v1.tasks.scoring import score_rollout, target_of
from polymeter.interop.evalscope.v1.tasks.settings import Adapter1xOptions, defaults_for, read_run_options
from polymeter.interop.evalscope.v1.types.messages import messages_to_markdown
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.tasks.constant_targets import constant_target, equal_targets

_SCORING_VERSION = 2
_MOST_PROMPTS_LOOKED_AT = 16
_LONGEST_ADDRESS = 60
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def compile_task(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open. Runs its authors' code.

    Raises:
        PlanError: if its code cannot be loaded, a package is missing, or its settings make no sense.
        DataError: if its dataset is missing or empty, or no sample has a reference that its scoring needs.
    """
    options = read_run_options(context.options)
    benchmark = open_adapter(spec, traits, options, context)
    spec = with_protocol(spec, benchmark.meta)
    return task_of(
        spec,
        benchmark,
        options,
        traits,
        context,
        adapters=[benchmark.adapter],
        reduce=lambda inference: AdapterReduction(benchmark, inference, options.model_id).reduce,
        score_digest=digest_of_scoring(spec, benchmark, options),
    )


def task_of(
    spec: TaskSpec,
    benchmark: OpenAdapter,
    options: Adapter1xOptions,
    traits: ModelTraits,
    context: OpenContext,
    *,
    adapters: Sequence[Any],
    reduce: Callable[[Inference], Reduce],
    score_digest: str,
) -> Task:
    """The task of a benchmark whose prompts are made.

    Args:
        spec: Its spec.
        benchmark: The benchmark.
        options: The run's options for adapters.
        traits: The model's.
        context: The run's settings.
        adapters: The objects of authors that ask and score: the benchmark's own, or those of a collection.
        reduce: Makes its reduction.
        score_digest: Hash of all that can change a score.

    Raises:
        PlanError: if a sample has no prompt, or tools that no model can be offered.
        DataError: if a message cannot be shown, or no sample has a reference that its scoring needs.
    """
    adapter, samples = benchmark.adapter, benchmark.samples
    settings = ModelSettings(
        options.model_id or "model",
        benchmark.kind,
        dict(context.generation),
        dict(defaults_for(benchmark.kind, traits)),
    )
    repeats = benchmark.settings.repeats
    writes_files = benchmark.kind == "generate_image" or any(map(_writes_files, adapters))
    inference = Inference(
        spec.name,
        adapter.eval_split or "",
        adapter,
        settings,
        samples,
        partial(_output_dir, Path(benchmark.settings.work_dir) / spec.name, is_made=writes_files),
        context.seed,
        repeats,
    )

    def row_functions(of: Samples) -> RowFunctions:
        return RowFunctions(
            full_doc=lambda index: of[index].full_doc(),
            target=lambda index: target_of(in_order_of(samples[of[index].index], of[index].order)),
            choices=lambda index: in_order_of(samples[of[index].index], of[index].order).choices or None,
        )

    modalities = _modalities(benchmark)
    rows = AdapterRows(benchmark, repeats)
    roles = frozenset({"judge"} if any(map(is_judged, adapters)) else ())
    return Task(
        spec=spec,
        needs=Needs(frozenset({benchmark.kind}), modalities, roles, has_tools=_has_tools(benchmark)),
        samples=rows,
        rollout=inference.rollout,
        score=partial(score_rollout, benchmark, inference),
        reduce=reduce(inference),
        finish=partial(_finish, adapter),
        row_functions=row_functions(rows),
        parameters=(parameters_of(benchmark.kind, settings.generation, settings.defaults, None),),
        fingerprint=fingerprint([_digest_of(benchmark)]),
        score_digest=score_digest,
        is_guest=True,
        is_thread_safe=False,  # an adapter keeps what it likes on itself
        limits_subsets=True,
        reading=ReadingRules(is_separated=False),
        num_fewshot=int(adapter.few_shot_num or 0),
        repeats=repeats,
        notes=tuple(notes_on_targets(benchmark, is_begun=context.is_begun)),
        findings=tuple(_findings(spec, benchmark, rows)),
        showing=_stated_showing(benchmark),
        has_rounds=any(map(has_rounds, adapters)),
        choice_orders=partial(sample_orders, spec.name, samples, row_functions),
    )


def _finish(adapter: Any, results: Sequence[Result], report_path: Path) -> None:
    """Let the adapter let go of what it holds."""
    with contained(), boundary(ScoreError, f"finalize of benchmark {adapter.name!r}"):
        adapter.finalize()


class AdapterRows(SampleView):
    """The rows of samples that are all in memory, subset after subset.

    Args:
        benchmark: The benchmark.
        repeats: How many times each question is asked; its repeats share a cluster.
    """

    def __init__(self, benchmark: OpenAdapter, repeats: int) -> None:
        self._benchmark = benchmark
        self._repeats = repeats

    def __len__(self) -> int:
        return len(self._benchmark.samples)

    def _sample(self, index: int) -> Row:
        sample, subset = self._benchmark.samples[index], self._benchmark.subsets[index]
        cluster = f"{subset}/{sample.group_id}" if self._repeats > 1 else None
        return Row(self._benchmark.name, f"{subset}/{sample.id}", index, self._doc(sample), (subset,), cluster)

    def _doc(self, sample: Sample) -> dict[str, Any]:
        """A sample as a row to look at; addresses of media are cut. Authors leave out metadata that are large."""
        text = sample.input if isinstance(sample.input, str) else messages_to_markdown(sample.input, _LONGEST_ADDRESS)
        doc = {"input": text, "target": sample.target}
        if sample.choices:
            doc["choices"] = list(sample.choices)
        if sample.metadata and self._benchmark.adapter.save_metadata:
            doc["metadata"] = jsonable(sample.metadata)
        return doc


def _output_dir(folder: Path, key: str, *, is_made: bool) -> str:
    """The folder for files of a sample's answers, which is made where an author's code is likely to write some."""
    place = folder / key
    if is_made:
        place.mkdir(parents=True, exist_ok=True)
    return str(place)


def _writes_files(adapter: Any) -> bool:
    return writes(adapter, "run_inference", "_on_inference_end")


def _modalities(benchmark: OpenAdapter) -> frozenset[Modality]:
    """The modalities of the first prompts, which must be such that they can be sent.

    Raises:
        PlanError: if a sample has no prompt.
        DataError: if a message cannot be shown.
    """
    modalities: set[Modality] = {"text"}
    for index, sample in enumerate(benchmark.samples):
        place = f"{benchmark.name} {benchmark.subsets[index]}/{sample.id}"
        if not isinstance(sample.input, list) or not sample.input:
            raise PlanError(
                "This sample has no messages.",
                where=place,
                hint="record_to_sample must give an input: text or messages.",
            )
        if index < _MOST_PROMPTS_LOOKED_AT:
            messages = request_messages(sample.input)
            modalities.update(part.modality for message in messages for part in message.parts)
    return frozenset(modalities)


def _has_tools(benchmark: OpenAdapter) -> bool:
    """Return whether a sample has tools that the model may call.

    Raises:
        PlanError: if no model can be offered them.
    """
    has_tools = False
    for index, sample in enumerate(benchmark.samples):
        if sample.tools:
            check_tools(offered(sample.tools), where=f"{benchmark.name} {benchmark.subsets[index]}/{sample.id}")
            has_tools = True
    return has_tools


def notes_on_targets(benchmark: OpenAdapter, *, is_begun: bool) -> Iterator[str]:
    """Yield notes for the user about samples without a reference.

    Raises:
        DataError: if no sample has one, and the scoring compares with it.
    """
    if not compares_with_targets(benchmark.adapter):
        return
    n_without = sum(not target_of(sample) for sample in benchmark.samples)
    if n_without == len(benchmark.samples) and not is_begun:
        raise DataError(
            f"No sample of benchmark {benchmark.name!r} has a target, and its metrics compare answers with it.",
            hint="Set Sample(target=…) in record_to_sample, or write match_score.",
        )
    if n_without:
        has = "has" if n_without == 1 else "have"
        yield f"{count(n_without, 'sample')} of benchmark {benchmark.name!r} {has} no target and will have no score."


def _findings(spec: TaskSpec, benchmark: OpenAdapter, rows: AdapterRows) -> Iterator[LintFinding]:
    """A finding if the references of the samples looked at are all equal."""
    if not compares_with_targets(benchmark.adapter):
        return
    targets = equal_targets(rows, lambda row: target_of(benchmark.samples[row.index]))
    yield from constant_target(spec.name, str(spec.file), targets, len(rows), has_choices=False)


def _stated_showing(benchmark: OpenAdapter) -> Showing:
    """Return what the ``extra_params`` of a registration, or the run's, state to be shown of media. Values that are no
    mappings are settings of the adapter's own, and so are mappings with other keys than those of a rule.

    Raises:
        PlanError: if a rule makes no sense.
    """
    with boundary(PlanError, f"extra_params of {benchmark.name!r}"):
        written = benchmark.adapter.extra_params
    rules = {
        name: rule
        for name, rule in written.items()
        if isinstance(rule, Mapping) and rule and not rule.keys() - settings_of(name)
    }
    return NOTHING_STATED.under(read_showing(rules, f"extra_params of {benchmark.name!r}"))


_sorted_json = json.JSONEncoder(sort_keys=True).encode  # made once: ``json.dumps`` makes one for each call


def _digest_of(benchmark: OpenAdapter) -> str:
    """Hash the samples with their prompts, which may be made of files that lie beside the code. The ids of messages are
    drawn anew each time.
    """
    state = hashlib.blake2b(digest_size=16)
    for subset, sample in zip(benchmark.subsets, benchmark.samples, strict=True):
        values = sample.model_dump(exclude={"input", "metadata"}, exclude_none=True)
        messages: Sequence[Any] = sample.input if isinstance(sample.input, list) else []
        shown = [message.model_dump(exclude={"id", "perf_metrics"}, exclude_none=True) for message in messages]
        state.update(_sorted_json(_hashable([subset, values, shown, sample.metadata])).encode(errors="replace"))
    return state.hexdigest()


def _hashable(value: Any) -> Any:
    """A value of a sample as plain data that is the same in each process: bytes and images by their content, and other
    objects without their address.
    """
    if isinstance(value, Mapping):
        return {str(key): _hashable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_hashable(item) for item in value]
    if isinstance(value, bytes):
        return digest(value)
    if is_image(value):
        return (value if isinstance(value, Image) else Image(value)).content_hash()
    plain = jsonable(value)
    return _ADDRESS.sub("", plain) if isinstance(plain, str) and plain is not value else plain


def digest_of_scoring(spec: TaskSpec, benchmark: OpenAdapter, options: Adapter1xOptions) -> str:
    """Hash of all that can change a score: the sources, how answers are scored, and the adapter's settings."""
    settings = settable(benchmark.changes)
    settings.pop("dataset_id", None)  # where data lies changes no score; its content is in the fingerprint
    reviewing = [_SCORING_VERSION, options.judge, options.repeats, benchmark.kind]
    return fingerprint([spec.source_hash, reviewing, {key: _stable(value) for key, value in settings.items()}])


def _stable(value: Any) -> Any:
    """A setting as plain data. A live object in it counts by the name of its class."""
    try:
        return canonical(value)
    except TypeError:
        return type(value).__qualname__
