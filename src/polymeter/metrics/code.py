"""Tests of generated code: the protocol of HumanEval and MBPP, and the share of problems that one of k attempts solves.

A program is one answer with the tests below it. It passes if it runs to its end without an exception. Programs run only
if the run allows it (``--allow-generated-code``), and never in this process (``code_process``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np

from polymeter.core.errors import ScoreError
from polymeter.core.metric import Metric
from polymeter.core.records.attempts import pass_at_k
from polymeter.core.settings.generated_code import require_generated_code
from polymeter.metrics.code_process import DISK_MB, MEMORY_MB, PASSED, TIMEOUT_S, CodeLimits, run_program

_MOST_WORKERS = 4
_KEPT_OUTCOMES = 4096
Outcomes = list[list[str]]
"""The outcome of each attempt at each problem, as ``run_program`` returns it."""


def outcomes_of(references: Sequence[str], predictions: Sequence[Sequence[str]], limits: CodeLimits) -> Outcomes:
    """Run every attempt at every problem with the problem's tests.

    Args:
        references: The tests of each problem.
        predictions: The attempts at each problem.
        limits: The limits of one program.

    Raises:
        PlanError: if the run does not allow generated code.
        ScoreError: if no process can be started for the code.
    """
    require_generated_code()
    programs = [
        f"{attempt}\n{tests}" for tests, attempts in zip(references, predictions, strict=True) for attempt in attempts
    ]
    if len(programs) == 1:
        ended = [_outcome(programs[0], limits)]
    else:
        with ThreadPoolExecutor(min(_MOST_WORKERS, os.cpu_count() or 1), "polymeter-code") as pool:
            ended = list(pool.map(partial(_outcome, limits=limits), programs))
    outcomes = iter(ended)
    return [[next(outcomes) for _ in attempts] for attempts in predictions]


def code_eval(
    references: Sequence[str],
    predictions: Sequence[Sequence[str]],
    k: Sequence[int] | int = (1, 10, 100),
    num_workers: int = _MOST_WORKERS,
    timeout: float = TIMEOUT_S,
) -> tuple[dict[str, float], dict[int, list[tuple[int, dict[str, Any]]]]]:
    """Compute the metric ``code_eval`` of the package ``evaluate``, in the same form.

    Args:
        references: The tests of each problem.
        predictions: The attempts at each problem.
        k: The numbers of attempts that count. A number larger than the attempts at any problem gives no value.
        num_workers: Ignored: one program runs on each core, at most four at the same time.
        timeout: Processor time of one program, in seconds.

    Returns:
        The values, ``pass@1`` and so on, and the outcome of each attempt, by problem.

    Raises:
        PlanError: if the run does not allow generated code.
        ScoreError: if no process can be started for the code.
    """
    outcomes = outcomes_of(references, predictions, CodeLimits(timeout))
    counts = [(len(attempts), attempts.count(PASSED)) for attempts in outcomes]
    values = {
        f"pass@{number}": float(np.mean([pass_at_k(n, n_passed, number) for n, n_passed in counts]))
        for number in ([k] if isinstance(k, int) else k)
        if counts and all(n >= number for n, _ in counts)
    }
    told = {
        problem: [
            (
                attempt,
                {"task_id": problem, "passed": outcome == PASSED, "result": outcome, "completion_id": attempt},
            )
            for attempt, outcome in enumerate(attempts)
        ]
        for problem, attempts in enumerate(outcomes)
    }
    return values, told


# Kept for the life of the process: the program and its limits alone decide the outcome, in any run.
@lru_cache(maxsize=_KEPT_OUTCOMES)
def _outcome(program: str, limits: CodeLimits) -> str:
    """Return the outcome of a program. Greedy repeats are equal, and pass@1 and pass@10 run the same programs."""
    return run_program(program, limits)


def _metric(k: int) -> Metric:
    def score(
        references: Sequence[str],
        predictions: Sequence[Any],
        timeout: float = TIMEOUT_S,
        memory_mb: int = MEMORY_MB,
        disk_mb: int = DISK_MB,
    ) -> float:
        tests = "\n".join(map(str, references))
        (outcomes,) = outcomes_of([tests], [list(map(str, predictions))], CodeLimits(timeout, memory_mb, disk_mb))
        if len(outcomes) < k:
            raise ScoreError(
                f"pass@{k} needs at least {k} answers to each sample, and there are {len(outcomes)}.",
                hint=f"Ask for them with 'repeats: {k}', and keep them all: 'code' does so, 'take_first' does not.",
            )
        return pass_at_k(len(outcomes), outcomes.count(PASSED), k)

    share = "share of the answers that pass the tests in the target"
    return Metric(
        f"pass@{k}",
        score=score,
        values={"generate_until": share if k == 1 else "probability that one of k answers passes the tests"},
        bounds=(0.0, 1.0),
        takes_all=True,
        runs_code=True,
    )


PASS_AT_1, PASS_AT_5, PASS_AT_10, PASS_AT_100 = map(_metric, (1, 5, 10, 100))
