"""Common beginnings of the prompts of several requests, few-shot examples above all: read once, and kept.

The head of a batch is the common beginning of all its prompts' tokens and of the head kept from an earlier batch. A
prompt is then read from behind the head, on a copy of its keys and values. Only texts have heads: the meaning of a
medium depends on more than its tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from polymeter.models.hf.plain_cache import gathered, keeps_everything, shortened
from polymeter.models.hf.scoring.score_rows import accepted

if TYPE_CHECKING:
    import torch

TEXT: Final = frozenset({"input_ids", "attention_mask"})
"""The tensors of prompts without media."""
SHORTEST: Final = 24
"""Minimum tokens of a head. Copying a shorter one for each row takes about as long as reading it."""
_LEAST_SHARE: Final = 0.25
"""Minimum share of the longest prompt."""
_GOOD_ENOUGH: Final = 0.8
"""A head that is kept is used if it has this share of the tokens that the one of the batch would have."""


@dataclass(frozen=True, slots=True)
class PromptHead:
    """The beginning of prompts.

    Attributes:
        tokens: Its tokens.
        cache: A plain cache of one row.
    """

    tokens: tuple[int, ...]
    cache: Any

    def copies(self, n: int) -> Any:
        """A cache of ``n`` equal rows, which may grow. Nothing is copied before it does."""
        import torch

        return gathered(self.cache, torch.zeros(n, dtype=torch.long))


class Heads:
    """Finds heads and keeps the last one.

    Args:
        model: A Transformers decoder.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._last: tuple[int, ...] = ()
        self._kept: PromptHead | None = None
        self._is_possible = True

    def of(self, inputs: Mapping[str, torch.Tensor]) -> PromptHead | None:
        """The head of some prompts; ``None`` if they have none that is worth having, or the model keeps more than keys
        and values.

        Args:
            inputs: The prompts, padded on the left.
        """
        if not self._is_possible or frozenset(inputs) != TEXT:
            return None
        ids, mask = inputs["input_ids"].tolist(), inputs["attention_mask"].sum(-1).tolist()
        rows = [row[len(row) - n :] for row, n in zip(ids, mask, strict=True)]
        first, last = min(rows), max(rows)  # in alphabetical order: what they share, all others share with them
        # At least one token of each prompt is left to be read: the one that the first choice is predicted from.
        most = min(map(len, rows)) - 1
        n_shared = min(most, _common(first, last) if len(rows) > 1 else _common(self._last, first))
        self._last = tuple(last)
        if n_shared < max(SHORTEST, _LEAST_SHARE * max(map(len, rows))):
            return None
        kept = self._kept
        if kept is not None:
            n_kept = min(most, _common(kept.tokens, first), _common(kept.tokens, last))
            if n_kept >= _GOOD_ENOUGH * n_shared:
                return (
                    kept
                    if n_kept == len(kept.tokens)
                    else PromptHead(kept.tokens[:n_kept], shortened(kept.cache, n_kept))
                )
        self._kept = self._read(first[:n_shared])
        return self._kept

    def _read(self, tokens: Sequence[int]) -> PromptHead | None:
        import torch

        row = torch.tensor([list(tokens)], device=self._model.device)
        given: dict[str, Any] = {"input_ids": row, "attention_mask": torch.ones_like(row), "use_cache": True}
        if "logits_to_keep" in accepted(self._model):
            given["logits_to_keep"] = 1
        cache = getattr(self._model(**given), "past_key_values", None)
        if not keeps_everything(cache):
            self._is_possible = False
            return None
        return PromptHead(tuple(tokens), cache)


def without_head(inputs: Mapping[str, torch.Tensor], n: int) -> dict[str, torch.Tensor]:
    """Prompts without their first ``n`` tokens, padded on the left.

    Args:
        inputs: Prompts of text, padded on the left; each has more than ``n`` tokens.
        n: Length of the head.
    """
    import torch

    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    width = ids.shape[1]
    is_left = torch.arange(n, width, device=ids.device)[None] >= width - (mask.sum(-1, keepdim=True) - n)
    return {"input_ids": ids[:, n:], "attention_mask": is_left.to(mask.dtype)}


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common beginning, by halving: a comparison of slices is fast, one of single tokens is not."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if tuple(first[low:middle]) == tuple(second[low:middle]):
            low = middle
        else:
            high = middle - 1
    return low
