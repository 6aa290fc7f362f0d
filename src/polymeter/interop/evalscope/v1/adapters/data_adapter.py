"""``DataAdapter``: the settings and the state that every adapter of EvalScope 1.x has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polymeter.core.request import RequestKind
from polymeter.interop.evalscope.v1.constants import HubType
from polymeter.interop.evalscope.v1.judging.mixin import LLMJudgeMixin
from polymeter.interop.evalscope.v1.registration import BenchmarkMeta
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.scores import AggScore, SampleScore
from polymeter.interop.evalscope.v1.types.state import TaskState


def _of_meta(name: str, doc: str, *, is_set: bool = False) -> Any:
    """A property that is a field of the registration."""

    def read(self: DataAdapter) -> Any:
        return getattr(self._benchmark_meta, name)

    def write(self: DataAdapter, value: Any) -> None:
        setattr(self._benchmark_meta, name, value)

    return property(read, write if is_set else None, doc=doc)


def _of_task(name: str, doc: str) -> Any:
    """A property that is a setting of the evaluation."""

    def read(self: DataAdapter) -> Any:
        return getattr(self._task_config, name)

    return property(read, doc=doc)


class DataAdapter(LLMJudgeMixin, ABC):
    """A benchmark: its registration, the settings of a run, and the state of its data.

    Making one has no side effects and needs no settings of a run.

    Attributes:
        aggregate_empty_scores: Whether scores are aggregated where no sample has one.
        request_kind: What the model is asked for. Of Polymeter; authors do not know it.
        reformat_subset: Whether rows are sorted into subsets by their ``subset_key``.
        split_as_subset: Whether subsets are splits.
        use_batch_scoring: Whether ``batch_match_score`` is called after all samples have been scored one by one.
        save_metadata: Whether files have the samples' metadata.
        add_overall_metric: Whether the table has a row for all subsets.
        category_map: Subset → its category, or categories from the widest on.
        current_subset_name: The subset that is being loaded.
        test_dataset: What is asked about, by subset.
        fewshot_dataset: The examples, by subset.

    Args:
        benchmark_meta: The registration, changed for this run.
        task_config: The settings of the run.

    Raises:
        ValueError: if examples are wanted that it cannot have.
    """

    aggregate_empty_scores: bool = False
    request_kind: RequestKind = "generate"

    def __init__(self, benchmark_meta: BenchmarkMeta, task_config: Any = None) -> None:
        self._benchmark_meta = benchmark_meta
        self._task_config = task_config
        super().__init__(benchmark_meta=benchmark_meta, task_config=task_config)
        self.reformat_subset = False
        self.split_as_subset = False
        self.use_batch_scoring = False
        self.save_metadata = True
        self.add_overall_metric = True
        self.category_map: dict[str, Any] = {}
        self.current_subset_name = ""
        self.test_dataset: Any = None
        self.fewshot_dataset: Any = None
        self._filter_ensemble: Any = None
        self._check_few_shots()

    def _check_few_shots(self) -> None:
        number, mode, allowed = self.few_shot_num, self.few_shot_mode, self.allowed_few_shot_nums
        if number == 0:
            return
        if mode == "disabled" or (mode == "auto" and self.train_split is None):
            raise ValueError(f"Benchmark {self.name!r} does not support few-shot evaluation; set few_shot_num=0.")
        if allowed is not None and number not in allowed:
            counts = ", ".join(map(str, allowed))
            raise ValueError(f"Benchmark {self.name!r} supports few_shot_num values: {counts}; got {number}.")

    @abstractmethod
    def load_dataset(self) -> Any:
        """Load the data and make its prompts; return what is asked about, by subset."""

    @abstractmethod
    def run_inference(self, model: Any, sample: Sample, output_dir: str, **kwargs: Any) -> TaskState:
        """Ask the model about a sample."""

    @abstractmethod
    def calculate_metrics(self, task_state: TaskState) -> SampleScore:
        """Score a sample."""

    @abstractmethod
    def batch_calculate_metrics(
        self, task_states: list[TaskState], sample_scores: list[SampleScore]
    ) -> list[SampleScore]:
        """Add to the scores of many samples what is computed for all at once."""

    @abstractmethod
    def aggregate_scores(self, sample_scores: list[SampleScore]) -> list[AggScore]:
        """Compute the numbers of a subset."""

    def aggregate_subset(self, subset: str, sample_scores: list[SampleScore]) -> list[AggScore]:
        """Compute the numbers of a subset whose name is known."""
        return self.aggregate_scores(sample_scores)

    @abstractmethod
    def generate_report(
        self, scores: dict[str, list[AggScore]], model_name: str, output_dir: str, **kwargs: Any
    ) -> Any:
        """Make the report of the numbers of all subsets."""

    @abstractmethod
    def finalize(self, *args: Any, **kwargs: Any) -> None:
        """Let go of data, after everything."""

    def to_dict(self) -> dict[str, Any]:
        """The registration as plain values."""
        return self._benchmark_meta.to_string_dict()

    def validate_choice_config(self) -> None:
        """Refuse services that decide among options.

        Raises:
            ValueError: always, unless an author overrides it.
        """
        raise ValueError(f"Benchmark {self.name!r} has no audited text Choice conversion.")

    @property
    def benchmark_meta(self) -> BenchmarkMeta:
        """The registration, changed for this run."""
        return self._benchmark_meta

    @property
    def dataset_id(self) -> str:
        """The dataset on the hub that the run uses, or a local path."""
        return str(self._benchmark_meta.dataset_source.resolve_dataset_id(self.dataset_hub))

    @property
    def dataset_revision(self) -> str | None:
        """The dataset's revision on the hub that the run uses."""
        revision: str | None = self._benchmark_meta.dataset_source.resolve_revision(self.dataset_hub)
        return revision

    @property
    def dataset_hub(self) -> str:
        """The hub that the run uses."""
        return HubType.MODELSCOPE if self._task_config is None else str(self._task_config.dataset_hub)

    @dataset_hub.setter
    def dataset_hub(self, value: str) -> None:
        self._task_config.dataset_hub = value

    @property
    def output_dir(self) -> str:
        """The work folder."""
        return str(self._task_config.work_dir) if self._task_config else "./outputs"

    @property
    def filter_ensemble(self) -> Any:
        """The filters of answers, made once; ``None`` if there are none."""
        if self._filter_ensemble is None and self.filters:
            from polymeter.interop.evalscope.v1.scoring.filters import build_filter_ensemble

            self._filter_ensemble = build_filter_ensemble(filters=self.filters)
        return self._filter_ensemble

    @property
    def extra_params(self) -> dict[str, Any]:
        """The adapter's settings as plain values."""
        return self._benchmark_meta.get_extra_params()

    @contextmanager
    def _temporary_attribute(self, attr_name: str, new_value: Any) -> Iterator[None]:
        """Set an attribute for a while."""
        missing = object()
        earlier = getattr(self, attr_name, missing)
        setattr(self, attr_name, new_value)
        try:
            yield
        finally:
            if earlier is missing:
                delattr(self, attr_name)
            else:
                setattr(self, attr_name, earlier)

    name = _of_meta("name", "The benchmark's name.")
    output_types = _of_meta("output_types", "Kinds of output, for people.")
    subset_list = _of_meta("subset_list", "Subsets that are asked about.", is_set=True)
    metric_list = _of_meta("metric_list", "Metrics: a name, or a name with arguments.")
    primary_metric = _of_meta("primary_metric", "The metric that matters most.")
    default_subset = _of_meta("default_subset", "The subset that is loaded where rows make subsets.", is_set=True)
    few_shot_num = _of_meta("few_shot_num", "Number of examples before each question.", is_set=True)
    few_shot_mode = _of_meta("few_shot_mode", "Where examples come from.")
    allowed_few_shot_nums = _of_meta("allowed_few_shot_nums", "The only numbers of examples that make sense.")
    few_shot_random = _of_meta("few_shot_random", "Whether examples are drawn.")
    train_split = _of_meta("train_split", "Where examples come from.", is_set=True)
    eval_split = _of_meta("eval_split", "What is asked about.", is_set=True)
    prompt_template = _of_meta("prompt_template", "The prompt.", is_set=True)
    system_prompt = _of_meta("system_prompt", "A system message.", is_set=True)
    query_template = _of_meta("query_template", "For the adapter's use.")
    few_shot_prompt_template = _of_meta("few_shot_prompt_template", "The prompt with examples.")
    pretty_name = _of_meta("pretty_name", "The name to print.")
    description = _of_meta("description", "For people.")
    tags = _of_meta("tags", "Labels.")
    filters = _of_meta("filters", "What answers go through.")
    aggregation = _of_meta("aggregation", "From values of samples to numbers.")
    shuffle = _of_meta("shuffle", "Whether rows are shuffled.", is_set=True)
    shuffle_choices = _of_meta("shuffle_choices", "Whether options are shuffled.", is_set=True)
    force_redownload = _of_meta("force_redownload", "Whether data is fetched again.", is_set=True)
    review_timeout = _of_meta("review_timeout", "Seconds for scoring.", is_set=True)
    sandbox_config = _of_meta("sandbox_config", "Settings of a container.", is_set=True)
    limit = _of_task("limit", "How many rows of each subset: a number, or a share.")
    repeats = _of_task("repeats", "How many times each sample is asked.")
    eval_type = _of_task("eval_type", "The kind of model.")
    seed = _of_task("seed", "For shuffling.")
    dataset_dir = _of_task("dataset_dir", "The folder for data that is fetched.")


def metric_of(entry: Any) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of an entry of ``metric_list``."""
    if isinstance(entry, str):
        return entry, {}
    name = next(iter(entry))
    arguments = entry[name]
    return str(name), dict(arguments) if isinstance(arguments, dict) else {}


def names_of(metrics: Sequence[Any]) -> list[str]:
    """The names in a ``metric_list``."""
    return [metric_of(entry)[0] for entry in metrics if entry]
