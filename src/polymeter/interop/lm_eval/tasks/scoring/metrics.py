"""The metrics of a task: each entry of its ``metric_list``, bound to what computes and aggregates it.

lm-eval's metrics for likelihoods are names only: scoring computes their values. For generated text a metric is a
function of reference and answer; one that only passes both on leaves everything to its aggregation.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from polymeter.core.errors import PlanError, boundary, did_you_mean
from polymeter.core.metric import Aggregation
from polymeter.core.names.installing import pip_install
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.core.names.registries import METRICS
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.guests import name_of, resolve
from polymeter.guests.served.metrics import CodeEval
from polymeter.interop.lm_eval.tasks.scoring.aggregations import AGGREGATIONS, aggregation_at, aggregation_of
from polymeter.metrics import check_kwargs
from polymeter.tasks.yaml.registration import AGGREGATION_DEFINITIONS, METRIC_DEFINITIONS, USERS
from polymeter.tasks.yaml.scoring.metrics import BoundMetric

_SHARES: Bounds = (0.0, 1.0)
_OPTIONS = ("metric", "aggregation", "higher_is_better", "hf_evaluate")
"""The keys of an entry that are not arguments of the metric's function."""


@dataclass(frozen=True, slots=True)
class Known:
    """One of lm-eval's metrics.

    Attributes:
        aggregation: The name of its default aggregation.
        higher_is_better: Its direction.
        bounds: The range of the value of one sample.
    """

    aggregation: str
    higher_is_better: bool = True
    bounds: Bounds = UNBOUNDED


