"""A task class that its configuration describes. Subclasses override single methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import guest_context
from polymeter.core.task import TaskSpec
from polymeter.guests import resolve
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.classes.class_config import FewshotConfig, TaskConfig
from polymeter.interop.lm_eval.tasks.classes.task_classes import Task
from polymeter.interop.lm_eval.tasks.config import LIKELIHOOD, MULTIPLE_CHOICE, ROLLING, LmTaskConfig, validate
from polymeter.interop.lm_eval.tasks.fields import FieldFunctions, bind_fields, count_inputs
from polymeter.interop.lm_eval.tasks.instances import choice_delimiter
from polymeter.interop.lm_eval.tasks.scoring.aggregations import FUNCTIONS, mean
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import LmEvalScorer, TaskFacts, make_scorer
from polymeter.interop.lm_eval.tasks.scoring.metrics import bind_metrics


class ConfigurableTask(Task):
    """A task that its configuration describes; a subclass may override single methods.

    Args:
        data_dir: Not used.
        cache_dir: Not used; the run decides where datasets are kept.
        download_mode: Not used.
        config: Fields of a task in YAML; functions may stand where YAML has ``!function``.
    """

    VERSION = "Yaml"
    CONFIG: Any = None

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        own = self.CONFIG.to_dict(keep_callable=True) if isinstance(self.CONFIG, TaskConfig) else self.CONFIG
        values = {name: value for name, value in {**(own or {}), **(config or {})}.items() if name != "class"}
        values["task"] = values.get("task") or self._surroundings.name or None
        self._config = told = TaskConfig(**values)
        self.fewshot_rnd = None
        self.fewshot_cfg: FewshotConfig = told.fewshot_config
        self.prompt: Any = None
        if isinstance(told.metadata, Mapping) and "version" in told.metadata:
            self.VERSION = told.metadata["version"]
        self.OUTPUT_TYPE = told.output_type
        self.MULTIMODAL = bool(told.doc_to_image or told.doc_to_audio)
        self.UNSAFE_CODE = told.unsafe_code is not False
        self.DATASET_PATH = told.dataset_path or self.DATASET_PATH
        self.DATASET_NAME = told.dataset_name or self.DATASET_NAME
        self._made: dict[str, Any] = {}
        self.download(told.dataset_kwargs)

    def download(  # type: ignore[override]  # as in lm-eval
        self, dataset_kwargs: Any = None, **kwargs: Any
    ) -> None:
        """Open the dataset of the configuration; override it to get rows from elsewhere into ``dataset``."""
        told = self._config
        if told.custom_dataset is not None:
            self.dataset = resolve(told.custom_dataset)(**(told.metadata or {}), **(told.dataset_kwargs or {}))
        else:
            options = {name: value for name, value in (dataset_kwargs or {}).items() if name != "trust_remote_code"}
            self.dataset = self._opened(options)

    def has_training_docs(self) -> bool:
        """Return whether the configuration names a training split."""
        return self._config.training_split is not None

    def has_validation_docs(self) -> bool:
        """Return whether it names a validation split."""
        return self._config.validation_split is not None

    def has_test_docs(self) -> bool:
        """Return whether it names a test split."""
        return self._config.test_split is not None

    def training_docs(self) -> Any:
        """Rows of the training split."""
        return self._processed(self._config.training_split)

    def validation_docs(self) -> Any:
        """Rows of the validation split."""
        return self._processed(self._config.validation_split)

    def test_docs(self) -> Any:
        """Rows of the test split."""
        return self._processed(self._config.test_split)

    def _processed(self, split: str | None) -> Any:
        if split is None:
            return None
        rows, process = self.dataset[split], self._config.process_docs
        return rows if process is None else resolve(process)(rows)

    def fewshot_docs(self) -> Any:
        """Rows that examples are drawn from: a split for them, listed rows, else as for any task."""
        told = self.fewshot_cfg
        if told.split is not None:
            rows = self.dataset[told.split]
            return rows if told.process_docs is None else resolve(told.process_docs)(rows)
        if told.samples is not None:
            return resolve(told.samples)() if callable(told.samples) else told.samples
        return super().fewshot_docs()

    def doc_to_text(self, doc: Any, doc_to_text: Any = None) -> Any:
        """The question, by ``doc_to_text`` of the configuration."""
        return self._fields(doc_to_text=doc_to_text).text(doc)

    def doc_to_target(self, doc: Any, doc_to_target: Any = None) -> Any:
        """The reference answer, by ``doc_to_target`` of the configuration."""
        return self._fields(doc_to_target=doc_to_target).target(doc)

    def doc_to_choice(self, doc: Any, doc_to_choice: Any = None) -> Any:
        """The choices, by ``doc_to_choice`` of the configuration.

        Raises:
            PlanError: if it has none.
        """
        fields = self._fields(doc_to_choice=doc_to_choice)
        if not fields.has_choices:
            raise PlanError(f"Task {self.task_name!r} has no doc_to_choice.")
        return fields.choices(doc)

    def doc_to_image(self, doc: Any, doc_to_image: Any = None) -> Any:
        """The images, by ``doc_to_image`` of the configuration."""
        form = self._fields(doc_to_image=doc_to_image).images
        return None if form is None else form(doc)

    def doc_to_audio(self, doc: Any, doc_to_audio: Any = None) -> Any:
        """The recordings, by ``doc_to_audio`` of the configuration."""
        form = self._fields(doc_to_audio=doc_to_audio).audio
        return None if form is None else form(doc)

    def doc_to_prefix(self, doc: Any) -> Any:
        """Return the beginning of the answer, by ``gen_prefix`` of the configuration."""
        form = self._fields().prefix
        return None if form is None else form(doc)

    def should_decontaminate(self) -> bool:
        """As the configuration sets it; it has no effect."""
        return bool(self._config.should_decontaminate)

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
        """The requests of a row, by the output type."""
        is_chat = bool(kwargs.pop("apply_chat_template", False))
        kwargs.pop("chat_template", None)
        media: dict[str, Any] = {}
        if self._config.doc_to_image:
            media["visual"] = self.doc_to_image(doc)
        if self._config.doc_to_audio:
            media["audio"] = self.doc_to_audio(doc)
        kind = str(self.OUTPUT_TYPE)
        if kind != MULTIPLE_CHOICE:
            arguments: tuple[Any, ...] = (self.doc_to_target(doc),)
            if kind != ROLLING:
                arguments = (ctx, *arguments) if kind == LIKELIHOOD else (ctx, dict(self._config.generation_kwargs))
            return Instance(kind, doc, (*arguments, media) if media else arguments, 0, **kwargs)
        delimiter = choice_delimiter(self._config.target_delimiter, self._config.gen_prefix, is_chat=is_chat)
        choices = self.doc_to_choice(doc)
        if isinstance(ctx, list):
            pairs = [(each, f"{delimiter}{self.doc_to_target(doc)}") for each in ctx]
        else:
            pairs = [(ctx, f"{delimiter}{choice}") for choice in choices]
        if "acc_mutual_info" in self._scorer().metrics:
            pairs += [("", f"{delimiter}{choice}") for choice in choices]
        return [
            Instance(LIKELIHOOD, doc, (*pair, media) if media else pair, idx, **kwargs)
            for idx, pair in enumerate(pairs)
        ]

    def process_results(self, doc: Any, results: Any) -> Any:
        """The values of a row's answers, by ``process_results`` of the configuration, else by its metrics."""
        return dict(self._scorer().values(doc, list(results))[0])

    def aggregation(self) -> Any:
        """The aggregation of each metric."""
        return {
            metric.name: metric.aggregate or (FUNCTIONS[metric.aggregation.name] if metric.aggregation else mean)
            for metric in bind_metrics(self._typed())
        }

    def higher_is_better(self) -> Any:
        """The direction of each metric."""
        return {metric.name: metric.higher_is_better for metric in bind_metrics(self._typed())}

    @property
    def features(self) -> list[str]:
        """The columns of the rows that are evaluated."""
        if "features" not in self._made:
            docs = self.eval_docs
            named = docs.features if hasattr(docs, "features") else docs[0] if len(docs) else ()
            self._made["features"] = list(named)
        return self._made["features"]  # type: ignore[no-any-return]

    def _typed(self) -> LmTaskConfig:
        file = self._surroundings.directory / f"{self.task_name}.yaml"
        return validate({**self._config.written(), "task": self.task_name}, lambda key: str(file), file)

    def _fields(self, **instead: Any) -> FieldFunctions:
        """The fields of the configuration; missing ones are empty, since a subclass has its own."""
        told = {name: value for name, value in instead.items() if value is not None}
        if told or "fields" not in self._made:
            config = self._typed()
            empty = {name: "" for name in ("doc_to_text", "doc_to_target") if getattr(config, name) is None}
            config = config.model_copy(update={**empty, **told})
            fields = bind_fields(config, tuple(self.features), lambda key: f"{key} of task {self.task_name!r}")
            if told:
                return fields
            self._made["fields"] = fields
        return self._made["fields"]  # type: ignore[no-any-return]

    def _scorer(self) -> LmEvalScorer:
        if "scorer" not in self._made:
            told = self._surroundings
            spec = TaskSpec(self.task_name, "lm_eval", told.directory / f"{self.task_name}.yaml", {}, "")
            methods = _Methods(self)
            n_inputs = count_inputs(methods, self.eval_docs[0]) if self.OUTPUT_TYPE == MULTIPLE_CHOICE else 0
            parity = guest_context().parity
            first = self.doc_to_target(self.eval_docs[0]) if parity.on("first-row-targets") else None
            facts = TaskFacts(methods, n_inputs, len(first) if isinstance(first, list) else 0)
            # What a class inherits keeps the rule of the system that it was written for.
            parity = replace(parity, switched=parity.switched | {"exact-as-written", "printed-targets"})
            self._made["scorer"] = make_scorer(spec, self._typed(), facts, parity)
        return self._made["scorer"]  # type: ignore[no-any-return]


class _Methods:
    """The values of a row, by the methods of a task."""

    def __init__(self, task: ConfigurableTask) -> None:
        self._task = task

    @property
    def has_choices(self) -> bool:
        return self._task.config.doc_to_choice is not None

    def text(self, doc: Any) -> Any:
        return self._task.doc_to_text(doc)

    def target(self, doc: Any) -> Any:
        return self._task.doc_to_target(doc)

    def choices(self, doc: Any) -> Any:
        return self._task.doc_to_choice(doc)
