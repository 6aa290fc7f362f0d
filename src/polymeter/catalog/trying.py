"""Trying benchmarks without a model: their prompts, and whether their own references score full marks.

Unlike ``polymeter.catalog.listing`` this runs the code of the benchmarks that are named.
"""

from __future__ import annotations

import math
import string
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from polymeter.api.result import RunResult
from polymeter.api.running import evaluate
from polymeter.api.settings import read_settings
from polymeter.catalog.listing import build_catalog
from polymeter.core.content import is_image
from polymeter.core.errors import PlanError, PolymeterError, ScoreError
from polymeter.core.format import OpenContext
from polymeter.core.guest_context import guest_context_with
from polymeter.core.names.parity import parity_with
from polymeter.core.options import RunOptions
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.request import Loglikelihood, Request
from polymeter.core.task import Sample, Task, TaskSpec
from polymeter.guests.door import Door, in_mode, random_state_kept
from polymeter.metrics.choice_targets import choice_indices
from polymeter.report.formatting import clip, one_line
from polymeter.run.plan import plan, selection
from polymeter.run.plan.lint import FirstPrompts, first_requests
from polymeter.run.schedule.rollouts import step_label

Verdict = Literal["full", "short", "unknown"]
_TOLERANCE = 1e-9
_FULL_MARKS = (1.0, 100.0)
_LONGEST_EXPECTED = 400


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """The first requests of a task about one sample.

    Attributes:
        task: The task.
        sample: The sample's id.
        requests: The requests.
        expected: What the task expects, for display: of choices the letter and the text; empty if it does not say, or
            was not asked.
    """

    task: str
    sample: str
    requests: tuple[Request, ...]
    expected: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceResult:
    """One result of answering a task with its references.

    Attributes:
        metric: Its metric.
        filter: Its filter.
        value: The result.
        verdict: ``full`` marks; ``short`` of them; ``unknown`` if the metric has no known full mark.
    """

    metric: str
    filter: str
    value: Any
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ReferenceCheck:
    """One task answered with its references.

    Attributes:
        task: Its name.
        n_samples: The number of samples that were run.
        n_scored: How many of them have a score.
        results: Its results.
        errors: The first few reasons why samples have no score.
        problem: Why the task could not be run at all; empty if it was.
    """

    task: str
    n_samples: int = 0
    n_scored: int = 0
    results: tuple[ReferenceResult, ...] = ()
    errors: tuple[str, ...] = field(default=())
    problem: str = ""

    @property
    def is_fine(self) -> bool:
        """True if every sample was scored and no result falls short of a known full mark."""
        is_complete = self.n_scored == self.n_samples and not self.problem
        return is_complete and all(result.verdict != "short" for result in self.results)


def tasks_in(path: Path, include_paths: Sequence[Path] = ()) -> list[str]:
    """The names of the tasks defined in a file or below a folder, in the order of the catalog."""
    inside = selection.named_place(path)
    catalog = build_catalog((*include_paths, path))
    return [
        entry.name
        for entry in catalog
        if entry.kind == "task" and entry.file.is_relative_to(inside) and entry.name not in catalog.clashes
    ]


def open_named(
    patterns: Sequence[str],
    include_paths: Sequence[Path] = (),
    data: Mapping[str, str] | None = None,
    parity: str | None = None,
) -> list[Task]:
    """Open tasks for a chat model with all capabilities. Runs their code.

    Args:
        patterns: Names, globs, groups and tags.
        include_paths: Further folders of benchmarks.
        data: Local files that replace dataset ids.
        parity: The system whose prompts are wanted where Polymeter differs from it; default: that of the settings.

    Raises:
        PlanError: if a pattern matches nothing, or a task cannot be loaded.
        DataError: if a dataset cannot be opened.
    """
    chosen = selection.select(patterns, build_catalog(include_paths, parity=parity))
    return [open_spec(spec, data, parity) for spec in chosen.tasks]


