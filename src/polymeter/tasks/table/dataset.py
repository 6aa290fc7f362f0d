"""The record of a benchmark over a table, made from an instance of its class: rows, and the functions that make prompts
of them and score answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.content import Modality
from polymeter.core.media.showing import NOTHING_STATED, Showing
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
        extract: Answer → the part of it that each metric compares, as far as it is known.
        metrics: Each metric that the class names → whether higher is better.
        is_own: Whether Polymeter wrote its class, which then takes rows as any mapping. Authors' classes get a Series.
        is_thread_safe: Whether its functions may run at the same time.
        showing: What its class states to be shown of media.
        dataset_name: The name by which its class and wrapped models know it: that of the task without its protocol.
            Empty: ``name``.
        is_conversation: Whether its prompts are conversations, whose answer is the list of the model's turns.
        media_folders: Where relative paths of files of its rows are looked for.
        asks_by_position: Whether ``build_prompt`` gets the position of a row, and not the row.
        modalities: The modalities of its prompts; ``None``: the first prompts show them.
        is_scored_by_file: Whether its class scores one file with all answers.
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
    extract: Callable[[str], Mapping[str, str]] | None = None
    metrics: Mapping[str, bool]
    is_own: bool = False
    is_thread_safe: bool = False
    showing: Showing = NOTHING_STATED
    dataset_name: str = ""
    is_conversation: bool = False
    media_folders: tuple[Path, ...] = ()
    asks_by_position: bool = False
    modalities: frozenset[Modality] | None = None
    is_scored_by_file: bool = False


def folders_of(instance: Any) -> tuple[Path, ...]:
    """Return the folders of the files of an instance's rows: of its images, and of its table."""
    root, table = vars(instance).get("img_root"), getattr(instance, "data_path", None)  # asking for a root makes one
    folders = (Path(root) if root else None, Path(table).parent if table else None)
    return tuple(folder for folder in folders if folder is not None)