KNOWN: Mapping[str, Known] = {
    "acc": Known("mean", bounds=_SHARES),
    "acc_all": Known("mean", bounds=_SHARES),
    "acc_bytes": Known("mean", bounds=_SHARES),
    "acc_mutual_info": Known("mean", bounds=_SHARES),
    "acc_norm": Known("mean", bounds=_SHARES),
    "bits_per_byte": Known("bits_per_byte", higher_is_better=False),
    "bleu": Known("bleu"),
    "brier_score": Known("brier_score", higher_is_better=False),
    "bypass": Known("bypass"),
    "byte_perplexity": Known("weighted_perplexity", higher_is_better=False),
    "chrf": Known("chrf"),
    "chrf++": Known("chrf++"),
    "exact_match": Known("mean", bounds=_SHARES),
    "f1": Known("f1"),
    "likelihood": Known("mean"),
    "mcc": Known("matthews_corrcoef"),
    "perplexity": Known("perplexity", higher_is_better=False),
    "ter": Known("ter", higher_is_better=False),
    "word_perplexity": Known("weighted_perplexity", higher_is_better=False),
}
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
}
"""The metrics of a task that lists none, by output type."""
COMPUTED: Mapping[str, frozenset[str]] = {
    "loglikelihood": frozenset({"perplexity", "acc"}),
    "loglikelihood_rolling": frozenset({"word_perplexity", "byte_perplexity", "bits_per_byte"}),
    "multiple_choice": frozenset(
        ["acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "f1", "mcc", "brier_score", "likelihood"]
    ),
}
"""The metrics that have a value for output types of likelihoods."""


class MetricConfig(Protocol):
    """The part of a task's configuration that this module reads."""

    @property
    def task(self) -> Any: ...
    @property
    def output_type(self) -> Any: ...
    @property
    def metric_list(self) -> Any: ...
    @property
    def process_results(self) -> Any: ...


def metric_names(config: MetricConfig) -> tuple[str, ...] | None:
    """The names of a task's metrics; ``None`` if only a run shows them."""
    if config.process_results is not None and not config.metric_list:
        return None
    if config.metric_list is None:
        return DEFAULTS.get(str(config.output_type), ())
    return tuple(name for name in map(_name, _entries(config, "")) if name)


def bind_metrics(
    config: MetricConfig, where: str = "", sources: Collection[Path] = (), parity: Parity = NO_PARITY
) -> tuple[BoundMetric, ...]:
    """The metrics of a task; those of its output type if it lists none. Of two entries of one name the later counts.

    Args:
        config: The task.
        where: ``file:line`` of its metric list.
        sources: The files of the task's code; what they register wins.
        parity: The other system whose numbers are used.

    Raises:
        PlanError: if an entry is not understood, or its metric or aggregation is unknown or cannot be loaded.
    """
    if config.metric_list is None:
        entries: Sequence[Mapping[str, Any]] = [{"metric": name} for name in DEFAULTS.get(str(config.output_type), ())]
    else:
        entries = _entries(config, where)
    bound = {_name(entry): _bind(entry, config, where, sources, parity) for entry in entries}
    return tuple(bound.values())


def unvalued(config: MetricConfig, metrics: Iterable[BoundMetric]) -> tuple[str, ...]:
    """The metrics that never have a value, because neither scoring nor the task computes one."""
    computed = COMPUTED.get(str(config.output_type))
    if computed is None or config.process_results is not None:
        return ()
    return tuple(metric.name for metric in metrics if metric.name not in computed)


def undeclared(name: str, source: BoundMetric | None = None) -> BoundMetric:
    """A metric that only the values name: with what one that it is a part of says, else a mean."""
    return BoundMetric(
        name=name,
        kwargs={},
        score=None,
        is_guest_score=True,
        aggregation=source.aggregation if source else AGGREGATIONS["mean"],
        aggregate=source.aggregate if source else None,
        wants_args=False,
        higher_is_better=source.higher_is_better if source else None,
        version="",
        bounds=source.bounds if source else UNBOUNDED,
    )


def _entries(config: MetricConfig, where: str) -> list[Mapping[str, Any]]:
    entries = config.metric_list
    for entry in entries if isinstance(entries, (list, tuple)) else [entries]:
        if not isinstance(entry, Mapping) or not entry.get("metric"):
            raise PlanError(
                f"An entry of metric_list of task {config.task!r} needs 'metric', not {entry!r:.80}.",
                where=where,
                hint="Write '- metric: exact_match'.",
            )
    return list(entries)


def _name(entry: Mapping[str, Any]) -> str:
    metric = entry["metric"]
    return metric if isinstance(metric, str) else name_of(metric).rpartition(".")[2]


def _bind(
    entry: Mapping[str, Any], config: MetricConfig, where: str, sources: Collection[Path], parity: Parity
) -> BoundMetric:
    name = _name(entry)
    kwargs = {key: value for key, value in entry.items() if key not in _OPTIONS}
    own = METRIC_DEFINITIONS.find(name, sources) if isinstance(entry["metric"], str) else None
    if own is None and name in METRICS and METRICS.find(name).place != "polymeter":
        own = METRICS.get(name)  # one that the user's files register for all tasks
    known = KNOWN.get(name)
    higher = entry.get("higher_is_better")
    if higher is None and (own is not None or known is not None):
        higher = own.higher_is_better if own is not None else known is not None and known.higher_is_better
    score = None
    if config.process_results is None and config.output_type == "generate_until":
        score = _function(entry, name, own.score if own is not None else None, kwargs, where)
    default = own.aggregation if own is not None else known.aggregation if known is not None else "mean"
    aggregation, aggregate = _aggregation(entry.get("aggregation"), default, where, sources, parity)
    return BoundMetric(
        name=name,
        kwargs=kwargs,
        score=score,
        is_guest_score=score is not None,
        aggregation=aggregation,
        aggregate=aggregate,
        wants_args=False,
        higher_is_better=higher,
        version=_version(name, own is not None),
        bounds=known.bounds if own is None and known is not None and aggregate is None else UNBOUNDED,
    )


def _version(name: str, is_users: bool) -> str:
    if is_users:
        return USERS
    # The function of ours that computes it changes as it does elsewhere.
    return str(METRICS.get(name).version) if name == "exact_match" else ""


def _function(
    entry: Mapping[str, Any], name: str, registered: Callable[..., Any] | None, kwargs: Mapping[str, Any], where: str
) -> Callable[..., Any] | None:
    """The function that computes the value of a generated answer; ``None`` for one of lm-eval's own metrics."""
    metric = entry["metric"]
    if not isinstance(metric, str):
        return resolve(metric)
    if registered is not None and entry.get("hf_evaluate") is not True:
        return registered
    if name == "exact_match":  # there it is that of the package evaluate, in both cases
        check_kwargs(METRICS.get("exact_match"), kwargs, where)
        if isinstance(kwargs.get("regexes_to_ignore"), str):
            raise PlanError("regexes_to_ignore must be a list of patterns.", where=where)
        return None
    if name in KNOWN and entry.get("hf_evaluate") is not True:
        return None
    return _of_evaluate(name, where)


def _of_evaluate(name: str, where: str) -> Callable[..., Any]:
    """The function of a metric of the package *evaluate*; of the one that runs programs, ours."""
    if name == "code_eval":
        return lambda **answers: CodeEval().compute(**answers)[0]
    if importlib.util.find_spec("evaluate") is None:
        hint = did_you_mean(name, KNOWN)
        raise PlanError(
            f"Metric {name!r} is one of the package 'evaluate', which is not installed.",
            where=where,
            hint=f"{hint} To install it: {pip_install('evaluate')}".strip(),
        )
    with boundary(
        PlanError,
        f"Loading metric {name!r} of the package 'evaluate'",
        hint="Its code comes from the hub; without a connection it must be in the cache of 'evaluate'.",
    ):
        import evaluate  # type: ignore[import-not-found, import-untyped, unused-ignore]

        compute: Callable[..., Any] = evaluate.load(name).compute
    return compute


def _aggregation(
    wanted: Any, default: str, where: str, sources: Collection[Path], parity: Parity
) -> tuple[Aggregation | None, Callable[..., Any] | None]:
    """An aggregation of ours, or a function of the author's, which is called once over all values."""
    if wanted is not None and not isinstance(wanted, str):
        function = resolve(wanted)
        name = aggregation_of(function)
        return (aggregation_at(name, parity), None) if name else (None, function)
    name = wanted or default
    own = AGGREGATION_DEFINITIONS.find(name, sources)
    if own is not None:
        return None, own.aggregate
    if name not in AGGREGATIONS:
        hint = did_you_mean(name, AGGREGATIONS) or f"Known: {', '.join(sorted(AGGREGATIONS))}."
        raise PlanError(f"There is no aggregation {name!r}.", where=where, hint=hint)
    return aggregation_at(name, parity), None
