"""``compare``: are the differences between runs more than noise? It reads only run folders and asks no model."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from polymeter.analysis.comparison.answers import AnswerComparison, compare_answers
from polymeter.analysis.comparison.comparability import (
    Finding,
    check_allowed,
    other_protocols,
    refuse,
    run_findings,
    task_findings,
)
from polymeter.analysis.comparison.copies import copies_of, copy_notes
from polymeter.analysis.comparison.groups import group_scores
from polymeter.analysis.comparison.pairing import OPTION, check_pairing, pair_samples
from polymeter.analysis.comparison.runs import BY_ID, ComparedRun, read_runs
from polymeter.analysis.comparison.scores import NotCompared, ScoreComparison, mains, task_scores
from polymeter.analysis.comparison.verdicts import use_verdicts, verdict_notes
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.settings.arguments import Names, names_of
from polymeter.report.formatting import count, listing, number
from polymeter.report.render import as_text
from polymeter.report.table import title_of
from polymeter.stats import holm, needed_samples
from polymeter.stats.means.moments import FEWEST_SAMPLES

SCHEMA_VERSION = 1
ALPHA = 0.05
"""A difference counts as shown if its corrected p-value is at most this."""
_FLATTERS = "If a model fails on what is hard for it, this flatters it."


@dataclass(frozen=True, slots=True)
class RunComparison:
    """One run compared with the first.

    Attributes:
        run: The run.
        scores: The scores of its tasks and groups, in the order of the first run's table.
        not_compared: Metrics that cannot be compared.
        answers: The differences of its answers, by task.
        warnings: Warnings for the reader, one sentence each.
    """

    run: ComparedRun
    scores: tuple[ScoreComparison, ...]
    not_compared: tuple[NotCompared, ...]
    answers: tuple[AnswerComparison, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Runs compared with the first one. A difference is always their value minus that of the first.

    Its representation is the output of ``polymeter compare``.

    Attributes:
        first: The first run.
        others: Each of the others, compared with it.
        is_paired: Whether samples are compared one by one.
        verdicts: The number of samples with verdicts of people in each run, by its name; empty: none were used.
    """

    first: ComparedRun
    others: tuple[RunComparison, ...]
    is_paired: bool = True
    verdicts: Mapping[str, str] = field(default_factory=dict)

    def regressions(self, most: float) -> tuple[list[str], list[str]]:
        """Return the scores that are worse by more than ``most``, and those for which the samples cannot decide this.

        A loss is a regression if it is larger than ``most`` and more than noise: its own p-value, without a correction
        for the number of tasks, is at most 0.05. A score passes if its interval excludes such a loss, or if the
        comparison would find a loss of ``most`` in four cases of five and did not. Everything else is undecided.

        Args:
            most: The largest tolerated loss, in the unit of the metric.

        Returns:
            One sentence for each regression, and one for each undecided score, with the number of samples that would
            decide it.

        Raises:
            ValueError: if ``most`` is negative or not a number.
        """
        if not most >= 0:
            raise ValueError(f"The largest tolerated loss must be 0 or more, not {most}.")
        worse, undecided = [], []
        for other in self.others:
            for line in mains(other.scores):
                what = f"{line.name} ({line.metric})"
                if line.gain is None:
                    undecided.append(f"{what}: no sample has a score in both runs.")
                    continue
                loss, p_value = -line.gain, line.p_value
                by_how_much = f"{what}: {other.run.name} is {number(loss)} worse than {self.first.name}"
                if loss > most and p_value is not None and p_value <= ALPHA:
                    worse.append(f"{by_how_much}, more than {number(most)} (p {p_value:.2g}).")
                elif loss > most:
                    noise = "no test" if p_value is None else f"p {p_value:.2g}"
                    undecided.append(f"{by_how_much}, but that could be noise ({noise}).{_needed(line, most)}")
                elif _is_excluded(line, most) or verdict(line) == "equal":
                    continue
                elif line.interval is None:
                    undecided.append(f"{what}: {line.no_interval}.{_needed(line, most)}")
                elif line.detectable is not None and line.detectable > most:
                    undecided.append(
                        f"{what}: {count(line.n, 'sample')} would show a loss of {number(line.detectable)} or more in "
                        f"four cases of five, not one of {number(most)}.{_needed(line, most)}"
                    )
        return worse, undecided

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain data, as ``polymeter compare --json`` prints it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "comparison",
            "paired": self.is_paired,
            "difference": "each run less the first",
            "level": 1 - ALPHA,
            **({"verdicts": dict(self.verdicts)} if self.verdicts else {}),
            "first": _run(self.first),
            "others": [
                {
                    **_run(other.run),
                    "warnings": list(other.warnings),
                    "scores": [self._score(line) for line in other.scores],
                    "not_compared": [
                        {
                            **asdict(one),
                            "subset": list(one.subset),
                            "title": title_of(self.first.results, _holder(one.kind), one.name),
                        }
                        for one in other.not_compared
                    ],
                    "answers": [one.document() for one in other.answers],
                }
                for other in self.others
            ],
        }

    def __repr__(self) -> str:
        from polymeter.report.comparison.tables import print_comparison

        return as_text(print_comparison, self.document())

    def _score(self, line: ScoreComparison) -> dict[str, Any]:
        plain = asdict(line)
        plain["title"] = title_of(self.first.results, _holder(line.kind), line.name)
        plain["subset"] = list(line.subset)
        plain["interval"] = None if line.interval is None else list(line.interval)
        plain["verdict"] = verdict(line)
        return plain