def open_spec(
    spec: TaskSpec,
    data: Mapping[str, str] | None = None,
    parity: str | None = None,
    planned: OpenContext | None = None,
) -> Task:
    """Open one task for a chat model with all capabilities. Runs its code.

    Args:
        spec: The task.
        data: Local files that replace dataset ids.
        parity: The system whose prompts are wanted where Polymeter differs from it; default: that of the settings.
        planned: The other settings of the run whose prompts are wanted; default: those of a run without any.

    Raises:
        PlanError: if it cannot be loaded.
        DataError: if its dataset cannot be opened.
    """
    settings = read_settings()
    cache_dir = plan.cache_folder(RunOptions(cache_dir=settings.cache_dir))
    context = replace(
        planned or OpenContext(),
        data={**settings.data, **(data or {})},
        parity=parity_with(settings.parity if parity is None else parity),
        cache_dir=cache_dir,
    )
    # No model has written anything here, so programs that run, as a task's first trial of its metric, are its author's.
    surroundings = {
        "parity": context.parity,
        "data": context.data,
        "cache_dir": cache_dir,
        "allows_generated_code": True,
    }
    with in_mode("load"), guest_context_with(**surroundings):
        return selection.format_of(spec).compile(spec, plan.traits_without_model(), context)


def first_prompts(
    path: Path,
    n: int,
    include_paths: Sequence[Path] = (),
    data: Mapping[str, str] | None = None,
    parity: str | None = None,
) -> Iterator[ShownPrompt]:
    """The first requests about the first ``n`` samples of each task in a file or folder, with the values of ``parity``
    where Polymeter differs from that system. Runs their code.

    Raises:
        PlanError: if it contains no task, or one cannot be loaded.
        DataError: if a dataset cannot be opened, or a row cannot be read.
        ScoreError: if a hook raises.
    """
    for name in _names_in(path, include_paths):
        for task in open_named([name], (*include_paths, path), data, parity):
            for sample in task.samples[:n]:
                yield replace(first_prompt(task, sample), expected=_expected(task, sample))


def _expected(task: Task, sample: Sample) -> str:
    """Return the target of a sample, for display. If it is unusable, the reason is shown instead."""
    functions = task.row_functions
    if functions.target is None:
        return ""
    try:
        target = row_function(task, functions.target)(sample)
        choices = None if functions.choices is None else row_function(task, functions.choices)(sample)
    except PolymeterError as error:
        return one_line(f"unusable: {error}")
    if target is None or (isinstance(target, (str, list)) and not target):
        return "nothing"
    if is_image(target):
        return "an image"
    named = _choices_named(target, choices) if isinstance(choices, (list, tuple)) else ""
    return clip(named or one_line(str(target)), _LONGEST_EXPECTED)


def _choices_named(target: Any, choices: Sequence[Any]) -> str:
    """The letters and texts of the choices that a target names; empty if it names none."""
    texts = [str(choice) for choice in choices]
    try:
        indices = [index for index in choice_indices(target, texts) if index >= 0]
    except ScoreError:
        return ""
    letters = {index: string.ascii_uppercase[index : index + 1] or f"number {index}" for index in indices}
    return ", ".join(one_line(f"{letters[index]} {texts[index]!r}") for index in indices)


def row_function(task: Task, function: Callable[[int], Any]) -> Callable[[Sample], Any]:
    """A function of a task's rows, called as a run calls it."""
    door = Door(RunOptions().seed)

    def of(sample: Sample) -> Any:
        with random_state_kept(), door.hook(task.spec.name, sample.id, step_label(1)):
            return function(sample.index)

    return of


def first_prompt(task: Task, sample: Sample) -> ShownPrompt:
    """The first requests of an open task about one of its samples, as in a run with the default seed: prompts drawn at
    random are the same. Repeats of a prompt are shown once.

    Raises:
        DataError: if the row cannot be read.
        ScoreError: if a hook raises.
    """
    return ShownPrompt(task.spec.name, sample.id, first_requests(task, sample, RunOptions().seed))


