"""Tasks as Python classes: what code written for lmms-eval subclasses.

An object of these classes is a guest: it defines a task's rows, prompts, requests and values, and ``class_task`` builds
the task from it. What a subclass does not override comes from its configuration, by the same functions as for a YAML
task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import guest_context
from polymeter.core.request import ChoiceLogprob
from polymeter.data import Rows, Source, make_rows, open_splits
from polymeter.guests import resolve
from polymeter.interop.lmms_eval.instance import Instance
from polymeter.interop.lmms_eval.models.media import original_item
from polymeter.interop.lmms_eval.tasks.class_config import LmmsTaskContext, LmmsTaskSplits, TaskConfig
from polymeter.metrics.choice_targets import choice_indices
from polymeter.tasks.yaml import config as yaml_config
from polymeter.tasks.yaml import settings
from polymeter.tasks.yaml.outputs.choices import choice_values, likelihood_values
from polymeter.tasks.yaml.outputs.parameters import text_settings
from polymeter.tasks.yaml.prompts import forms
from polymeter.tasks.yaml.prompts.visuals import chat_item
from polymeter.tasks.yaml.scoring.metrics import BoundMetric, bind_metrics, comparing_as_written, metrics_at_parity
from polymeter.tasks.yaml.scoring.readings import default_scorer

_GENERATING = "generate"


class Task:
    """A task whose author writes every method.

    Args:
        data_dir: Not used; lmms-eval's constructor has it.
        cache_dir: Passed to ``download``; the run decides where datasets are kept.
        download_mode: Not used.
        config: Fields of a task YAML.
    """

    VERSION: Any = None
    DATASET_PATH: str | None = None
    DATASET_NAME: str | None = None
    OUTPUT_TYPE: str | None = None
    _surroundings = LmmsTaskContext()
    """The settings that the run passes to it; set before its constructor runs."""

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self._prepare(config, "")
        self.download(data_dir, cache_dir, download_mode)

    def _prepare(self, config: Mapping[str, Any] | None, model_name: str) -> None:
        values = {name: value for name, value in (config or {}).items() if name != "class"}
        if values.get("task") is None:
            values["task"] = self._surroundings.name or type(self).__name__
        values.setdefault("dataset_path", self.DATASET_PATH)
        values.setdefault("dataset_name", self.DATASET_NAME)
        values.setdefault("output_type", self.OUTPUT_TYPE or "generate_until")
        self._config = TaskConfig(**values)
        self.task_name = str(values["task"])
        self.model_name = model_name or self._surroundings.model_key
        self.dataset: Any = None

    @property
    def config(self) -> TaskConfig:
        """The configuration, which may be changed."""
        return self._config

    def download(self, data_dir: Any = None, cache_dir: Any = None, download_mode: Any = None) -> None:
        """Open the dataset that the class names; override it to get rows from elsewhere into ``dataset``."""
        self.dataset = LmmsTaskSplits(self._open_split)

    def _open_split(self, split: str) -> Any:
        config, surroundings = self._config, self._surroundings
        path = config.dataset_path or self.DATASET_PATH
        if path is None:
            raise PlanError(f"Task {self.task_name!r} names no dataset_path and does not download its rows itself.")
        source = Source(str(path), config.dataset_name, config.dataset_kwargs or {}, surroundings.directory)
        opened = open_splits(source, [split], overrides=surroundings.data, cache_dir=surroundings.cache_dir)
        rows: Any = opened[split]
        return resolve(config.process_docs)(rows) if config.process_docs is not None else rows

    def has_training_docs(self) -> bool:
        """Return whether there is a training split."""
        return self._config.training_split is not None

    def has_validation_docs(self) -> bool:
        """Return whether there is a validation split."""
        return self._config.validation_split is not None

    def has_test_docs(self) -> bool:
        """Return whether there is a test split."""
        return self._config.test_split is not None

    def training_docs(self) -> Any:
        """Rows of the training split."""
        return self.dataset[self._config.training_split] if self.has_training_docs() else []

    def validation_docs(self) -> Any:
        """Rows of the validation split."""
        return self.dataset[self._config.validation_split] if self.has_validation_docs() else []

    def test_docs(self) -> Any:
        """Rows of the test split."""
        return self.dataset[self._config.test_split] if self.has_test_docs() else []

    @property
    def eval_docs(self) -> Any:
        """Rows that are evaluated: of the test split, else of the validation split.

        Raises:
            PlanError: if the task has neither.
        """
        if self.has_test_docs():
            return self.test_docs()
        if self.has_validation_docs():
            return self.validation_docs()
        raise PlanError(f"Task {self.task_name!r} has neither test nor validation docs.")

    def doc_to_text(self, doc: Any) -> Any:
        """The question of a row."""
        raise NotImplementedError

    def doc_to_target(self, doc: Any) -> Any:
        """The reference answer of a row."""
        raise NotImplementedError

    def doc_to_visual(self, doc: Any) -> Any:
        """The media of a row."""
        return []

    def construct_requests(self, doc_id: Any, ctx: Any, **kwargs: Any) -> Any:
        """The requests of a row: an ``Instance`` or a list of them."""
        raise NotImplementedError

    def process_results(self, doc: Any, results: Any) -> Any:
        """The values of a row's answers, by metric."""
        raise NotImplementedError

    def aggregation(self) -> Any:
        """The aggregation of each metric."""
        raise NotImplementedError

    def higher_is_better(self) -> Any:
        """The direction of each metric."""
        return dict.fromkeys(self.aggregation(), True)

    def get_config(self, key: str) -> Any:
        """A field of the configuration, or ``None``."""
        return self._config.get(key)

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Change a field; ``update`` merges a mapping into it."""
        if update and isinstance(self._config.get(key), dict):
            self._config[key].update(value)
        else:
            self._config[key] = value

    def dump_config(self) -> dict[str, Any]:
        """The configuration as plain data."""
        return self._config.to_dict()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(task_name={self.task_name!r}, output_type={self._config.output_type!r})"


class ConfigurableTask(Task):
    """A task that its configuration describes; a subclass may override single methods.

    Args:
        data_dir: Not used.
        cache_dir: Not used; the run decides where datasets are kept.
        download_mode: Not used.
        config: Fields of a task YAML; functions may stand where YAML has ``!function``.
        model_name: Selects the model-specific blocks; if empty, the run does.
    """

    VERSION = "Yaml"
    CONFIG: Mapping[str, Any] | None = None

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: Any = None,
        config: Mapping[str, Any] | None = None,
        model_name: str | None = None,
    ) -> None:
        self._prepare({**(self.CONFIG or {}), **(config or {})}, model_name or "")
        config_view = self._config
        self.OUTPUT_TYPE = config_view.output_type
        self.DATASET_PATH, self.DATASET_NAME = config_view.dataset_path, config_view.dataset_name
        self.lmms_eval_specific_kwargs = settings.prompt_kwargs(config_view.lmms_eval_specific_kwargs, self.model_name)
        self.model_specific_target_kwargs = settings.target_kwargs(
            config_view.model_specific_target_kwargs, self.model_name
        )
        self._cached: dict[str, Any] = {}
        self.download(config_view.dataset_kwargs)

    def download(self, dataset_kwargs: Any = None, cache_dir: Any = None, download_mode: Any = None) -> None:
        """Open the dataset that the configuration names."""
        self.dataset = LmmsTaskSplits(self._open_split)

    @property
    def features(self) -> list[str]:
        """Names of the columns."""
        return list(self._rows.columns)

    @property
    def task_docs(self) -> Any:
        """Rows that are evaluated."""
        return self.eval_docs

    def fewshot_docs(self) -> Any:
        """Rows that few-shot examples come from."""
        if self._config.fewshot_split is not None:
            return self.dataset[self._config.fewshot_split]
        return self.training_docs() if self.has_training_docs() else self.validation_docs()

    def doc_to_text(self, doc: Any) -> Any:
        """The question, by ``doc_to_text`` of the configuration."""
        return self._form("doc_to_text", forms.text_form)(doc)

    def doc_to_target(self, doc: Any) -> Any:
        """The reference answer, by ``doc_to_target`` of the configuration."""
        return self._form("doc_to_target", forms.target_form)(doc)

    def doc_to_choice(self, doc: Any) -> list[str]:
        """The choices, by ``doc_to_choice`` of the configuration.

        Raises:
            PlanError: if it has none.
        """
        form = self._form("doc_to_choice", forms.choice_form)
        if form is None:
            raise PlanError(f"Task {self.task_name!r} has no doc_to_choice.")
        return form(doc)  # type: ignore[no-any-return]

    def doc_to_visual(self, doc: Any) -> Any:
        """The media, by ``doc_to_visual`` of the configuration."""
        form = self._form("doc_to_visual", forms.visual_form)
        return [] if form is None else form(doc)

    def construct_requests(self, doc_id: Any, ctx: Any, **kwargs: Any) -> Any:
        """The requests of a row, in the argument layouts of simple models."""
        kind, split = str(self._config.output_type), self._split
        row = (self.doc_to_visual, doc_id, self.task_name, split)
        if kind == "loglikelihood":
            return Instance(kind, (ctx, self.doc_to_target, *row), 0, **kwargs)
        if kind == "multiple_choice":
            doc = self._rows.doc(doc_id)
            delimiter, choices = self._config.target_delimiter, self.doc_to_choice(doc)
            pairs = [(ctx, f"{delimiter}{choice}") for choice in choices]
            if isinstance(self.doc_to_text(doc), int):
                pairs = [(choice, f"{delimiter}{self.doc_to_target(doc)}") for choice in choices]
            return [Instance("loglikelihood", (*pair, *row), idx, **kwargs) for idx, pair in enumerate(pairs)]
        if kind in ("generate_until_multi_round", "generate_until_agentic"):
            rounds = partial(self._config.doc_to_text, lmms_eval_specific_kwargs=self.lmms_eval_specific_kwargs)
            return Instance(kind, (ctx, self._generation(), self.doc_to_visual, rounds, *row[1:]), 0, **kwargs)
        return Instance(kind, (ctx, self._generation(), *row), 0, **kwargs)

    def process_results(self, doc: Any, results: Any, full_docs: Any = None) -> Any:
        """The values of a row's answers, by ``process_results`` of the configuration, else by its metrics."""
        if self._config.process_results is not None:
            return resolve(self._config.process_results)(doc, results)
        metrics, kind = self._metrics(), str(self._config.output_type)
        if kind.startswith(_GENERATING):
            has_choices = self._config.doc_to_choice is not None
            form = self.doc_to_choice if has_choices else None
            return default_scorer(metrics, self.doc_to_target, form, splits_printed=True)(doc, results)
        logprobs = [ChoiceLogprob(float(logprob), bool(is_greedy), 1) for logprob, is_greedy in results]
        if kind == "loglikelihood":
            return likelihood_values(metrics, str(self.doc_to_target(doc)), logprobs[0], doc)
        text = self.doc_to_text(doc)
        target = text if type(text) is int else self.doc_to_target(doc)
        choices = self.doc_to_choice(doc)
        return choice_values(metrics, choice_indices(target, choices), choices, logprobs, None, doc)[0]

    def aggregation(self) -> dict[str, Any]:
        """The aggregation of each metric."""
        return {
            metric.name: metric.aggregate or (metric.aggregation.aggregate if metric.aggregation else None)
            for metric in self._metrics()
        }

    def higher_is_better(self) -> dict[str, Any]:
        """The direction of each metric."""
        return {metric.name: metric.higher_is_better for metric in self._metrics()}

    @property
    def _split(self) -> str:
        return str(self._config.test_split or self._config.validation_split or "")

    @property
    def _rows(self) -> Rows:
        if "rows" not in self._cached:
            rows_name = f"the rows of task {self.task_name!r}"
            self._cached["rows"] = make_rows(self.eval_docs, what=rows_name, cache_dir=self._surroundings.cache_dir)
        return self._cached["rows"]  # type: ignore[no-any-return]

    def _typed(self) -> yaml_config.YamlFields:
        file = self._surroundings.directory / f"{self.task_name}.yaml"
        return yaml_config.validate(self._config.to_dict(keep_callable=True), lambda key: str(file), file)

    def _metrics(self) -> tuple[BoundMetric, ...]:
        if "metrics" not in self._cached:
            bound = comparing_as_written(bind_metrics(self._typed(), lambda: self.task_name))
            self._cached["metrics"] = metrics_at_parity(bound, guest_context().parity)
        return self._cached["metrics"]  # type: ignore[no-any-return]

    def _form(self, name: str, make: Callable[[Any, forms.Binding], Any]) -> Any:
        if name not in self._cached:
            rows, config = self._rows, self._config
            binding = forms.Binding(
                task=self.task_name,
                columns=rows.columns,
                media=frozenset() if config.process_results_use_image else frozenset(rows.media),
                prompt_kwargs=self.lmms_eval_specific_kwargs,
                target_kwargs=self.model_specific_target_kwargs,
                has_choices=config.doc_to_choice is not None,
                where=lambda key: f"{key} of task {self.task_name!r}",
            )
            self._cached[name] = make(config[name], binding)
        return self._cached[name]

    def _generation(self) -> dict[str, Any]:
        block = settings.generation_kwargs(self._config.model_specific_generation_kwargs, self.model_name)
        merged = text_settings(self._config.generation_kwargs, block, {}, is_completion=False, where=self.task_name)
        return dict(merged.raw)