@naming_places()
def compare(  # noqa: PLR0913  (the options of the command)
    first: Path | str,
    *others: Path | str,
    unpaired: bool = False,
    metric: str = "",
    tasks: Names = (),
    allow: Collection[str] = (),
    subsets: bool = False,
    verdicts: bool = False,
    pair_by: str = BY_ID,
    seed: int = 0,
) -> Comparison:
    """Compare runs with the first one, sample by sample.

    Args:
        first: A run folder.
        *others: Run folders of the same tasks, each compared with the first.
        unpaired: Compare the means of different samples instead. This is less precise than pairs.
        metric: Only this metric; default: the first of each task decides, and the document contains all.
        tasks: Only tasks and groups whose names match one of these patterns.
        allow: Allowed differences besides the model: ``samples``, ``data``, ``task``, ``prompts``, ``judge``, and
            ``unfinished`` for runs that have not ended. The others of these are refused.
        subsets: Compare each subset of a task too. The p-values of subsets are corrected together and do not change
            those of whole tasks.
        verdicts: Use the verdicts of people beside the runs: their scores replace those of the run, and samples that
            are excluded in any of the runs are left out of all of them.
        pair_by: What the samples that are compared have in common: ``id``; ``prompt``, the texts and media that they
            were asked with; or ``order``, their places in their tasks. The last two are for benchmarks that name their
            samples differently.
        seed: For resampling.

    Raises:
        PlanError: if there is nothing to compare, or a difference of scores would mislead.
        StorageError: if a run folder cannot be read.
    """
    check_allowed(allow)
    check_pairing(pair_by)
    if verdicts and pair_by != BY_ID:
        raise PlanError(
            "Verdicts name samples by their ids, and these are paired in another way.",
            where=f"{OPTION} {pair_by}",
            hint="Leave out --verdicts.",
        )
    if not others:
        raise PlanError("A comparison needs at least two runs.", hint="Name a second run folder.")
    runs, patterns = read_runs([Path(path) for path in (first, *others)]), names_of(tasks, "tasks")
    for run in runs[1:]:
        run.pair_by = pair_by
    judged = use_verdicts(runs) if verdicts else None
    compared = [
        _compare(
            runs[0],
            other,
            metric=metric,
            patterns=patterns,
            is_unpaired=unpaired,
            allow=allow,
            has_subsets=subsets,
            seed=seed,
        )
        for other in runs[1:]
    ]
    if judged is None:
        return Comparison(runs[0], tuple(corrected(compared)), not unpaired)
    compared = [replace(one, warnings=(*verdict_notes(runs[0], one.run, judged), *one.warnings)) for one in compared]
    return Comparison(
        runs[0], tuple(corrected(compared)), not unpaired, {name: one.counted for name, one in judged.items()}
    )


