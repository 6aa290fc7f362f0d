"""The record of a benchmark over a table, made from an instance of its class: rows, and the functions that make prompts
of them and score answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.task import ReduceContext, Result, ScoredRow
from polymeter.tasks.table.rows import TableRows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A benchmark over a table. A function is ``None`` if its class does not have it.

    Attributes:
        name: The dataset.
        class_name: The class that serves it, for messages.
        table: Its rows.
        build_prompt: Row → message, in any form that ``items.as_items`` takes.
        dump_image: Row → paths of its images; for models that make their own prompts.
        generation_settings: Row → the benchmark's settings for generating its image.
        references: Row → its right answers; ``None``: the column ``answer`` is the one.
        evaluate_sample: ``(row, prediction, **judge_kwargs) → mapping`` from metric to number; ``None``: samples have
            no scores of their own.
        results: Scored rows → results; ``None``: the mean of each metric.
        cluster: Row → the cluster that it shares with other rows.
        metrics: Each metric that the class names → whether higher is better.
        is_own: Whether Polymeter wrote its class, which then takes rows as any mapping. Authors' classes get a Series.
        is_thread_safe: Whether its functions may run at the same time.
    """

    name: str
    class_name: str
    table: TableRows
    build_prompt: Callable[[Any], Any]
    dump_image: Callable[[Any], Any]
    generation_settings: Callable[[Any], Mapping[str, Any]] | None = None
    references: Callable[[Mapping[str, Any]], list[str]] | None = None
    evaluate_sample: Callable[..., Any] | None = None
    results: Callable[[Iterable[ScoredRow], ReduceContext], Iterable[Result]] | None = None
    cluster: Callable[[Any], str | None] | None = None
    metrics: Mapping[str, bool]
    is_own: bool = False
    is_thread_safe: bool = False
