"""A stored sample, as the files of one of lm-eval's tasks see it, for files in its form.

The task's functions have run a moment ago on the same rows. Where one fails on a stored row nevertheless (it held an
image, say), what the run folder shows takes the place of its value: files are written when everything is paid for.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.records.stored_samples import StoredSample
from polymeter.core.task import TaskSpec
from polymeter.core.text.secrets import without_secrets
from polymeter.guests import contained
from polymeter.guests.door import in_mode
from polymeter.guests.loading.load import FunctionRef
from polymeter.interop.lm_eval.tasks.config import GENERATE, MOST_TOKENS, LmTaskConfig, config_of
from polymeter.interop.lm_eval.tasks.dialect import DIALECT, NAME
from polymeter.interop.lm_eval.tasks.fields import bind_fields
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import LmEvalScorer, TaskFacts, make_scorer
from polymeter.tasks.yaml.files.load import field_locator

_NAMES_THERE = {"max_new_tokens": "max_gen_toks", "stop": "until"}


@dataclass(frozen=True, slots=True)
class TaskRereading:
    """One task's own view of its stored samples (``sample_lines.Rereading``). Its author's code runs: call it inside
    ``author_contained``.

    Attributes:
        config: Its configuration.
        scorer: Its filters and metrics.
        target_of: Its ``doc_to_target``.
        plan: The run's generation settings.
    """

    config: LmTaskConfig
    scorer: LmEvalScorer
    target_of: Callable[[Any], Any]
    plan: Mapping[str, Any]

    @property
    def aggregations(self) -> dict[str, str]:
        """The names of its metrics' aggregations; empty for a function of its author."""
        return {bound.name: bound.aggregation.name if bound.aggregation else "" for bound in self.scorer.bound}

    @property
    def directions(self) -> dict[str, bool | None]:
        """The direction of each metric: true if a higher value is better."""
        return {bound.name: bound.higher_is_better for bound in self.scorer.bound}

    def number(self, sample: StoredSample) -> int:
        """The number of its row."""
        return _row_number(sample)

    def target(self, sample: StoredSample) -> Any:
        """Return the value of its author's ``doc_to_target``."""
        try:
            return self.target_of(sample["doc"])
        except PolymeterError:
            return sample["target"]

    def settings(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """The generation settings as lm-eval passes them on."""
        own = self.config.generation_kwargs
        stops = [self.config.fewshot_delimiter]
        if own is None:
            own = {"temperature": 0.0, "do_sample": False, "max_gen_toks": 256, "until": stops}
        return {**own, "until": own.get("until", stops), **self.plan}

    def filtered(self, name: str, sample: StoredSample, responses: list[Any]) -> list[Any]:
        """Apply a chain of filters to the answers of each request."""
        chain = next((chain for chain in self.scorer.chains if chain.name == name), None)
        if chain is not None:
            with suppress(PolymeterError):
                return chain.filtered([list(answers) for answers in responses], [sample["doc"]] * len(responses))
        return [answers[0] for answers in responses if answers]


class ClassRereading:
    """The samples of a task class as a run folder has them (``sample_lines.Rereading``), without the class."""

    def number(self, sample: StoredSample) -> int:
        """The number of its row."""
        return _row_number(sample)

    def target(self, sample: StoredSample) -> Any:
        """The target as it is shown."""
        return str(sample["target"])

    def settings(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """The stored settings under lm-eval's names. Greedy answers of the usual length are what a request without
        settings gets, so these are left out.
        """
        usual = {"max_new_tokens": MOST_TOKENS, "temperature": 0.0}
        given = {name: value for name, value in told.items() if name not in usual or value != usual[name]}
        return {_NAMES_THERE.get(name, name): value for name, value in given.items() if value is not None}

    def filtered(self, name: str, sample: StoredSample, responses: list[Any]) -> list[Any]:
        """The first answer to each request, as without filters: what others make of it is not stored."""
        return [answers[0] for answers in responses if answers]


def is_class(spec: TaskSpec) -> bool:
    """Return whether a task is a class of its author's."""
    return spec.format == NAME and "class" in spec.config


def _row_number(sample: StoredSample) -> int:
    name = str(sample["id"])
    return int(name) if name.isdigit() else int(sample["index"])


@contextmanager
def author_contained() -> Iterator[None]:
    """Set the mode in which a task's own view may be asked. Entering takes longer than a row, so many are asked at a
    time.
    """
    with in_mode("hook"), contained():
        yield


def rereading_of(
    spec: TaskSpec, columns: tuple[str, ...], plan: Mapping[str, Any], parity: Parity = NO_PARITY
) -> TaskRereading | None:
    """A task's own view of its stored samples; ``None`` if it is not one of lm-eval's, or a class of its author's.

    Args:
        spec: The task.
        columns: The columns of its rows.
        plan: The run's generation settings.
        parity: The system whose values the run used.
    """
    if spec.format != NAME or "class" in spec.config:
        return None
    config = config_of(spec)
    try:
        with in_mode("load"), contained():
            fields = bind_fields(config, columns, field_locator(spec, DIALECT))
            scorer = make_scorer(spec, config, TaskFacts(fields), parity)
    except PolymeterError:
        return None
    return TaskRereading(config, scorer, fields.target, plan)


def plain_config(
    spec: TaskSpec, num_fewshot: int, metadata: Mapping[str, Any], reread: TaskRereading | None = None
) -> dict[str, Any]:
    """A task's configuration as lm-eval writes it: fields that are set, functions as their source text.

    Args:
        spec: The task.
        num_fewshot: How many examples it had.
        metadata: What the run adds to its metadata.
        reread: Its own view of its samples, with the generation settings that it had.
    """
    if spec.format != NAME or "class" in spec.config:
        values = {"task": spec.name, **spec.config, "num_fewshot": num_fewshot}
        return {str(name): _plain(value) for name, value in values.items()}
    config = config_of(spec)
    told = {name: getattr(config, name) for name in LmTaskConfig.model_fields}
    examples = config.examples
    own: dict[str, Any] = {
        **told,
        "num_fewshot": num_fewshot,
        "fewshot_config": {name: getattr(examples, name) for name in examples.__dataclass_fields__}
        | {"fewshot_indices": (config.fewshot_config or {}).get("fewshot_indices")},
        "metadata": {**config.metadata, **metadata, "config_source": str(spec.file)},
    }
    if config.output_type == GENERATE and reread is not None:
        own["generation_kwargs"] = without_secrets(dict(reread.settings({})))
    is_given = spec.config.keys()
    return {
        name: _plain(value) for name, value in own.items() if value is not None and (value != {} or name in is_given)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, FunctionRef):
        return _source_text(value)
    if callable(value):
        try:
            return inspect.getsource(value)
        except (OSError, TypeError):
            return str(value)
    return value


def _source_text(reference: FunctionRef) -> str:
    """The text of the function that a tag names, read from its file; the tag itself if it is not a function there."""
    file = reference.source_file()
    try:
        text = "" if file is None else file.read_text("utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return repr(reference)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == reference.attribute:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "".join(text.splitlines(keepends=True)[first - 1 : node.end_lineno])
    return repr(reference)