def verdict(line: ScoreComparison) -> str:
    """Return the outcome of a comparison: ``better`` or ``worse``; ``higher`` or ``lower`` if the direction of the
    metric is unknown; ``equal`` if no sample differs; ``not shown`` if it could be noise; ``untested``.
    """
    p_value = line.p_value if line.p_corrected is None else line.p_corrected
    if line.difference is None or line.gain is None or p_value is None:
        return "untested"
    if line.wins == line.losses == 0:
        return "equal"
    if p_value > ALPHA or not line.difference:
        return "not shown"
    if line.higher_is_better is None:
        return "higher" if line.difference > 0 else "lower"
    return "better" if line.gain > 0 else "worse"


def _compare(
    first: ComparedRun,
    other: ComparedRun,
    *,
    metric: str,
    patterns: Sequence[str],
    is_unpaired: bool,
    allow: Collection[str],
    has_subsets: bool,
    seed: int,
) -> RunComparison:
    names = _common_names(first, other, patterns)
    tasks = [name for kind, name in names if kind == "task"]
    pair_samples(first, other, () if is_unpaired else tasks)
    findings = [*run_findings(first, other)]
    is_told_settings = not any(finding.kind == "settings" for finding in findings)
    for task in tasks:
        findings += task_findings(first, other, task, is_unpaired=is_unpaired, is_told_settings=is_told_settings)
    warnings = refuse(findings, first, other, allow)
    by_task = {
        task: task_scores(
            first, other, task, metric=metric, is_unpaired=is_unpaired, has_subsets=has_subsets, seed=seed
        )
        for task in tasks
    }
    lines: list[ScoreComparison] = []
    others: list[NotCompared] = []
    for kind, name in names:
        if kind == "task":
            lines += by_task[name].lines
            others += by_task[name].others
        elif is_unpaired:
            others += _unpaired_group(first, other, name, metric)
        else:
            of_group, not_of_group = group_scores(first, other, name, by_task, metric=metric, seed=seed)
            lines += of_group
            others += not_of_group
    if not lines:
        _refuse_nothing(first, other, metric, others)
    told = _unscored_alone if is_unpaired else _unscored
    warnings += [finding.text for finding in told(first, other, lines)]
    for task in tasks:
        warnings += copy_notes(copies_of(first, other, task), task, is_unpaired=is_unpaired)
    answers = [] if is_unpaired else [found for task in tasks if (found := compare_answers(first, other, task))]
    return RunComparison(other, tuple(lines), tuple(others), tuple(answers), tuple(warnings))


def _unpaired_group(first: ComparedRun, other: ComparedRun, group: str, metric: str) -> Iterator[NotCompared]:
    for result in first.results["groups"][group]["results"]:
        key = (str(result["metric"]), str(result["filter"]))
        if metric in ("", key[0]) and not result["subset"]:
            values = first.value(group, key), other.value(group, key)
            yield NotCompared("group", group, *key, "groups are compared by pairs of samples only", *values)


