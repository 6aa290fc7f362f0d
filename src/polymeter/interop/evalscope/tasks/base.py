"""The base class of data adapters: what a benchmark's author overrides, and what happens where he does not.

Names, parameters and the way in which each method is called are those of EvalScope 0.17. Where that system shared one
registration among all runs or applied filters once for each class of an ancestry, this one does not.
"""

from __future__ import annotations

import logging
import os
import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError
from polymeter.interop.evalscope.tasks import constants
from polymeter.interop.evalscope.tasks.constants import AnswerKeys, EvalType
from polymeter.interop.evalscope.tasks.prompts import PromptData
from polymeter.interop.evalscope.tasks.scoring.filters import preprocess_decorator
from polymeter.interop.evalscope.tasks.scoring.metrics import metric_registry

if TYPE_CHECKING:
    from polymeter.interop.evalscope.tasks.scoring.report import Report

log = logging.getLogger(__name__)

DataDict = dict[str, Any]
"""``{subset: {name of a split: records}}``."""
_QUESTION_KEYS = ("question", "Question", "prompt", "Prompt", "query", "Query", "problem", "Problem")
_DEFAULT_KEY = "AverageAccuracy"


class DataAdapter(ABC):
    """A benchmark: its data, its prompts, and how answers are scored.

    Authors write ``gen_prompt``, ``get_gold_answer``, ``parse_pred_result`` and ``match``; everything else may be
    overridden as well.

    Args:
        name: The benchmark's name.
        dataset_id: Id on a hub, or a local path.
        model_adapter: How the model is asked: a value of ``OutputType``. While an evaluation runs it is the way that is
            really used.
        subset_list: Subsets of the dataset.
        metric_list: Names of metrics.
        llm_as_a_judge: Whether a judge scores unless the run sets a strategy.
        output_types: All ways in which the model can be asked; default: ``[model_adapter]``.
        few_shot_num: Number of examples.
        train_split: Where they come from.
        eval_split: What is asked about.
        prompt_template: For the adapter's use.
        system_prompt: Put before each question.
        query_template: For the adapter's use.
        pretty_name: The name to print.
        description: For people.
        tags: Labels.
        **kwargs: Kept as ``config_kwargs``; ``category_map`` and ``choices`` become attributes as well.
    """

    run_dataset_hub = ""
    """The hub that the run names. It wins over what an author's ``load`` asks for, so it is not an argument of it."""

    run_mirrors: tuple[str, ...] = ()
    """The further ids of ``dataset_id`` that its protocol states."""

    def __init__(  # noqa: PLR0913, PLR0917  (its authors call it so)
        self,
        name: str,
        dataset_id: str,
        model_adapter: str,
        subset_list: list[str],
        metric_list: list[str],
        llm_as_a_judge: bool = False,
        output_types: list[str] | None = None,
        few_shot_num: int | None = 0,
        train_split: str | None = None,
        eval_split: str | None = None,
        prompt_template: str | None = None,
        system_prompt: str | None = None,
        query_template: str | None = None,
        pretty_name: str | None = None,
        description: str | None = None,
        tags: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        self.name = name
        self.dataset_id = dataset_id
        self.model_adapter = model_adapter
        self.subset_list = subset_list
        self.metric_list = metric_list
        self.llm_as_a_judge = llm_as_a_judge
        self.output_types = output_types or [model_adapter]
        self.few_shot_num = few_shot_num
        self.train_split = train_split
        self.eval_split = eval_split
        self.prompt_template = prompt_template
        self.system_prompt = system_prompt
        self.query_template = query_template
        self.pretty_name = pretty_name
        self.description = description
        self.tags = tags or []
        self.config_kwargs = kwargs
        self.category_map: Any = kwargs.get("category_map", {})
        self.choices: Any = kwargs.get("choices")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("parse_pred_result")
        if isinstance(own, FunctionType):
            cls.parse_pred_result = preprocess_decorator(own)  # type: ignore[method-assign]

    # --- data

    def load(
        self,
        dataset_name_or_path: str | None = None,
        subset_list: list[str] | None = None,
        work_dir: str | None = None,
        **kwargs: Any,
    ) -> DataDict:
        """All records. A path that exists is loaded from disk, everything else from a hub.

        Raises:
            DataError: if there is nothing.
        """
        from polymeter.interop.evalscope.tasks.datasets import local_place

        dataset = local_place(os.path.expanduser(dataset_name_or_path or self.dataset_id))
        subsets = subset_list or self.subset_list
        is_local = os.path.exists(dataset)
        trust = kwargs.pop("trust_remote_code", not is_local)
        loader = self.load_from_disk if is_local else self.load_from_hub
        folder = work_dir or constants.DEFAULT_DATASET_CACHE_DIR
        records = loader(dataset, subsets, folder, trust_remote_code=trust, **kwargs)
        if not records:
            raise DataError(f"The dataset {dataset!r} of benchmark {self.name!r} is empty.")
        return records

    def load_from_hub(
        self, dataset_name_or_path: str, subset_list: list[str], work_dir: str | None, **kwargs: Any
    ) -> DataDict:
        """Records of a hub's dataset: each subset is a configuration, or with ``split_as_subset=True`` a split.

        Raises:
            DataError: if the dataset, a subset or a split is missing.
            PlanError: if the hub is unknown, or its package is not installed.
        """
        from polymeter.interop.evalscope.tasks.datasets import open_hub

        kwargs["datasets_hub"] = self.run_dataset_hub or kwargs.get("datasets_hub")
        mirrors = self._mirrors_of(dataset_name_or_path)
        return open_hub(dataset_name_or_path, subset_list, self._splits(), work_dir, mirrors=mirrors, **kwargs)

    def load_from_disk(
        self, dataset_name_or_path: str, subset_list: list[str], work_dir: str | None, **kwargs: Any
    ) -> DataDict:
        """Records of local files: ``SUBSET/SPLIT.jsonl``, ``SUBSET_SPLIT.jsonl`` or ``SPLIT.jsonl``, also as JSON, CSV,
        parquet or Arrow, and folders written by ``save_to_disk``.

        Raises:
            DataError: if a file is missing; all places where it was looked for are named.
        """
        from polymeter.interop.evalscope.tasks.datasets import open_disk

        is_split = bool(kwargs.get("split_as_subset", False))
        return open_disk(dataset_name_or_path, subset_list, self._splits(), split_as_subset=is_split)

    def load_with_snapshot(
        self,
        file_structure: dict[str, list[str]],
        dataset_name_or_path: str | None = None,
        subset_list: list[str] | None = None,
        work_dir: str | None = None,
        **kwargs: Any,
    ) -> DataDict:
        """Records of single files of a dataset, as ``eval_split``.

        Args:
            file_structure: Files of each subset.
            dataset_name_or_path: Default: the adapter's dataset.
            subset_list: Default: the adapter's subsets.
            work_dir: Where a hub's files are kept.
            **kwargs: ``datasets_hub``; others are not used.

        Raises:
            DataError: if a file is missing.
            PlanError: if the hub is unknown, or its package is not installed.
        """
        from polymeter.interop.evalscope.tasks.datasets import load_file_with_extension

        files = [file for group in file_structure.values() for file in group]
        dataset = self.fetch_files(files, dataset_name_or_path, work_dir, **kwargs)
        records: dict[str, Any] = defaultdict(dict)
        for subset in subset_list or self.subset_list:
            paths = [os.path.join(dataset, file) for file in file_structure[subset]]
            records[subset][self.eval_split] = load_file_with_extension(paths)
        return records

    def fetch_files(
        self,
        files: list[str],
        dataset_name_or_path: str | None = None,
        work_dir: str | None = None,
        **kwargs: Any,
    ) -> str:
        """The path of a dataset with single files: itself if it exists on disk, else a hub's copy.

        Args:
            files: Names of files, or patterns of them.
            dataset_name_or_path: Default: the adapter's dataset.
            work_dir: Where a hub's files are kept.
            **kwargs: ``datasets_hub``; others are not used.

        Raises:
            DataError: if they cannot be fetched.
            PlanError: if the hub is unknown, or its package is not installed.
        """
        from polymeter.interop.evalscope.tasks.datasets import local_place, snapshot

        dataset = local_place(os.path.expanduser(dataset_name_or_path or self.dataset_id))
        if os.path.exists(dataset):
            return dataset
        folder = work_dir or constants.DEFAULT_DATASET_CACHE_DIR
        hub = self.run_dataset_hub or kwargs.get("datasets_hub") or ""
        return snapshot(dataset, files, folder, hub, self._mirrors_of(dataset))

    def reformat_subset(self, data_dict: DataDict, subset_key: str, format: str = "{}") -> DataDict:
        """Records regrouped by a value of their own, in the order of ``subset_list``; other values are left out.

        Args:
            data_dict: Records as loaded.
            subset_key: Which value names a record's subset.
            format: How the name is made of it.

        Raises:
            KeyError: if a split of a subset is missing (it is a ``DataError`` as well), or the value of a record.
        """
        regrouped: dict[str, Any] = {subset: defaultdict(list) for subset in self.subset_list}
        for name, splits in data_dict.items():
            for split in self._splits():
                for record in self._of_split(splits, split, name):
                    own = format.format(record[subset_key])
                    if own in regrouped:
                        regrouped[own][split].append(record)
        return regrouped

    def _of_split(self, splits: Mapping[Any, Any], split: str | None, subset: str) -> Iterable[Any]:
        try:
            records: Iterable[Any] = splits[split]  # an author's defaultdict gives an empty one
        except KeyError:
            from polymeter.interop.evalscope.tasks.datasets import NoSplitError

            raise NoSplitError(self.name, self.dataset_id, str(subset), str(split), splits) from None
        return records

    def _mirrors_of(self, dataset: str) -> tuple[str, ...]:
        return self.run_mirrors if dataset == self.dataset_id else ()

    def _splits(self) -> list[str]:
        return [split for split in (self.train_split, self.eval_split) if split is not None]

    # --- prompts

    def gen_prompts(self, data_dict: DataDict) -> dict[str, list[dict[str, Any]]]:
        """The prompts of all records by subset. Examples are drawn once for each subset.

        Raises:
            ValueError: if ``few_shot_num`` is negative.
            KeyError: if a split of a subset is missing; it is a ``DataError`` as well.
        """
        if self.few_shot_num and self.few_shot_num < 0:
            raise ValueError(f"few_shot_num must not be negative, and it is {self.few_shot_num}.")
        prompts: dict[str, list[dict[str, Any]]] = {}
        for subset, splits in data_dict.items():
            examples: list[Any] = []
            if self.train_split and self.few_shot_num:
                is_random = bool(self.config_kwargs.get("few_shot_random", True))
                pool = list(self._of_split(splits, self.train_split, subset))
                examples = self.get_fewshot_examples(pool, self.few_shot_num, few_shot_random=is_random)
            prompts[subset] = []
            for record in self._of_split(splits, self.eval_split, subset):
                prompt = self.gen_prompt(input_d=record, subset_name=subset, few_shot_list=examples)
                prompt[AnswerKeys.RAW_INPUT] = record
                prompts[subset].append(prompt)
        return prompts

    def get_fewshot_examples(self, data_list: list[Any], k: int, few_shot_random: bool = True) -> list[Any]:
        """``k`` examples, or as many as there are: drawn by ``random.sample``, or the first ones."""
        k = min(k, len(data_list))
        return random.sample(data_list, k) if few_shot_random else data_list[:k]

    def gen_prompt(self, input_d: dict[str, Any], subset_name: str, few_shot_list: list[Any], **kwargs: Any) -> Any:
        """The prompt of a record, made by ``gen_prompt_data``. Every adapter that does not override ``gen_prompts`` has
        to write it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no gen_prompt.")

    def gen_prompt_data(
        self,
        prompt: Any,
        system_prompt: str | None = None,
        choices: list[str] | None = None,
        index: int | str | None = None,
        id: int | str | None = None,
        messages: list[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """A prompt as the evaluation takes it; see ``PromptData``. What is ``None`` is left out.

        Args:
            prompt: A text, or a list: of one text, or of pairs of context and continuation.
            system_prompt: Default: the adapter's.
            choices: Default: the adapter's.
            index: Default: 0; the evaluation sets it.
            id: The author's own identifier.
            messages: A whole conversation in place of the prompt.
            **kwargs: Not used.
        """
        return PromptData(
            data=prompt if isinstance(prompt, list) else [prompt],
            multi_choices=choices or self.choices,
            system_prompt=system_prompt or self.system_prompt,
            index=index or 0,
            id=id,
            messages=messages,
        ).to_dict()

    # --- answers

    @abstractmethod
    def get_gold_answer(self, input_d: Any) -> Any:
        """Return the reference of a record."""

    @preprocess_decorator
    def parse_pred_result(self, result: Any, raw_input_d: Any = None, eval_type: str = EvalType.CHECKPOINT) -> Any:
        """The answer within what the model gave, after the filters. Default: all of it."""
        return result

    def llm_parse_pred_result(self, result: Any, raw_input_d: Any = None, eval_type: str = EvalType.CHECKPOINT) -> Any:
        """Return the part of the model's output that a judge is shown; no filters are applied. Default: all of it."""
        return result

    @abstractmethod
    def match(self, gold: Any, pred: Any) -> Any:
        """Score an answer: return a number, or numbers by name."""

    def llm_match(self, gold: Any, pred: Any, judge: Any = None, **kwargs: Any) -> Any:
        """Score an answer by a judge who is shown question, reference and answer.

        Args:
            gold: The reference.
            pred: What ``llm_parse_pred_result`` gave.
            judge: A ``LLMJudge``.
            **kwargs: ``raw_input``, the record, where the question is looked for.
        """
        if judge is None:
            log.warning("Benchmark %r has no judge to ask.", self.name)
            return 0
        record = kwargs.get("raw_input", {})
        question = next((record[key] for key in _QUESTION_KEYS if record.get(key)), None)
        return judge.get_score(judge(judge.build_prompt(pred, gold, question)))

    # --- results

    def compute_metric(self, review_res_list: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """The metrics of one subset.

        Args:
            review_res_list: What ``match`` gave for each record, or values by the name of a metric.
            **kwargs: ``reviews_list``, the whole reviews.

        Returns:
            ``[{"metric_name", "score", "num"}]``.

        Raises:
            ValueError: if the adapter names no metrics.
        """
        if not self.metric_list:
            raise ValueError(f"Benchmark {self.name!r} has an empty metric_list.")
        scores = []
        for name in self.metric_list:
            metric = metric_registry.get(name)
            values = review_res_list.get(metric.name, []) if isinstance(review_res_list, Mapping) else review_res_list
            scores.append({"metric_name": metric.name, "score": metric.object(values), "num": len(values)})
        return scores

    def compute_dict_metric(self, review_res_list: Sequence[Any], **kwargs: Any) -> dict[str, list[Any]]:
        """Results that are mappings, turned into lists of values by name; other results count as
        ``AverageAccuracy``.
        """
        results: Iterable[Any] = review_res_list
        if review_res_list and isinstance(review_res_list[0], list):
            results = (item for group in review_res_list for item in group)
        values: dict[str, list[Any]] = defaultdict(list)
        for result in results:
            for name, value in result.items() if isinstance(result, Mapping) else ((_DEFAULT_KEY, result),):
                values[name].append(value)
        return values

    def gen_report(self, subset_score_map: dict[str, list[dict[str, Any]]], model_name: str, **kwargs: Any) -> Report:
        """The report of all subsets.

        Args:
            subset_score_map: What ``compute_metric`` gave for each subset.
            model_name: For the report's name and its model column.
            **kwargs: For the generator.
        """
        from polymeter.interop.evalscope.tasks.scoring.report import ReportGenerator

        return ReportGenerator.gen_report(subset_score_map, model_name, data_adapter=self, **kwargs)

    def post_process_report(self, report: Report, **kwargs: Any) -> None:
        """Called last, with the report that has been written; ``report_path`` is its folder."""
        return None
