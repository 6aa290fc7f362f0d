"""``DefaultDataAdapter``: loading, prompts, inference, scores, numbers and the report, as hooks that authors override.

The hooks run in this order: once ``load_dataset``; for each sample ``run_inference``, then ``calculate_metrics``; for
each subset ``aggregate_subset``; once ``generate_report`` and ``finalize``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from polymeter.core.errors import DataError, PlanError, PolymeterError, ScoreError, boundary
from polymeter.interop.evalscope.v1.adapters.data_adapter import DataAdapter, metric_of
from polymeter.interop.evalscope.v1.constants import DataCollection, HubType, JudgeStrategy, ScoreStatus
from polymeter.interop.evalscope.v1.data.datasets import DatasetDict
from polymeter.interop.evalscope.v1.data.loaders import LocalDataLoader, RemoteDataLoader
from polymeter.interop.evalscope.v1.registries import get_aggregation, get_metric
from polymeter.interop.evalscope.v1.report.generator import ReportMaker
from polymeter.interop.evalscope.v1.scoring.metric_base import MetricUnavailableError
from polymeter.interop.evalscope.v1.types.messages import ChatMessage, ChatMessageSystem, ChatMessageUser
from polymeter.interop.evalscope.v1.types.outputs import ModelOutput
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore, Score
from polymeter.interop.evalscope.v1.types.state import InferenceResult, InferenceReturn, TaskState

logger = logging.getLogger("polymeter.benchmarks")
_BAYES = "bayes_at_n"
_BOTH = 2
_OF_BAYES = frozenset({_BAYES, "bayes_at_n_sd"})
_BINARY = frozenset({"accuracy", "acc", "exact_match", "em"})
_RIGHT = 0.99
"""Above this value of the rule, ``llm_recall`` asks no judge."""


class DefaultDataAdapter(DataAdapter):
    """The adapter that authors subclass; see the module."""

    # Data.

    def load_dataset(self) -> DatasetDict:
        """Load the data and make its prompts.

        Returns:
            What is asked about, by subset.

        Raises:
            ValueError: if the benchmark's aggregation cannot be computed in this run.
            DataError: if ``load`` does not return both.
        """
        if self.aggregation == _BAYES:
            self._check_bayes()
        loaded: Any = self.load()
        if not isinstance(loaded, (tuple, list)) or len(loaded) != _BOTH:
            raise DataError(
                f"The method load of benchmark {self.name!r} gave a {type(loaded).__name__}.",
                hint="It must return two: what is asked about, as a DatasetDict, and the examples, or None.",
            )
        self.test_dataset, self.fewshot_dataset = loaded
        if self.aggregation == _BAYES and len(self.test_dataset) != 1:
            raise ValueError("Bayes@N requires exactly one loaded subset.")
        self._post_process_samples()
        return self.test_dataset  # type: ignore[no-any-return]

    def _check_bayes(self) -> None:
        repeats = self.repeats
        if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
            raise ValueError("Bayes@N requires a positive integer repeats count.")
        if self.name == DataCollection.NAME or len(self.subset_list) != 1:
            raise ValueError("Bayes@N supports one selected subset and does not support dataset collections.")
        names = [metric_of(entry)[0] for entry in self.metric_list]
        if not names or not _BINARY.issuperset(names):
            raise ValueError("Bayes@N supports only binary accuracy and exact_match metrics.")
        self.aggregate_empty_scores = True

    def load(self) -> tuple[DatasetDict, DatasetDict | None]:
        """Load what is asked about, and the examples, from a path or a hub."""
        if os.path.exists(self.dataset_id):
            with self._temporary_attribute("dataset_hub", HubType.LOCAL):
                return self.load_from_disk()
        return self.load_from_remote()

    def load_from_remote(self) -> tuple[DatasetDict, DatasetDict | None]:
        """Load what is asked about, and the examples, as datasets of a hub are read."""
        return self._load_with(RemoteDataLoader)

    def load_from_disk(self, use_local_loader: bool = False) -> tuple[DatasetDict, DatasetDict | None]:
        """Load what is asked about, and the examples, from a path.

        Args:
            use_local_loader: Read files of the subsets' names; else, a copy of a dataset of a hub.
        """
        return self._load_with(LocalDataLoader) if use_local_loader else self.load_from_remote()

    def _load_with(self, loader: Any) -> tuple[DatasetDict, DatasetDict | None]:
        asked = self.load_subsets(partial(self.load_subset, data_loader=loader))
        if not self._should_load_fewshot():
            return asked, None
        return asked, self.load_subsets(partial(self.load_fewshot_subset, data_loader=loader), is_fewshot=True)

    def _should_load_fewshot(self) -> bool:
        """Return whether examples come from the train split."""
        return bool(self.few_shot_mode == "auto" and self.few_shot_num > 0)

    def load_subsets(self, load_func: Callable[[str], Any], is_fewshot: bool = False) -> DatasetDict:
        """Load each subset, or one dataset whose rows are sorted into subsets.

        Args:
            load_func: Loads a subset by its name.
            is_fewshot: Whether they are examples.
        """
        if self.reformat_subset:
            return DatasetDict.from_dataset(
                dataset=load_func(self.default_subset),
                subset_list=self.subset_list,
                limit=self.few_shot_num if is_fewshot else self.limit,
                repeats=1 if is_fewshot else self.repeats,
            )
        loaded = {}
        for subset in self.subset_list:
            with self._temporary_attribute("current_subset_name", subset):
                loaded[subset] = load_func(subset)
        return DatasetDict(loaded)

    def load_subset(self, subset: str, data_loader: Any) -> Any:
        """Load a subset of what is asked about."""
        is_whole = not self.reformat_subset
        return self._loaded(
            subset,
            data_loader,
            split=self.eval_split,
            limit=self.limit if is_whole else None,
            repeats=self.repeats if is_whole else 1,
            shuffle=self.shuffle,
        )

    def load_fewshot_subset(self, subset: str, data_loader: Any) -> Any:
        """Load a subset of the examples."""
        return self._loaded(
            subset,
            data_loader,
            split=self.train_split,
            limit=None if self.reformat_subset else self.few_shot_num,
            shuffle=self.few_shot_random,
        )

    def _loaded(self, subset: str, data_loader: Any, *, split: str | None, **settings: Any) -> Any:
        loader = data_loader(
            data_id_or_path=self.dataset_id,
            split=subset if self.split_as_subset else split,
            subset=self.default_subset if self.split_as_subset else subset,
            sample_fields=self.record_to_sample,
            filter_func=self.sample_filter,
            shuffle_choices=self.shuffle_choices,
            seed=self.seed,
            data_source=self.dataset_hub,
            version=self.dataset_revision,
            force_redownload=self.force_redownload,
            dataset_dir=self.dataset_dir,
            **settings,
        )
        return loader.load()

    def sample_filter(self, sample: Sample) -> bool:
        """Return whether a sample is kept."""
        return True

    def record_to_sample(self, record: dict[str, Any]) -> Sample | list[Sample]:
        """Make a sample, or several, of a row. Authors write it.

        Raises:
            NotImplementedError: if the author has not.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no record_to_sample.")

    # Prompts.

    def _post_process_samples(self) -> None:
        """Turn the input of every sample into messages."""
        for subset in self.test_dataset.keys():  # noqa: SIM118  (a dataset by subset is no mapping)
            for sample in self.test_dataset[subset]:
                if isinstance(sample.input, str):
                    sample.input = self.process_sample_str_input(sample, subset)
                elif isinstance(sample.input, list):
                    sample.input = self.process_sample_messages_input(sample, subset)

    def process_sample_str_input(self, sample: Sample, subset: str) -> list[ChatMessage]:
        """The messages of a sample whose input is a text."""
        text = self.process_sample_input(sample, subset=subset)
        messages: list[ChatMessage] = [] if self.system_prompt is None else [_system(self.system_prompt)]
        return [*messages, ChatMessageUser(content=text)]

    def process_sample_messages_input(self, sample: Sample, subset: str) -> list[ChatMessage]:
        """The messages of a sample whose input is messages: only a system prompt is put before, if there is none."""
        messages = list(sample.input)
        if self.system_prompt is None or any(isinstance(message, ChatMessageSystem) for message in messages):
            return messages  # type: ignore[return-value]
        return [_system(self.system_prompt), *messages]  # type: ignore[list-item]

    def process_sample_input(self, sample: Sample, subset: str) -> str:
        """The prompt of a sample whose input is a text."""
        if self.few_shot_num <= 0:
            return self.format_prompt_template(sample=sample)
        return self.format_fewshot_template(fewshot=self._examples_of(subset), sample=sample)

    def _examples_of(self, subset: str) -> str:
        """All examples of a subset, else those of the first; empty where the adapter has its own."""
        if self.fewshot_dataset is None:
            return ""
        examples = self.fewshot_dataset.get(subset)
        if examples is None:
            examples = self.fewshot_dataset[next(iter(self.fewshot_dataset))]
        n_wanted = self.few_shot_num
        assert len(examples) >= n_wanted, (
            f"The dataset only have ({len(examples)}) few-shot samples, but requested ({n_wanted}) fewshot samples, "
            "please reduce 'few_shot_num'."
        )
        return "\n\n".join([self.sample_to_fewshot(example) for example in examples])

    def sample_to_fewshot(self, sample: Sample) -> str:
        """Write a sample as an example. Authors write it where there are any.

        Raises:
            NotImplementedError: if the author has not.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no sample_to_fewshot.")

    def format_prompt_template(self, sample: Sample) -> str:
        """The prompt without examples."""
        return self._filled("prompt_template", question=sample.input)

    def format_fewshot_template(self, fewshot: str, sample: Sample) -> str:
        """The prompt with examples."""
        return self._filled("few_shot_prompt_template", fewshot=fewshot, question=sample.input)

    def _filled(self, field: str, **values: Any) -> str:
        """A template of the registration with its fields filled.

        Raises:
            PlanError: if there is none, or it has other fields.
        """
        template, where = getattr(self, field), f"BenchmarkMeta of {self.name!r}"
        if template is None:
            raise PlanError(
                f"Benchmark {self.name!r} names no {field}, and its samples' inputs are texts.",
                where=where,
                hint="Name one, or give messages as the samples' input.",
            )
        try:
            return str(template.format(**values))
        except (KeyError, IndexError, ValueError) as error:
            named = f"no value for {{{error.args[0]}}}" if isinstance(error, KeyError) else str(error)
            raise PlanError(
                f"The {field} of benchmark {self.name!r} cannot be filled: {named}.",
                where=where,
                hint=f"It has {', '.join(f'{{{name}}}' for name in values)}; other braces are written twice.",
            ) from error

    # Inference.

    def run_inference(self, model: Any, sample: Sample, output_dir: str, **kwargs: Any) -> TaskState:
        """Ask the model about a sample.

        Args:
            model: The model.
            sample: The sample, with messages.
            output_dir: A folder for files that the model makes.
            **kwargs: For ``_on_inference_end``.
        """
        self._on_inference_start(model, sample)
        result = self._on_inference(model, sample)
        output = result.output if isinstance(result, InferenceResult) else result
        state = self._on_inference_end(model, sample, output, output_dir, **kwargs)
        if isinstance(result, InferenceResult):
            if result.messages is not None:
                state.messages = result.messages
            if result.trace is not None:
                state.agent_trace = result.trace
        return state

    def _on_inference_start(self, model: Any, sample: Sample) -> None:
        """Called before a sample is asked about."""

    def _on_inference(self, model: Any, sample: Sample) -> InferenceReturn:
        """Ask the model: one question, unless the author overrides it."""
        return model.generate(input=sample.input, tools=sample.tools)  # type: ignore[no-any-return]

    def _on_inference_end(
        self, model: Any, sample: Sample, model_output: ModelOutput, output_dir: str, **kwargs: Any
    ) -> TaskState:
        """Make the state that is scored."""
        return TaskState(
            model=model.name,
            sample=sample,
            messages=[*sample.input, model_output.message],
            output=model_output,
            completed=True,
        )

    def build_sandbox_config(self, sample: Sample) -> dict[str, Any] | None:
        """Settings of a sample's container."""
        return None

    # Scores.

    def has_metric(self, name: str) -> bool:
        """Return whether ``metric_list`` has a metric; a name inside that of a metric counts, too."""
        return any(name in entry for entry in self.metric_list or [])

    def get_metric_args(self, name: str) -> dict[str, Any]:
        """The arguments of a metric in ``metric_list``."""
        for entry in self.metric_list or []:
            if isinstance(entry, dict) and name in entry:
                return dict(entry[name]) if isinstance(entry[name], dict) else {}
        return {}

    def filter_prediction(self, prediction: str, task_state: TaskState) -> str:
        """Put an answer through the filters, and read it."""
        if self.filter_ensemble is not None:
            prediction = self.filter_ensemble(prediction)
        return self.extract_answer(prediction, task_state)

    def extract_answer(self, prediction: str, task_state: TaskState) -> str:
        """Read an answer; the default returns it unchanged."""
        return prediction

    def match_score(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """Compare an answer with the reference by each metric of ``metric_list``.

        A metric that fails is left out: the score then is degraded, or excluded if no metric is left.
        """
        score = Score(extracted_prediction=filtered_prediction, prediction=original_prediction)
        assert score.metadata is not None
        has_failed = False
        for entry in self.metric_list:
            name, arguments = metric_of(entry)
            if score.main_score_name is None:
                score.main_score_name = name
            try:
                with boundary(ScoreError, f"Metric {name!r} of benchmark {self.name!r}"):
                    metric = get_metric(name)(**arguments)
                    score.value[name] = metric(
                        prediction=filtered_prediction, reference=metric.prepare_reference(task_state.target_reference)
                    )
            except PolymeterError as error:
                cause = error.__cause__ or error
                logger.error("Error calculating metric %s: %s", entry, cause)
                has_failed = True
                score.metadata[name] = f"error: {cause}"
                if isinstance(cause, MetricUnavailableError):
                    score.metadata["metric_unavailable"] = True
        if has_failed:
            score.status = ScoreStatus.DEGRADED if score.value else ScoreStatus.EXCLUDED
        return score

    def calculate_metrics(self, task_state: TaskState) -> SampleScore:
        """Score a sample, by rules, by a judge, or by both."""
        assert task_state.completed, "TaskState must be completed before calculating metrics."
        prediction = task_state.output.completion
        filtered = ""
        try:
            filtered = self.filter_prediction(prediction, task_state)
            score = self._score(prediction, filtered, task_state)
        except MetricUnavailableError as error:
            logger.error("Scoring unavailable for sample %s: %s", task_state.sample_id, error)
            score = Score(
                prediction=prediction,
                extracted_prediction=filtered,
                status=ScoreStatus.EXCLUDED,
                explanation=str(error),
                metadata={"metric_unavailable": True, "error": str(error)},
            )
        return SampleScore(
            score=score,
            sample_id=task_state.sample_id,
            group_id=task_state.group_id,
            generation_index=task_state.sample_id % self.repeats if self.repeats > 1 else 0,
            sample_metadata=task_state.metadata,
        )

    def _score(self, prediction: str, filtered: str, task_state: TaskState) -> Score:
        shown: dict[str, Any] = {
            "original_prediction": prediction,
            "filtered_prediction": filtered,
            "reference": task_state.target,
            "task_state": task_state,
        }
        if self.judge_strategy == JudgeStrategy.LLM_RECALL:
            by_rule = self.match_score(**shown)
            if (by_rule.metadata or {}).get("metric_unavailable") or _is_right(by_rule):
                return by_rule
            return self._merge_scores(by_rule, self.score_with_judge_contracts(**shown))
        if not self.use_llm_judge:
            return self.match_score(**shown)
        by_judge = self.score_with_judge_contracts(**shown)
        if by_judge.status.is_usable or not self.scoring_policy.rule_supported:
            return by_judge
        return self.fallback_to_rule_score(self.match_score(**shown), by_judge)

    def batch_match_score(
        self,
        original_predictions: list[str],
        filtered_predictions: list[str],
        references: list[str],
        task_states: list[TaskState],
    ) -> list[Score] | None:
        """Compare many answers at once; ``None``: there is no such way."""
        return None

    def batch_calculate_metrics(
        self, task_states: list[TaskState], sample_scores: list[SampleScore]
    ) -> list[SampleScore]:
        """Add what ``batch_match_score`` gives to the scores of many samples."""
        if not task_states:
            return sample_scores
        predictions = [state.output.completion for state in task_states]
        scores = self.batch_match_score(
            original_predictions=predictions,
            filtered_predictions=[
                self.filter_prediction(prediction, state)
                for prediction, state in zip(predictions, task_states, strict=True)
            ],
            references=[state.target for state in task_states],
            task_states=task_states,
        )
        if scores is not None:
            assert len(scores) == len(sample_scores), "Batch scores length must match sample scores length."
            for score, sample_score in zip(scores, sample_scores, strict=True):
                sample_score.score.value.update(score.value)
        return sample_scores

    # Numbers and the report.

    def aggregate_subset(self, subset: str, sample_scores: list[SampleScore]) -> list[AggScore]:
        """Compute the numbers of a subset.

        Raises:
            ValueError: if the aggregation needs a score of every sample, and one is missing.
        """
        if self.aggregation != _BAYES:
            return self.aggregate_scores(sample_scores)
        if self.test_dataset is not None:
            self._check_cohort(self.test_dataset[subset], sample_scores)
        numbers = self.aggregate_scores(sample_scores)
        if not numbers or any(number.aggregation not in _OF_BAYES for number in numbers):
            raise ValueError("Bayes@N requires an adapter using the default configured aggregation.")
        return numbers

    def _check_cohort(self, dataset: Any, sample_scores: list[SampleScore]) -> None:
        planned = {sample.id: sample for sample in dataset}
        if len(planned) != len(dataset):
            raise ValueError("Bayes@N requires distinct sample IDs in the loaded question cohort.")
        if len(sample_scores) != len(planned) or {score.sample_id for score in sample_scores} != set(planned):
            raise ValueError("Bayes@N requires a correctness score for every planned sample ID.")
        for score in sample_scores:
            sample = planned[score.sample_id]
            if score.group_id != sample.group_id or score.generation_index != sample.id % self.repeats:
                raise ValueError("Bayes@N score group/position does not match the loaded question cohort.")

    def aggregate_scores(self, sample_scores: list[SampleScore]) -> list[AggScore]:
        """Compute the numbers of many scores by the benchmark's aggregation."""
        aggregation = get_aggregation(self.aggregation)
        aggregator = aggregation(repeats=self.repeats) if self.aggregation == _BAYES else aggregation()
        return list(aggregator(sample_scores))

    def _on_generate_report(self, scores: dict[str, list[AggScore]], model_name: str) -> Any:
        """Make the report."""
        return ReportMaker.generate_report(score_dict=scores, model_name=model_name, data_adapter=self)

    def _on_generate_report_end(self, report: Any, output_dir: str, **kwargs: Any) -> None:
        """Called with the report, before it is written; changes count."""

    def generate_report(
        self, scores: dict[str, list[AggScore]], model_name: str, output_dir: str, **kwargs: Any
    ) -> Any:
        """Make the report, and show it to ``_on_generate_report_end``."""
        report = self._on_generate_report(scores, model_name=model_name)
        self._on_generate_report_end(report, output_dir, **kwargs)
        return report

    def finalize(self, *args: Any, **kwargs: Any) -> None:
        """Let go of containers and data."""
        release = getattr(self, "sandbox_finalize", None)
        if callable(release):
            release(*args, **kwargs)
        self.test_dataset = None
        self.fewshot_dataset = None


def _system(prompt: str) -> ChatMessageSystem:
    return ChatMessageSystem(content=prompt)


def _is_right(score: Score) -> bool:
    """Return whether the rule alone finds the answer right."""
    has_main = score.main_score_name is None or score.main_score_name in score.value
    return score.status.is_usable and has_main and float(score.main_value or 0.0) > _RIGHT
