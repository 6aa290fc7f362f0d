"""What a task is made of, before it is bound to a way of asking: rows, forms, metrics, and a scorer of its own.

A YAML gives them by its fields; a Python class (``class_parts``) by its methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import PlanError, ScoreError, boundary
from polymeter.core.format import OpenContext
from polymeter.core.identity import seed_for
from polymeter.core.task import TaskSpec
from polymeter.data import Rows, Source, make_rows, open_splits
from polymeter.formats.task_yaml import blocks, forms, pictures
from polymeter.formats.task_yaml.config import TaskConfig
from polymeter.formats.task_yaml.fewshot import fewshot_split
from polymeter.formats.task_yaml.metrics import BoundMetric, bind_metrics
from polymeter.formats.task_yaml.registration import code_files
from polymeter.formats.task_yaml.scoring import Scorer
from polymeter.guests import resolve, seeded

Construct = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Data:
    """Rows of a task.

    Attributes:
        rows: What is measured.
        examples: Where examples come from; ``None``: there are none.
        has_own_examples: Whether these are the measured rows themselves.
    """

    rows: Rows
    examples: Rows | None = None
    has_own_examples: bool = False


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that makes a task.

    Attributes:
        config: Its typed configuration.
        data: Its rows.
        n_fewshot: How many examples stand before a question.
        binding: What forms were bound to.
        text: ``doc_to_text``.
        target: ``doc_to_target``.
        choices: ``doc_to_choice``.
        visual: ``doc_to_visual`` as a function; see also ``visual_column``.
        visual_column: The media column that ``doc_to_visual`` names.
        messages: ``doc_to_messages``.
        rounds: What comes after the first round.
        metrics: Its metrics.
        scorer: Its own scoring; ``None``: by its metrics.
        construct: Its own way of making requests.
    """

    config: TaskConfig
    data: Data
    n_fewshot: int
    binding: forms.Binding
    text: forms.Form
    target: forms.Form
    choices: forms.Form | None
    visual: forms.Form | None
    visual_column: str | None
    messages: Callable[..., Any] | None
    rounds: forms.RoundHooks
    metrics: tuple[BoundMetric, ...]
    scorer: Scorer | None
    construct: Construct | None = None


def yaml_parts(
    spec: TaskSpec, config: TaskConfig, context: OpenContext, key: str, where: Callable[[str], str]
) -> Parts:
    """The parts of a task that is written as YAML.

    Raises:
        PlanError: Its settings make no sense.
        DataError: Its dataset is missing, empty, or lacks a column.
    """
    metrics = bind_metrics(config, lambda: where("metric_list"), code_files(spec))
    n_fewshot = count_fewshot(config, context)
    data = _open_data(spec, config, context, n_fewshot)
    binding = bind_forms(config, data.rows, key, where)
    messages = forms.messages_form(config.doc_to_messages, binding)
    column = config.doc_to_visual if isinstance(config.doc_to_visual, str) else None
    return Parts(
        config=config,
        data=data,
        n_fewshot=n_fewshot,
        binding=binding,
        text=forms.text_form(config.doc_to_text, binding),
        target=(pictures if config.output_type == pictures.IMAGES else forms).target_form(
            config.doc_to_target, binding
        ),
        choices=forms.choice_form(config.doc_to_choice, binding),
        visual=forms.visual_form(config.doc_to_visual, binding),
        visual_column=column,
        messages=messages,
        rounds=forms.round_hooks(config.doc_to_text, config.doc_to_messages, messages, binding),
        metrics=metrics,
        scorer=own_scorer(config, spec.name, data.rows),
    )


def bind_forms(config: TaskConfig, rows: Rows, key: str, where: Callable[[str], str]) -> forms.Binding:
    """What the forms of a task are bound to."""
    return forms.Binding(
        task=config.task,
        columns=rows.columns,
        media=frozenset() if config.process_results_use_image else frozenset(rows.media),
        prompt_kwargs=blocks.prompt_kwargs(config.lmms_eval_specific_kwargs, key),
        target_kwargs=blocks.target_kwargs(config.model_specific_target_kwargs, key),
        has_choices=config.doc_to_choice is not None,
        where=where,
    )


def count_fewshot(config: TaskConfig, context: OpenContext) -> int:
    """The plan's number of examples wins, unless the task says that it has none."""
    if context.num_fewshot is None or config.num_fewshot == 0:
        return config.num_fewshot or 0
    return context.num_fewshot


def own_scorer(config: TaskConfig, task: str, rows: Rows) -> Scorer | None:
    """``process_results`` as a scorer; with ``full_docs`` it gets all rows too, if it names a parameter for them."""
    if config.process_results is None:
        return None
    parameters = inspect.signature(resolve(config.process_results)).parameters
    more = {"full_docs": AllDocs(rows)} if config.full_docs and "full_docs" in parameters else {}
    return checked_scorer(forms.guest(config.process_results, "process_results", task, ScoreError), task, more)


def checked_scorer(call: Callable[..., Any], task: str, more: Mapping[str, Any]) -> Scorer:
    """Task code as a scorer: what it gives must be a mapping of metrics."""

    def scorer(doc: Any, results: Any) -> Mapping[str, Any]:
        found = call(doc, results, **more)
        if not isinstance(found, Mapping):
            raise ScoreError(f"process_results of task {task!r} must return a dict of metrics, not {found!r:.80}.")
        return found

    return scorer


class AllDocs(Sequence[Any]):
    """All rows of a task without media, read when asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._rows.doc(i) for i in range(*index.indices(len(self)))]
        return self._rows.doc(index if index >= 0 else index + len(self))


def _open_data(spec: TaskSpec, config: TaskConfig, context: OpenContext, n_fewshot: int) -> Data:
    split = config.eval_split or ""
    fixed = _fixed_examples(config, n_fewshot, context)
    examples = None if fixed is not None else fewshot_split(config, n_fewshot)
    wanted = list(dict.fromkeys(item for item in (split, examples) if item))
    source = Source(str(config.dataset_path), config.dataset_name, config.dataset_kwargs, spec.file.parent)
    opened = open_splits(source, wanted, overrides=context.data, cache_dir=context.cache_dir)
    process = resolve(config.process_docs) if config.process_docs is not None else None
    made: dict[str, Rows] = {}
    for name in wanted:
        data: Any = opened[name]
        if process is not None:
            seed = seed_for(context.seed, spec.name, "process_docs", name)
            with seeded(seed), boundary(PlanError, f"process_docs of task {spec.name!r}"):
                data = process(data)
                if data is not opened[name] and not hasattr(data, "features"):
                    data = list(data)
        made[name] = make_rows(
            data,
            what=f"split {name!r} of task {spec.name!r}",
            base_fingerprint=f"{spec.source_hash}:{name}:{context.seed}",
            cache_dir=context.cache_dir,
        )
    return Data(made[split], fixed or (made[examples] if examples else None), examples == split)


def _fixed_examples(config: TaskConfig, n: int, context: OpenContext) -> Rows | None:
    """The rows that ``fewshot_config`` writes out under ``samples``, or that its function gives."""
    samples = (config.fewshot_config or {}).get("samples")
    if samples is None or n == 0:
        return None
    if callable(samples):
        seed = seed_for(context.seed, str(config.task), "fewshot_samples")
        with seeded(seed), boundary(PlanError, f"fewshot_config 'samples' of task {config.task!r}"):
            samples = list(resolve(samples)())
    return make_rows(samples, what=f"the few-shot samples of task {config.task!r}", cache_dir=context.cache_dir)