def _common_names(first: ComparedRun, other: ComparedRun, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Return kind and name of the tasks and groups of both runs, in the order of the first one's table.

    Raises:
        PlanError: if they have none in common, or a pattern matches none.
    """
    found = dict.fromkeys(
        (str(kind), str(name))
        for kind, name, *_ in first.results.get("layout", ())
        if name in other.results[f"{kind}s"]
    )
    found |= dict.fromkeys(("task", name) for name in first.tasks if name in other.tasks)
    if not found:
        raise PlanError(
            " ".join([f"{first.name} and {other.name} have no task in common.", *other_protocols(first, other)]),
            hint=f"{first.name} has {listing(first.tasks)}; {other.name} has {listing(other.tasks)}.",
        )
    names = [name for _, name in found]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"They have {listing(names)}."
            raise PlanError(f"The runs have no task or group {pattern!r} in common.", where="--tasks", hint=hint)
    wanted = {name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)}
    below = {task for group in wanted for task in _members_below(first, group)}
    return [(kind, name) for kind, name in found if name in wanted or name in below]


def _members_below(run: ComparedRun, group: str) -> Iterator[str]:
    """Yield the tasks and groups below a group."""
    for member in run.results["groups"].get(group, {}).get("members", ()):
        yield member
        yield from _members_below(run, member)


def _refuse_nothing(first: ComparedRun, other: ComparedRun, metric: str, others: Sequence[NotCompared]) -> None:
    if metric and not others:
        metrics = {
            str(result["metric"]) for task in first.results["tasks"].values() for result in task.get("results", ())
        }
        hint = did_you_mean(metric, metrics) or f"They have {listing(sorted(metrics))}."
        raise PlanError(f"The runs have no metric {metric!r} in common.", where="--metric", hint=hint)
    why = "\n".join(f"  - {one.name} ({one.metric}): {one.why}" for one in others)
    raise PlanError(
        f"{first.name} and {other.name} have no score that can be compared sample by sample:\n{why}".rstrip(":\n"),
        hint="Only a metric that is the mean of the samples' values can be compared.",
    )


def _unscored(first: ComparedRun, other: ComparedRun, lines: Sequence[ScoreComparison]) -> Iterator[Finding]:
    for line in mains(lines):
        sides = (
            (line.n_only_second, f"in {first.name} only"),
            (line.n_only_first, f"in {other.name} only"),
            (line.n_neither, "in either run"),
        )
        if any(n for n, _ in sides):
            counts = [f"{count(n, 'sample')} {'has' if n == 1 else 'have'} no score {where}" for n, where in sides if n]
            yield Finding("unscored", f"{line.name}: {listing(counts)}: left out of both means. {_FLATTERS}")


def _unscored_alone(first: ComparedRun, other: ComparedRun, lines: Sequence[ScoreComparison]) -> Iterator[Finding]:
    """Yield findings on unpaired runs: the number of samples without a score in each, and equal ids that allow
    pairs.
    """
    for line in mains(lines):
        key = line.metric, line.filter
        sides = [(run, run.outcomes(line.name)) for run in (first, other)]
        lacking = [(sum(key not in own.values for own in outcomes), run, outcomes) for run, outcomes in sides]
        if any(n for n, *_ in lacking):
            counts = [
                f"{n:,} of {count(len(outcomes), 'sample')} {'has' if n == 1 else 'have'} no score in {run.name}"
                for n, run, outcomes in lacking
                if n
            ]
            yield Finding("unscored", f"{line.name}: {listing(counts)}: left out of its mean. {_FLATTERS}")
        ids = [{own.id for own in outcomes} for _, outcomes in sides]
        if ids[0] == ids[1]:
            yield Finding(
                "samples",
                f"{line.name}: both runs have samples with the same ids. If they are the same samples, leave out "
                "--unpaired: pairs are more precise.",
            )


def corrected(compared: Sequence[RunComparison]) -> Iterator[RunComparison]:
    """Yield the comparisons with p-values corrected by Holm.

    The first metrics of all tasks, in all runs, form one family. So do those of all groups, and those of all subsets.
    Each further metric forms a separate family over the tasks, groups or subsets that have it.
    """
    families: dict[Any, list[ScoreComparison]] = {}
    for line in (line for other in compared for line in other.scores):
        families.setdefault(_family(line), []).append(line)
    of_line: dict[int, tuple[float | None, int]] = {}
    for lines in families.values():
        size = sum(line.p_value is not None for line in lines)
        for line, p_value in zip(lines, holm([line.p_value for line in lines]), strict=True):
            of_line[id(line)] = p_value, size
    for other in compared:
        lines = [replace(line, p_corrected=of_line[id(line)][0], family=of_line[id(line)][1]) for line in other.scores]
        yield replace(other, scores=tuple(lines))


def _holder(kind: str) -> str:
    """Return the kind whose title a line has: a subset has that of its task."""
    return "group" if kind == "group" else "task"


def _family(line: ScoreComparison) -> tuple[str, ...]:
    return (line.kind,) if line.is_main else (line.kind, line.metric, line.filter)


def _run(run: ComparedRun) -> dict[str, Any]:
    return {"name": run.name, "path": str(run.folder.path), "model": run.model}


def _is_excluded(line: ScoreComparison, most: float) -> bool:
    """Check whether the interval of a difference excludes a loss of more than ``most``."""
    if line.interval is None:
        return False
    low, high = line.interval
    return (high if line.higher_is_better is False else -low) <= most


def _needed(line: ScoreComparison, most: float) -> str:
    """Return a sentence with the number of samples that would show a loss of ``most``, or one as large as the present
    loss if no loss is tolerated; empty if it is unknown.
    """
    effect = most or (line.gain or 0.0)
    if not line.stderr or not effect:
        return ""
    n = needed_samples(effect, std_a=line.stderr * math.sqrt(line.n), std_b=0.0, correlation=0.0)
    return f" About {max(n, FEWEST_SAMPLES):,} samples would decide it."
