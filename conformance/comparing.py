"""Compares what two tools made of the same tasks and answers, and prints what was compared and what differs."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.frame import MODELS, Observation
from polymeter.core.names.parity import difference_tables
from polymeter.core.names.systems import systems

Observations = Mapping[tuple[str, str], Observation]
_SHOWN = 60


@dataclass(frozen=True)
class Expected:
    """A deliberate difference, by the name of its row in docs/differences.md.

    Attributes:
        row: The rule of its record.
        tasks: Glob of tasks.
        names: Glob of values (``value:NAME``, ``sample:NAME``, ``prompt``, ``settings``, ``failure``).
        there: What the original's value contains, as text.
        here: What Polymeter's contains.
        stays: Whether it stays with ``--parity`` too.
        models: Glob of models.
    """

    row: str
    tasks: str = "*"
    names: str = "*"
    there: str = ""
    here: str = ""
    stays: bool = False
    models: str = "*"

    def covers(self, one: Difference) -> bool:
        is_named = fnmatch.fnmatchcase(one.task, self.tasks) and fnmatch.fnmatchcase(one.name, self.names)
        is_by = one.model == "all" or fnmatch.fnmatchcase(one.model, self.models)
        return is_named and is_by and self.there in str(one.there) and self.here in str(one.here)


@dataclass(frozen=True)
class Difference:
    """One value that differs."""

    task: str
    model: str
    name: str
    there: Any
    here: Any
    sample: str = ""

    def __str__(self) -> str:
        where = f" sample {self.sample}" if self.sample else ""
        there, here = _from_difference(str(self.there), str(self.here))
        return f"{self.task} [{self.model}]{where} {self.name}: there {_short(there)}, here {_short(here)}"


@dataclass
class Comparison:
    """What was compared, how closely, and what differs."""

    tolerance: float = 1e-12
    tasks: set[str] = field(default_factory=set)
    n_values: int = 0
    n_between: int = 0
    n_sample_values: int = 0
    n_prompts: int = 0
    same_for_all_models: set[str] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)
    expected: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)


def compare(
    theirs: Observations,
    ours: Observations,
    expected: Sequence[Expected] = (),
    *,
    models_of: Callable[[str], Sequence[str]] = lambda _task: MODELS,
    tolerance: float = 1e-12,
) -> Comparison:
    """Compare two sides, task by task.

    A task counts as compared if there all models gave values; what only one side can run is a failure, listed with
    both sides' reasons.

    Args:
        theirs: What the original made.
        ours: What Polymeter made.
        expected: Differences that have a row.
        models_of: The models that answer a task.
        tolerance: How far apart equal numbers may be, relative to them.
    """
    made = Comparison(tolerance=tolerance)
    for task in sorted({task for task, _ in theirs}):
        pairs = [(theirs.get((task, model)), ours.get((task, model))) for model in models_of(task)]
        if any(one is None or one.failure for one, _ in pairs):
            continue
        failed = next((here for _, here in pairs if here is None or here.failure), ...)
        if failed is not ...:
            why = failed.failure if failed is not None else "not run"
            made.differences.append(Difference(task, "all", "failure", "runs", why))
            continue
        _compare_task(task, [(there, here) for there, here in pairs if there and here], made)
    made.differences, known = _without(made.differences, expected)
    made.failures = {one.task: str(one.here) for one in made.differences if one.name == "failure"}
    made.differences = [one for one in made.differences if one.name != "failure"]
    made.expected.update(known)
    return made


def _compare_task(task: str, pairs: Sequence[tuple[Observation, Observation]], made: Comparison) -> None:
    made.tasks.add(task)
    for there, here in pairs:
        extremes = _extremes([one for one, _ in pairs])
        for name, value, other in _joined(there.values, here.values):
            made.n_values += 1
            made.n_between += _is_between(value, extremes.get(name.split(",")[0], ()))
            if not same(value, other, made.tolerance):
                made.differences.append(Difference(task, there.model, f"value:{name}", value, other))
        for sample in sorted(there.samples.keys() | here.samples.keys()):
            for name, value, other in _joined(there.samples.get(sample, {}), here.samples.get(sample, {})):
                made.n_sample_values += 1
                if not same(value, other, made.tolerance):
                    made.differences.append(Difference(task, there.model, f"sample:{name}", value, other, sample))
        for sample, prompt, other in _joined(there.prompts, here.prompts):
            made.n_prompts += 1
            if prompt != other:
                what = "settings" if sample.endswith("settings") else "prompt"
                made.differences.append(Difference(task, there.model, what, prompt, other, sample))
    if all(same(pairs[0][0].values, one.values) for one, _ in pairs) and all(
        same(pairs[0][0].samples, one.samples) for one, _ in pairs
    ):
        made.same_for_all_models.add(task)


_MISSING = "<missing>"


def _joined(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in sorted(there.keys() | here.keys()):
        yield name, there.get(name, _MISSING), here.get(name, _MISSING)


def same(one: Any, other: Any, tolerance: float = 1e-12) -> bool:
    """Whether two values are equal; floats to twelve digits, since sums may be taken in another order."""
    if isinstance(one, bool) or isinstance(other, bool):
        return float(one) == float(other) if _is_number(one) and _is_number(other) else bool(one == other)
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance * 1e-3)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair, tolerance) for pair in zip(one, other, strict=True))
    return bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _extremes(observations: Sequence[Observation]) -> dict[str, tuple[float, float]]:
    seen: dict[str, list[float]] = {}
    for one in observations:
        for scores in one.samples.values():
            for name, value in scores.items():
                if _is_number(value):
                    seen.setdefault(name, []).append(float(value))
    return {name: (min(values), max(values)) for name, values in seen.items()}


def _is_between(value: Any, extremes: tuple[float, float] | tuple[()]) -> bool:
    return _is_number(value) and float(value) not in {-1.0, 0.0, 1.0, 100.0, *extremes} and math.isfinite(value)


def _without(found: Sequence[Difference], expected: Sequence[Expected]) -> tuple[list[Difference], Counter[str]]:
    left, known = [], Counter[str]()
    for one in found:
        row = next((rule.row for rule in expected if rule.covers(one)), None)
        if row is None:
            left.append(one)
        else:
            known[row] += 1
    return left, known


def check_rows(expected: Sequence[Expected]) -> list[str]:
    """Names of expected differences that docs/differences.md has no row for."""
    rows = {row.rule for system in systems() for table in difference_tables(system) for row in table.rows}
    return sorted({one.row for one in expected} - rows)


def print_comparison(made: Comparison, title: str, least_tasks: int) -> bool:
    """Print a comparison; whether it is as it should be."""
    share = made.n_between / made.n_values if made.n_values else 0.0
    print(f"{title}")
    print(f"  {len(made.tasks)} tasks compared (at least {least_tasks} needed)")
    print(f"  {made.n_values} values compared, {made.n_between} of them strictly between their extremes ({share:.0%})")
    print(f"  {made.n_sample_values} scores of samples and {made.n_prompts} prompts compared")
    print(f"  the three models differ on {len(made.tasks) - len(made.same_for_all_models)} of {len(made.tasks)} tasks")
    for task in sorted(made.same_for_all_models):
        print(f"    the same for all models: {task}")
    for row, count in made.expected.most_common():
        print(f"  {count} values differ as the row says: {row}")
    print(f"  {len(made.failures)} tasks run there and not here")
    for task, here in sorted(made.failures.items()):
        print(f"    {task}: {_short(here)}")
    print(f"  {len(made.differences)} values differ without a row")
    groups: dict[tuple[str, str], list[Difference]] = {}
    for one in made.differences:
        groups.setdefault((one.task, one.name), []).append(one)
    for same_kind in list(groups.values())[:_SHOWN]:
        more = f" (and {len(same_kind) - 1} more of these)" if len(same_kind) > 1 else ""
        print(f"    {same_kind[0]}{more}")
    if len(groups) > _SHOWN:
        print(f"    … and {len(groups) - _SHOWN} more names of values")
    is_enough = len(made.tasks) >= least_tasks and share >= 1 / 3
    return is_enough and not (made.differences or made.failures or made.same_for_all_models)


def _from_difference(one: str, other: str) -> tuple[str, str]:
    """Long texts from shortly before the place where they begin to differ."""
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = place - 40 if place > 120 else 0
    return (f"…{one[start:]}", f"…{other[start:]}") if start else (one, other)


def _short(value: Any) -> str:
    text = str(value).strip().replace("\n", "\\n")
    return text if len(text) <= 160 else f"{text[:157]}…"