def prompt_findings(task: Task) -> tuple[LintFinding, ...]:
    """Return findings about the first prompts of an open task, as in a run with the default seed. Runs its code."""
    return tuple(FirstPrompts(task, range(len(task.samples)), RunOptions().seed).findings())


def describe_parameters(request: Request) -> str:
    """The parameters of a request on one line."""
    parameters = request.parameters
    if isinstance(parameters, Loglikelihood):
        return f"log-likelihood of {', '.join(repr(text) for text in parameters.continuations)}"
    names = ("max_new_tokens", "temperature", "top_p", "stop", "size")
    values = {name: getattr(parameters, name, None) for name in names}
    settings = {**{name: value for name, value in values.items() if value not in (None, ())}, **parameters.extra}
    return f"{parameters.kind}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"


def check_references(
    path: Path,
    include_paths: Sequence[Path] = (),
    data: Mapping[str, str] | None = None,
    *,
    limit: float | None = None,
    parity: str | None = None,
) -> Iterator[ReferenceCheck]:
    """Answer the tasks in a file or folder with their own references, through the real engine and scoring. Runs their
    code.

    Args:
        path: The file or folder.
        include_paths: Further folders of benchmarks.
        data: Local files that replace dataset ids.
        limit: The largest number of samples of each task.
        parity: The system whose values are wanted where Polymeter differs from it; default: that of the settings.

    Raises:
        PlanError: if it contains no task.
    """
    chosen = {} if parity is None else {"parity": parity}
    for name in _names_in(path, include_paths):
        with tempfile.TemporaryDirectory(prefix="polymeter-gold-") as folder:
            yield _check_one(name, (*include_paths, path), data, limit, Path(folder) / "run", chosen)


def _check_one(
    name: str,
    include_paths: Sequence[Path],
    data: Mapping[str, str] | None,
    limit: float | None,
    output: Path,
    options: Mapping[str, Any],
) -> ReferenceCheck:
    try:
        run = evaluate(
            "mock",
            [name],
            model_args={"mode": "gold"},
            include_paths=tuple(include_paths),
            data=dict(data or {}),
            limit=limit,
            output=output,
            media="none",
            **options,
        )
    except PolymeterError as error:
        return ReferenceCheck(name, problem=str(error))
    task = run.results["tasks"][name]
    results = tuple(
        ReferenceResult(
            item["metric"], item["filter"], item["value"], verdict_of(item["value"], item["higher_is_better"])
        )
        for item in task["results"]
        if not item["subset"]
    )
    return ReferenceCheck(name, task["n_samples"], task["n_scored"], results, _errors(run, name))


def verdict_of(value: Any, higher_is_better: bool | None) -> Verdict:
    """Full marks are 1, or 100 for a percentage; 0 if lower is better. Sums and perplexities have no full mark."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return "unknown"
    if higher_is_better is False:
        return "full" if abs(value) < _TOLERANCE else "short" if 0 < value < 1 else "unknown"
    if any(math.isclose(value, full, abs_tol=_TOLERANCE) for full in _FULL_MARKS):
        return "full"
    return "short" if 0 <= value < 1 else "unknown"


def _errors(run: RunResult, task: str) -> tuple[str, ...]:
    from polymeter.store.exports.export import read_samples

    messages = (
        f"{sample['id']}: {sample['error']['message']}"
        for sample in read_samples(run.folder, task)
        if sample["error"] is not None
    )
    return tuple(message for message, _ in zip(messages, range(3), strict=False))


def _names_in(path: Path, include_paths: Sequence[Path]) -> list[str]:
    names = tasks_in(path, include_paths)
    if not names:
        raise PlanError(f"There is no task in {str(path)!r}.", hint="Name a YAML file, or a folder of them.")
    return names
