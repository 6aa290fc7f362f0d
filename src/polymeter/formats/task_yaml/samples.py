"""The samples of a task: a view over its rows that holds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, overload

from polymeter.core.task import Sample
from polymeter.data.rows import Rows


class RowSamples:
    """Samples made from rows when asked for. Their ids are row numbers of the split, as ``process_docs`` left it."""

    def __init__(self, task: str, rows: Rows, cluster_key: str | None = None) -> None:
        self._task = task
        self._rows = rows
        self._cluster_key = cluster_key

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        n = len(self._rows)
        if isinstance(index, slice):
            start, stop, step = index.indices(n)
            if step == 1:
                return [self._sample(start + i, doc) for i, doc in enumerate(self._rows.docs(start, stop))]
            return [self._sample(i, self._rows.doc(i)) for i in range(start, stop, step)]
        if index < 0:
            index += n
        if not 0 <= index < n:
            raise IndexError(f"There is no sample {index} of {n}.")
        return self._sample(index, self._rows.doc(index))

    def _sample(self, index: int, doc: dict[str, Any]) -> Sample:
        cluster = None
        if self._cluster_key is not None:
            value = doc.get(self._cluster_key)
            cluster = None if value is None else str(value)
        return Sample(self._task, str(index), index, doc, (), cluster, partial(self._rows.full_doc, index))
