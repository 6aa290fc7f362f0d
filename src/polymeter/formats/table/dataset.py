"""What a benchmark over a table is once its class is found and its instance made: rows, and the functions that make
prompts of them and score what is answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.core.task import ReduceContext, Result, ScoredRow
from polymeter.formats.table.rows import Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dataset:
    """A benchmark over a table. A function that is ``None`` is one that its class does not have.

    Attributes:
        name: The dataset.
        class_name: The class that serves it, for messages.
        table: Its rows.
        build_prompt: Row → message, in any form that ``items.as_items`` takes.
        dump_image: Row → paths of its images; for prompts that a model makes itself.
        generation_settings: Row → what the benchmark says of how its image is drawn.
        evaluate_sample: ``(row, prediction, **judge_kwargs) → mapping`` from metric to number; ``None``: samples have
            no scores of their own.
        results: Scored rows → results; ``None``: the mean of each metric.
        cluster: Row → what it shares with other rows.
        metrics: Of each metric that the class names whether higher is better.
        is_own: Whether Polymeter wrote its class, which then reads rows from any mapping. Authors are given a Series.
        is_thread_safe: Whether its functions may run at the same time.
    """

    name: str
    class_name: str
    table: Table
    build_prompt: Callable[[Any], Any]
    dump_image: Callable[[Any], Any]
    generation_settings: Callable[[Any], Mapping[str, Any]] | None = None
    evaluate_sample: Callable[..., Any] | None = None
    results: Callable[[Iterable[ScoredRow], ReduceContext], Iterable[Result]] | None = None
    cluster: Callable[[Any], str | None] | None = None
    metrics: Mapping[str, bool]
    is_own: bool = False
    is_thread_safe: bool = False
