"""``power``: the differences that runs could have detected, and the samples that a difference needs. It asks no
model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.analysis.comparison.copies import ALL_COPIES, copies_of
from polymeter.analysis.comparison.runs import ComparedRun, MeanResult, read_runs
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.settings.arguments import Names, names_of
from polymeter.report.formatting import listing, one_line
from polymeter.report.render import as_text
from polymeter.report.table import title_of
from polymeter.stats import (
    Partition,
    clustered_standard_error,
    detectable_effect,
    mean_interval,
    mean_spread,
    needed_samples,
    paired_difference,
    repeated_variance,
    standard_error,
)
from polymeter.stats.means.moments import known_bounds
from polymeter.stats.power import ALPHA, CORRELATION, POWER, STD
from polymeter.store.reading.outcomes import ScoreKey

Values = NDArray[np.float64]
SCHEMA_VERSION = 1
_OF_RANGE = (0.01, 0.02, 0.05, 0.1)
"""The default differences: shares of the range of the values."""
_OF_DEVIATION = (0.05, 0.1, 0.2, 0.5)
"""The same in standard deviations, for values without a range."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The number of samples that a difference needs.

    Attributes:
        difference: The difference, in the unit of the metric.
        paired: The number of samples that both models answer.
        unpaired: The number of samples for each of two models that answer different samples.
    """

    difference: float
    paired: int
    unpaired: int


@dataclass(frozen=True, slots=True)
class Repeats:
    """The effect of more answers to each sample.

    Attributes:
        repeats: The present number of answers.
        share_between: The share of the variance of samples' values that more answers cannot remove.
        detectable: The difference that is detected with so many answers, paired: 1, the present number, twice that, and
            ``None`` for infinitely many.
    """

    repeats: int
    share_between: float
    detectable: tuple[tuple[int | None, float], ...]


@dataclass(frozen=True, slots=True)
class ScorePower:
    """The power of one metric of a task.

    Attributes:
        task: The task.
        title: The printed name.
        metric: The metric.
        filter: The filter that the answers went through.
        run: The run; empty for two runs together.
        n: The number of samples; for two runs, of pairs.
        std: The standard deviation of a sample's value; for two runs, of the difference of a pair.
        design_effect: The factor by which clusters of samples increase the variance.
        n_clusters: The number of clusters; ``None`` without clusters.
        correlation: The correlation of two models' values of a sample.
        is_measured: Whether the correlation is measured, not assumed.
        detectable_paired: The least difference from another model on the same samples that is found with this power.
        detectable_unpaired: The same for equally many other samples.
        needed: The samples that differences need.
        repeats: The effect of more answers to each sample; ``None`` if unknown.
    """

    task: str
    title: str
    metric: str
    filter: str
    run: str
    n: int
    std: float
    design_effect: float
    n_clusters: int | None
    correlation: float | None
    is_measured: bool
    detectable_paired: float
    detectable_unpaired: float
    needed: tuple[Needed, ...]
    repeats: Repeats | None = None


@dataclass(frozen=True, slots=True)
class NoPower:
    """A metric without a power analysis, and the reason."""

    task: str
    title: str
    metric: str
    filter: str
    run: str
    why: str


@dataclass(frozen=True, slots=True, repr=False)
class PowerAnalysis:
    """The differences that runs could have detected, or the samples that a difference needs under assumptions.

    Its representation is the output of ``polymeter power``.

    Attributes:
        alpha: The probability of finding a difference between equal models.
        power: The probability of finding a real difference.
        std: The assumed standard deviation of a sample's value; ``None`` if it is computed from runs.
        correlation: The assumed correlation of two models' values of a sample; ``None`` if it is computed from runs.
        runs: The names of the runs.
        needed: The samples that differences need under assumptions alone.
        scores: The power of each metric of the runs.
        others: Metrics without a power analysis.
        unfinished: The names of runs that have not ended, so that their scores may change.
    """

    alpha: float
    power: float
    std: float | None
    correlation: float | None
    runs: tuple[str, ...] = ()
    needed: tuple[Needed, ...] = ()
    scores: tuple[ScorePower, ...] = ()
    others: tuple[NoPower, ...] = field(default=())
    unfinished: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from polymeter.report.power.tables import print_power

        return as_text(print_power, self.document())

    def document(self) -> dict[str, Any]:
        """Return the analysis as plain data, as ``polymeter power --json`` prints it."""
        return {"schema_version": SCHEMA_VERSION, "kind": "power", **asdict(self)}


@dataclass(frozen=True, slots=True)
class _Asked:
    """The request for each metric."""

    difference: tuple[float, ...]
    correlation: float
    alpha: float
    power: float
    metric: str

    def wants(self, key: ScoreKey) -> bool:
        return self.metric in ("", key[0])

    def detectable(self, n: int, spread: float) -> float:
        return detectable_effect(n, std_a=spread, std_b=0.0, correlation=0.0, alpha=self.alpha, power=self.power)

    def samples(self, difference: float, spread: float) -> int:
        return needed_samples(difference, std_a=spread, std_b=0.0, correlation=0.0, alpha=self.alpha, power=self.power)


@dataclass(frozen=True, slots=True, eq=False)
class _Spreads:
    """The variation of values: ``values`` of samples, or differences of pairs; ``design``: the design effect of
    clusters; ``paired`` and ``unpaired``: the standard deviation of a difference, including clusters; ``repeated``: for
    each run, the number of answers to a sample, and the values.
    """

    values: Values
    partition: Partition | None
    design: float
    paired: float
    unpaired: float
    correlation: float | None
    is_measured: bool
    repeated: Sequence[tuple[int, Values]]


@naming_places()
def power(
    *runs: Path | str,
    difference: Sequence[float] = (),
    std: float | None = None,
    correlation: float | None = None,
    power: float = POWER,
    alpha: float = ALPHA,
    metric: str = "",
    tasks: Names = (),
) -> PowerAnalysis:
    """Compute the differences that a run could have detected, and the samples that a difference needs.

    Args:
        *runs: Run folders. One run is compared with another model of the same variance and with the given
            ``correlation``. For two runs, the differences of their samples are used. Without runs, only the assumptions
            count.
        difference: Differences of interest, in the unit of the metric; default: several shares of its range.
        std: Without a run, the standard deviation of a sample's value; default: 0.5, the largest possible one of a
            share.
        correlation: The correlation of two models' values of one sample; default: 0.5. It is not allowed for two runs,
            which determine it.
        power: The probability of finding a real difference.
        alpha: The probability of finding a difference between equal models.
        metric: Only this metric; default: all.
        tasks: Only tasks whose names match one of these patterns; default: all.

    Raises:
        PlanError: if an assumption is out of range, or no metric of the runs can be analysed.
        StorageError: if a run folder cannot be read.
    """
    _check_request(difference, std, correlation, power, alpha)
    if len(runs) > 2:
        raise PlanError("Power is computed for one run or for two compared runs.", hint="Name one or two run folders.")
    assumed = CORRELATION if correlation is None else correlation
    if not runs:
        if metric or tasks:
            raise PlanError("Tasks and metrics can only be selected in a run.", hint="Name a run folder.")
        deviation = STD if std is None else std
        asked = _Asked((), assumed, alpha, power, metric)
        paired, unpaired = deviation * math.sqrt(2 * (1 - assumed)), deviation * math.sqrt(2)
        needed = [
            Needed(own, asked.samples(own, paired), asked.samples(own, unpaired)) for own in difference or _OF_RANGE
        ]
        return PowerAnalysis(alpha, power, deviation, assumed, needed=tuple(needed))
    if std is not None:
        raise PlanError("The standard deviation is computed from the run.", where="--std", hint="Leave it out.")
    if len(runs) == 2 and correlation is not None:
        raise PlanError("The correlation is computed from the two runs.", where="--correlation", hint="Leave it out.")
    read = read_runs([Path(path) for path in runs])
    names = _tasks(read, names_of(tasks, "tasks"))
    asked = _Asked(tuple(difference), assumed, alpha, power, metric)
    found: list[ScorePower | NoPower] = []
    for task in names:
        rows = _of_pair if len(read) == 2 else _of_one
        found += rows(read, task, asked)
    scores = tuple(one for one in found if isinstance(one, ScorePower))
    others = tuple(one for one in found if isinstance(one, NoPower))
    if not found:
        metrics = {str(own["metric"]) for task in names for own in read[0].results["tasks"][task]["results"]}
        hint = did_you_mean(metric, metrics) or f"They have {listing(sorted(metrics))}."
        raise PlanError(f"The runs have no metric {metric!r}.", where="--metric", hint=hint)
    if not scores:
        why = "\n".join(f"  - {one.title} ({one.metric}): {one.why}" for one in others)
        raise PlanError(
            f"The power of {listing(run.name for run in read)} cannot be computed:\n{why}",
            hint="It needs a metric that is the mean of the samples' values, and enough samples that differ.",
        )
    is_assumed = len(read) == 1
    return PowerAnalysis(
        alpha,
        power,
        None,
        assumed if is_assumed else None,
        tuple(run.name for run in read),
        scores=scores,
        others=others,
        unfinished=tuple(run.name for run in read if not run.is_complete),
    )


def _check_request(
    difference: Sequence[float], std: float | None, correlation: float | None, power: float, alpha: float
) -> None:
    if not all(0 < own < math.inf for own in difference):
        raise PlanError("A difference to detect must be more than zero.", where="--difference")
    if std is not None and not 0 < std < math.inf:
        raise PlanError("The standard deviation must be more than zero.", where=f"--std {std}")
    if correlation is not None and not -1 <= correlation < 1:
        hint = "At 1 the two models would always agree." if correlation == 1 else ""
        raise PlanError(
            "The correlation must be at least -1 and less than 1.", where=f"--correlation {correlation}", hint=hint
        )
    for name, own in (("--power", power), ("--alpha", alpha)):
        if not 0 < own < 1:
            raise PlanError("It must be between 0 and 1.", where=f"{name} {own}")


def _tasks(runs: Sequence[ComparedRun], patterns: Sequence[str]) -> list[str]:
    """Return the tasks that all runs have.

    Raises:
        PlanError: if they have none in common, or a pattern matches none.
    """
    names = [name for name in runs[0].tasks if all(name in run.results["tasks"] for run in runs)]
    if not names:
        raise PlanError(f"{listing(run.name for run in runs)} have no task in common.")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"They have {listing(names)}."
            raise PlanError(f"The runs have no task {pattern!r}.", where="--tasks", hint=hint)
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _of_one(runs: Sequence[ComparedRun], task: str, asked: _Asked) -> Iterator[ScorePower | NoPower]:
    """Yield the power of one run against a model of the same variance."""
    (run,) = runs
    means, others = run.means(task)
    for key, result in means.items():
        if not asked.wants(key):
            continue
        scored = [own for own in run.outcomes(task) if key in own.values]
        values = np.array([own.values[key] for own in scored], dtype=np.float64)
        partition = _partition([own.cluster for own in scored])
        interval = mean_interval(mean_spread(values, partition, known_bounds(values, result.bounds)))
        stderr, design = _error(values, partition)
        if interval.interval is None or not stderr:
            yield _nothing(run, run.name, task, key, interval.problem or "its values do not vary")
            continue
        # This includes clusters: it is the deviation of independent samples that would give the same variance.
        deviation = result.scale * stderr * math.sqrt(values.size)
        spreads = _Spreads(
            values,
            partition,
            design,
            deviation * math.sqrt(2 * (1 - asked.correlation)),
            deviation * math.sqrt(2),
            asked.correlation,
            False,
            [(_repeats(run, task), values)],
        )
        yield _score(run, run.name, task, result, spreads, asked)
    yield from _others(run, run.name, task, asked, others)


def _of_pair(runs: Sequence[ComparedRun], task: str, asked: _Asked) -> Iterator[ScorePower | NoPower]:
    """Yield the power of the comparison of two runs."""
    first, second = runs
    means, others = first.means(task)
    means_of_second, others_of_second = second.means(task)
    fixed = copies_of(first, second, task).fixed
    by_id = {own.id: own for own in second.outcomes(task) if own.id not in fixed}
    for key, result in means.items():
        if not asked.wants(key) or key not in means_of_second:
            continue
        pairs = [
            (own, by_id[own.id])
            for own in first.outcomes(task)
            if own.id in by_id and key in own.values and key in by_id[own.id].values
        ]
        one, two = (np.array([pair[side].values[key] for pair in pairs], dtype=np.float64) for side in (0, 1))
        labels = [own.cluster for own, _ in pairs]
        found = paired_difference(
            two.tolist(), one.tolist(), clusters=labels if any(labels) else None, bounds=result.bounds
        )
        if found.interval is None or not found.stderr:
            nothing = ALL_COPIES if fixed else "the runs share no sample"
            why = (found.no_interval if pairs else "") or ("the runs agree on every sample" if pairs else nothing)
            yield _nothing(first, "", task, key, why)
            continue
        partition = _partition(labels)
        alone = standard_error(two - one)
        errors = [_error(values, partition)[0] or 0.0 for values in (one, two)]
        root = result.scale * math.sqrt(len(pairs))
        spreads = _Spreads(
            two - one,
            partition,
            (found.stderr / alone) ** 2 if alone else 1.0,
            found.stderr * root,
            math.hypot(*errors) * root,
            found.correlation,
            True,
            [(_repeats(first, task), one), (_repeats(second, task), two)],
        )
        yield _score(first, "", task, result, spreads, asked)
    yield from _others(first, "", task, asked, {**others_of_second, **others})


def _score(run: ComparedRun, name: str, task: str, result: MeanResult, spreads: _Spreads, asked: _Asked) -> ScorePower:
    n, deviation = int(spreads.values.size), result.scale * float(spreads.values.std(ddof=1))
    return ScorePower(
        task,
        title_of(run.results, "task", task),
        result.key[0],
        result.key[1],
        name,
        n,
        deviation,
        spreads.design,
        None if spreads.partition is None else spreads.partition.count,
        spreads.correlation,
        spreads.is_measured,
        asked.detectable(n, spreads.paired),
        asked.detectable(n, spreads.unpaired),
        tuple(
            Needed(own, asked.samples(own, spreads.paired), asked.samples(own, spreads.unpaired))
            for own in asked.difference or _usual(result, deviation)
        ),
        _more_answers(spreads, result.scale, asked),
    )


def _more_answers(spreads: _Spreads, scale: float, asked: _Asked) -> Repeats | None:
    """Return the effect of more answers to each sample. They remove the variance between answers, in both models."""
    parts = [repeated_variance(values.tolist(), repeats) for repeats, values in spreads.repeated]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or len({part.repeats for part in known}) > 1:
        return None
    repeats, n = known[0].repeats, int(spreads.values.size)
    within = scale**2 * sum(part.within for part in known) * (2 if len(known) == 1 else 1)
    between = max(spreads.paired**2 - within / repeats, 0.0)
    found = []
    for count in (1, repeats, 2 * repeats, None):
        variance = between + (within / count if count else 0.0)
        found.append((count, asked.detectable(n, math.sqrt(variance))))
    return Repeats(repeats, between / (between + within / repeats), tuple(found))


def _usual(result: MeanResult, deviation: float) -> tuple[float, ...]:
    low, high = result.bounds
    if low is None or high is None:
        return tuple(float(f"{share * deviation:.2g}") for share in _OF_DEVIATION)
    return tuple(round(share * result.scale * (high - low), 12) for share in _OF_RANGE)


def _error(values: Values, partition: Partition | None) -> tuple[float | None, float]:
    """Return the standard error of a mean, and the design effect of its clusters."""
    alone = standard_error(values)
    if partition is None or not alone:
        return alone, 1.0
    stderr = clustered_standard_error(values, partition)
    return stderr, (stderr / alone) ** 2 if stderr else 1.0


def _partition(labels: Sequence[str | None]) -> Partition | None:
    if not any(label is not None for label in labels):
        return None
    partition = Partition.of(labels)
    return partition if partition.count < len(labels) else None


def _repeats(run: ComparedRun, task: str) -> int:
    """Return the number of answers to each sample of a task."""
    config = run.tasks[task].get("config") or {}
    run_options = run.manifest.get("identity", {}).get("options") or {}
    options = run_options.get("dialect_options") or {}
    try:
        of_run = int(run_options.get("repeats") or 1)
        return of_run if of_run > 1 else max(int(options.get("repeats") or 1), int(config.get("repeats") or 1))
    except (TypeError, ValueError):  # a configuration of another system may mean something else by it
        return 1


def _others(run: ComparedRun, name: str, task: str, asked: _Asked, others: Mapping[ScoreKey, str]) -> Iterator[NoPower]:
    for key, why in others.items():
        if asked.wants(key):
            yield _nothing(run, name, task, key, why)


def _nothing(run: ComparedRun, name: str, task: str, key: ScoreKey, why: str) -> NoPower:
    return NoPower(task, title_of(run.results, "task", task), *key, name, one_line(why))
