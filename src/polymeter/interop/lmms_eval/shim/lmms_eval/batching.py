"""Batching for model wrappers: items are sorted for batching, and answers return to the items' order."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

Size = Callable[[int, Sequence[Any]], int]


def chunks(iter: Iterable[Any], n: int = 0, fn: Size | None = None) -> Iterator[list[Any]]:
    """Lists of ``n`` items, the last one shorter; ``fn(position, items)`` gives the size in place of ``n``.

    With neither, one list of all items.
    """
    items = list(iter)
    chunk: list[Any] = []
    for position, item in enumerate(items):
        chunk.append(item)
        if len(chunk) == (fn(position, items) if fn else n):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def group(arr: Iterable[Any], fn: Callable[[Any], Hashable]) -> list[list[Any]]:
    """Items grouped by key; keys are in order of appearance."""
    groups: dict[Hashable, list[Any]] = {}
    for item in arr:
        groups.setdefault(fn(item), []).append(item)
    return list(groups.values())


class Collator:
    """Sorts items, optionally groups those with equal settings, and yields them in batches.

    Args:
        arr: The items.
        sort_fn: Order within a group.
        group_fn: What must be equal within a batch; a mapping is compared by its content.
        grouping: Whether batches keep to groups.
    """

    def __init__(
        self,
        arr: Sequence[Any],
        sort_fn: Callable[[Any], Any],
        group_fn: Callable[[Any], Any] = lambda item: item[1],
        grouping: bool = False,
    ) -> None:
        self.fn, self.group_fn, self.grouping = sort_fn, group_fn, grouping
        self.size = len(arr)
        self.reorder_indices: list[int] = []
        numbered = list(enumerate(arr))
        self._groups = group(numbered, lambda pair: _key(group_fn(pair[1]))) if grouping else [numbered]

    def get_batched(self, n: int = 1, batch_fn: Size | None = None) -> Iterator[list[Any]]:
        """Batches of ``n`` items; no batch spans two groups."""
        for members in self._groups:
            ordered = sorted(members, key=lambda pair: self.fn(pair[1]))
            self.reorder_indices.extend(position for position, _ in ordered)
            yield from chunks([item for _, item in ordered], n, batch_fn)

    def get_original(self, newarr: Iterable[Any]) -> list[Any]:
        """Answers in the original order of the items.

        Raises:
            AssertionError: if an item has no answer.
        """
        return _restored(self.size, zip(self.reorder_indices, newarr, strict=False))

    def __len__(self) -> int:
        return self.size


class Reorderer:
    """Sorts items by a key and puts answers back into the items' order.

    Args:
        arr: The items.
        fn: The key.
    """

    def __init__(self, arr: Sequence[Any], fn: Callable[[Any], Any]) -> None:
        self.size = len(arr)
        self.arr = sorted((([position], item) for position, item in enumerate(arr)), key=lambda pair: fn(pair[1]))

    def get_reordered(self) -> list[Any]:
        return [item for _, item in self.arr]

    def get_original(self, newarr: Iterable[Any]) -> list[Any]:
        return _restored(
            self.size, ((positions[0], value) for (positions, _), value in zip(self.arr, newarr, strict=False))
        )


class Grouper:
    """Groups items by a key and puts the groups' answers back in the order of the items.

    Args:
        arr: The items.
        fn: The key.
    """

    def __init__(self, arr: Sequence[Any], fn: Callable[[Any], Hashable]) -> None:
        self.size = len(arr)
        self.arr: dict[Hashable, list[tuple[int, Any]]] = {}
        for position, item in enumerate(arr):
            self.arr.setdefault(fn(item), []).append((position, item))

    def get_grouped(self) -> dict[Hashable, list[Any]]:
        return {key: [item for _, item in members] for key, members in self.arr.items()}

    def get_original(self, grouped_dict: Mapping[Hashable, Iterable[Any]]) -> list[Any]:
        pairs = [
            (position, value)
            for key, members in self.arr.items()
            for (position, _), value in zip(members, grouped_dict[key], strict=False)
        ]
        return _restored(self.size, pairs)


def _restored(size: int, pairs: Iterable[tuple[int, Any]]) -> list[Any]:
    answers = dict(pairs)
    assert len(answers) == size, f"{size} items, but {len(answers)} answers"
    return [answers[position] for position in range(size)]


def _key(value: Any) -> Hashable:
    """A hashable value that compares by content, also for mappings, lists and sets."""
    if isinstance(value, Mapping):
        return tuple((str(name), _key(value[name])) for name in sorted(value, key=str))
    if isinstance(value, (list, tuple)):
        return tuple(_key(item) for item in value)
    if isinstance(value, (set, frozenset)):
        return frozenset(_key(item) for item in value)
    return value  # type: ignore[no-any-return]


def get_dtype(dtype: Any) -> Any:
    """A torch type by name; ``auto`` and types unchanged."""
    if not isinstance(dtype, str) or dtype == "auto":
        return dtype
    import torch

    return getattr(torch, dtype)


def clear_torch_cache() -> None:
    """Free the memory that torch no longer needs, if torch is in use."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.cuda.empty_cache()


def pad_and_concat(max_length: int, tensors: Sequence[Any], padding_side: str = "right") -> Any:
    """One tensor of shape ``(rows, max_length)`` from tensors of tokens, each ``(n,)`` or ``(1, n)``, padded with zeros
    on one side.
    """
    import torch

    if padding_side not in ("right", "left"):
        raise ValueError(f"padding_side must be 'right' or 'left', not {padding_side!r}")
    rows = []
    for tensor in tensors:
        row = tensor.squeeze(0) if tensor.dim() == 2 else tensor
        gap = max_length - row.shape[0]
        rows.append(torch.nn.functional.pad(row, (0, gap) if padding_side == "right" else (gap, 0)) if gap > 0 else row)
    return torch.stack(rows)


class MultiTokenEOSCriteria:
    """A stopping criterion: true once every row has generated a text. It looks at two tokens more than the text has,
    because the text may be generated in other tokens than it is encoded in.
    """

    def __init__(self, sequence: str, tokenizer: Any, initial_decoder_input_length: int, batch_size: int) -> None:
        self.sequence = sequence
        self.tokenizer = tokenizer
        self.initial_decoder_input_length = initial_decoder_input_length
        self.done_tracker = [False] * batch_size
        self.sequence_ids = tokenizer.encode(sequence, add_special_tokens=False)
        self.sequence_id_len = len(self.sequence_ids) + 2

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> bool:
        generated = input_ids[:, self.initial_decoder_input_length :]
        tails = self.tokenizer.batch_decode(generated[:, -self.sequence_id_len :])
        for row, tail in enumerate(tails[: len(self.done_tracker)]):
            self.done_tracker[row] = self.done_tracker[row] or self.sequence in tail
        return all(self.done_tracker)


def stop_sequences_criteria(
    tokenizer: Any, stop_sequences: Sequence[str], initial_decoder_input_length: int, batch_size: int
) -> Any:
    """Stopping criteria for ``generate`` of Transformers: one for each text, met once every row has generated it."""
    from transformers import StoppingCriteriaList

    return StoppingCriteriaList(
        [MultiTokenEOSCriteria(text, tokenizer, initial_decoder_input_length, batch_size) for text in stop_sequences]
    )