class ConfigurableMessagesTask(ConfigurableTask):
    """A task for chat models: its rows become messages."""

    def doc_to_messages(self, doc: Any) -> Any:
        """The messages, by ``doc_to_messages`` of the configuration, else one user turn of all media and the text."""
        form = self._form("doc_to_messages", forms.messages_form)
        if form is not None:
            return form(doc)
        text = {"type": "text", "text": self.doc_to_text(doc)}
        is_original = guest_context().parity.on("chat-media")
        items = [(is_original and original_item(one)) or chat_item(one) for one in self.doc_to_visual(doc) or ()]
        return [{"role": "user", "content": [*items, text]}]

    def construct_requests(self, doc_id: Any, ctx: Any, **kwargs: Any) -> Any:
        """The requests of a row, in the argument layout of chat models.

        Raises:
            PlanError: if the output type is not for chat models.
        """
        kind = str(self._config.output_type)
        if not kind.startswith(_GENERATING) or kind == "generate_visual_cot":
            raise PlanError(f"A chat model cannot answer output type {kind!r} of task {self.task_name!r}.")
        if kind == "generate_until_agentic":
            return super().construct_requests(doc_id, ctx, **kwargs)
        arguments = (ctx, self.doc_to_messages, self._generation(), doc_id, self.task_name, self._split)
        return Instance(kind, arguments, 0, **kwargs)
