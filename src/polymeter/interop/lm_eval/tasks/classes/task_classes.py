"""Tasks as Python classes: what code written for lm-eval subclasses.

An object of these classes is a guest: it defines a task's rows, contexts, requests and values, and ``class_task``
builds the task from it. What a subclass does not override comes from its configuration, by the same functions as for a
task in YAML. Lists of requests and filters are the engine's business here, so lm-eval's methods for them do not exist.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.guest_context import guest_context
from polymeter.data import Source, open_splits
from polymeter.data.opening.local import local_splits
from polymeter.data.source import local_place
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.classes.class_config import LmTaskContext, LmTaskSplits, TaskConfig
from polymeter.interop.lm_eval.tasks.config import GENERATE, LIKELIHOOD, MULTIPLE_CHOICE, ROLLING
from polymeter.interop.lm_eval.tasks.scoring.aggregations import bits_per_byte, mean, weighted_perplexity
from polymeter.interop.lm_eval.tasks.scoring.chain_scores import count_bytes, count_words, rolling_values
from polymeter.interop.lm_eval.tasks.scoring.choice_scores import choice_scores

ALL_OUTPUT_TYPES = [LIKELIHOOD, MULTIPLE_CHOICE, ROLLING, GENERATE]


class Task:
    """A task whose author writes every method.

    Args:
        data_dir: Passed to ``download``.
        cache_dir: Passed to ``download``; the run decides where datasets are kept.
        download_mode: Passed to ``download``.
        config: Fields of a task in YAML.
    """

    VERSION: Any = None
    DATASET_PATH: str | None = None
    DATASET_NAME: str | None = None
    OUTPUT_TYPE: str | None = None
    _surroundings = LmTaskContext()
    """The settings that the run passes to it; set before its constructor runs."""

    def __init__(
        self,
        data_dir: str | None = None,
        cache_dir: str | None = None,
        download_mode: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        told = {name: value for name, value in (config or {}).items() if name != "class"}
        self._config = TaskConfig(**{"task": self._surroundings.name or None, **told})
        self.fewshot_rnd: random.Random | None = None
        self.download(data_dir, cache_dir, download_mode)

    def download(self, data_dir: Any = None, cache_dir: Any = None, download_mode: Any = None) -> None:
        """Open the dataset that the class names; override it to get rows from elsewhere into ``dataset``."""
        self.dataset: Any = self._opened({"data_dir": data_dir} if data_dir else {})

    def _opened(self, options: Mapping[str, Any]) -> Any:
        """The splits of the dataset of ``DATASET_PATH``, each opened at first use."""
        if self.DATASET_PATH is None:
            raise PlanError(f"Task {self.task_name!r} names no dataset and does not download its rows itself.")
        told, context = self._surroundings, guest_context()
        data, cache_dir = {**context.data, **told.data}, told.cache_dir or context.cache_dir
        source = Source(str(self.DATASET_PATH), self.DATASET_NAME, dict(options), told.directory)

        def names() -> list[str]:
            place, _ = local_place(source, data)
            if place is not None:
                return list(local_splits(place.resolve(), self.DATASET_NAME))
            import datasets

            return list(datasets.get_dataset_split_names(source.path, self.DATASET_NAME, **options))

        return LmTaskSplits(
            lambda split: open_splits(source, [split], overrides=data, cache_dir=cache_dir)[split], names
        )

    @property
    def config(self) -> TaskConfig:
        """The configuration, which may be changed."""
        return self._config

    @property
    def task_name(self) -> str:
        """The task's name."""
        return str(self._config.task or self._surroundings.name or type(self).__name__)

    def has_training_docs(self) -> bool:
        """Return whether there is a training split."""
        raise NotImplementedError

    def has_validation_docs(self) -> bool:
        """Return whether there is a validation split."""
        raise NotImplementedError

    def has_test_docs(self) -> bool:
        """Return whether there is a test split."""
        raise NotImplementedError

    def training_docs(self) -> Any:
        """Rows of the training split."""
        return []

    def validation_docs(self) -> Any:
        """Rows of the validation split."""
        return []

    def test_docs(self) -> Any:
        """Rows of the test split."""
        return []

    def fewshot_docs(self) -> Any:
        """Rows that examples are drawn from: of the training split, else the validation split, else the test split."""
        if self.has_training_docs():
            return self.training_docs()
        return self.validation_docs() if self.has_validation_docs() else self.test_docs()

    @property
    def eval_docs(self) -> Any:
        """Rows that are evaluated: of the test split, else of the validation split.

        Raises:
            ValueError: if the task has neither.
        """
        if self.has_test_docs():
            return self.test_docs()
        if self.has_validation_docs():
            return self.validation_docs()
        raise ValueError(f"Task {self.task_name!r} has neither test nor validation docs.")

    def _process_doc(self, doc: Any) -> Any:
        return doc

    def doc_to_text(self, doc: Any) -> Any:
        """The question of a row."""
        raise NotImplementedError

    def doc_to_target(self, doc: Any) -> Any:
        """The reference answer of a row."""
        raise NotImplementedError

    def doc_to_image(self, doc: Any) -> Any:
        """The images of a row."""
        return None

    def doc_to_audio(self, doc: Any) -> Any:
        """The recordings of a row."""
        return None

    def doc_to_prefix(self, doc: Any) -> Any:
        """Return the beginning of the answer to a row."""
        return ""

    def should_decontaminate(self) -> bool:
        """Not used."""
        return False

    def doc_to_decontamination_query(self, doc: Any) -> Any:
        """Not used."""
        return doc

    def fewshot_context(self, doc: Any, num_fewshot: int = 0, **kwargs: Any) -> Any:
        """Examples and question of a row as one text, in the form that ``doc_to_text`` and ``doc_to_target`` give them.

        Raises:
            PlanError: if it is called where no task of a run is being asked.
        """
        context_of = self._surroundings.context_of
        if context_of is None:
            raise PlanError(f"fewshot_context of task {self.task_name!r} works only while a run asks the task.")
        return context_of(doc, self._surroundings.position)

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
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
        raise NotImplementedError

    @classmethod
    def count_bytes(cls, doc: str) -> int:
        """The bytes of a text."""
        return count_bytes(doc)

    @classmethod
    def count_words(cls, doc: str) -> int:
        """The words of a text."""
        return count_words(doc)

    def get_config(self, key: str) -> Any:
        """A field of the configuration, or ``None``."""
        return self._config.get(key)

    def set_config(self, key: str, value: Any, update: bool = False) -> None:
        """Change a field; ``update`` merges a mapping into it."""
        if update:
            self._config[key] = {**(self._config.get(key) or {}), **value}
        else:
            self._config[key] = value

    def dump_config(self) -> dict[str, Any]:
        """The configuration as plain data."""
        return self._config.to_dict()

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Begin the stream of random numbers that examples are drawn with."""
        self.fewshot_rnd = random.Random(seed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(task_name={self.task_name!r}, output_type={self._config.output_type!r})"


class MultipleChoiceTask(Task):
    """A task whose rows have ``choices``, and the index of the right one as ``gold``."""

    OUTPUT_TYPE = LIKELIHOOD

    def doc_to_target(self, doc: Any) -> Any:
        """A space and the right choice."""
        return f" {doc['choices'][doc['gold']]}"

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
        """One request for each choice."""
        kwargs = {name: value for name, value in kwargs.items() if name not in ("apply_chat_template", "chat_template")}
        return [
            Instance(LIKELIHOOD, doc, (ctx, f" {choice}"), idx, **kwargs) for idx, choice in enumerate(doc["choices"])
        ]

    def process_results(self, doc: Any, results: Sequence[Any]) -> Any:
        """Accuracy of the likeliest choice, and of the likeliest per character."""
        return choice_scores(("acc", "acc_norm"), _ChoicesAndGold(), doc, list(results))

    def higher_is_better(self) -> Any:
        """Higher is better."""
        return {"acc": True, "acc_norm": True}

    def aggregation(self) -> Any:
        """The means of both."""
        return {"acc": mean, "acc_norm": mean}


class PerplexityTask(Task):
    """A task whose rows are texts, whose log-likelihood as a whole is measured."""

    OUTPUT_TYPE = ROLLING

    def has_training_docs(self) -> bool:
        """There is none: no examples are shown."""
        return False

    def fewshot_context(self, doc: Any, num_fewshot: int = 0, **kwargs: Any) -> Any:
        """No context.

        Raises:
            ValueError: if examples are asked for.
        """
        if num_fewshot:
            raise ValueError("The number of few-shot examples must be 0 for perplexity tasks.")
        return ""

    def doc_to_text(self, doc: Any) -> Any:
        """No question."""
        return ""

    def doc_to_target(self, doc: Any) -> Any:
        """The text: the row itself."""
        return doc

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
        """One request for the whole text."""
        kwargs = {name: value for name, value in kwargs.items() if name not in ("apply_chat_template", "chat_template")}
        return Instance(ROLLING, doc, (self.doc_to_target(doc),), 0, **kwargs)

    def process_results(self, doc: Any, results: Sequence[Any]) -> Any:
        """The log-likelihood, with the words and bytes of the text."""
        (logprob,) = results
        text = self.doc_to_target(doc)
        n_bytes = self.count_bytes(text)
        per_byte = dict.fromkeys(("byte_perplexity", "bits_per_byte"), (logprob, n_bytes))
        return {**rolling_values(logprob, text), "word_perplexity": (logprob, self.count_words(text)), **per_byte}

    def aggregation(self) -> Any:
        """Perplexities per word and byte, and bits per byte."""
        perplexities = dict.fromkeys(("word_perplexity", "byte_perplexity"), weighted_perplexity)
        return {**perplexities, "bits_per_byte": bits_per_byte}

    def higher_is_better(self) -> Any:
        """Lower is better."""
        return dict.fromkeys(("word_perplexity", "byte_perplexity", "bits_per_byte"), False)


class _ChoicesAndGold:
    """The values of a row with ``choices`` and ``gold``."""

    has_choices = True
    text = staticmethod(lambda doc: "")
    target = staticmethod(lambda doc: doc["gold"])
    choices = staticmethod(lambda doc: doc["choices"])
