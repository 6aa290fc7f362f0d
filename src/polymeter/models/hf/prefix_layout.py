"""Where tokens stand in the batches that are scored: prefixes against the right edge, tails against the left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polymeter.models.hf.score_tokens import Tail

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Row:
    """One continuation of one request.

    Attributes:
        request: Place of the request in the batch.
        tail: What follows the prefix.
    """

    request: int
    tail: Tail


def longest_first(rows: Sequence[Row]) -> list[int]:
    """Numbers of the rows whose tails have more than one token, the longest first."""
    longer = [number for number, row in enumerate(rows) if len(row.tail.tokens) > 1]
    return sorted(longer, key=lambda number: -len(rows[number].tail.tokens))


def right_padded(tails: Sequence[Tail]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tails as a batch.

    Returns:
        Tokens (padding is 0), which of them are real, and which are scored: three tensors of shape
        ``(tails, longest)``.
    """
    import torch

    width = max(len(tail.tokens) for tail in tails)
    tokens = torch.tensor([(*tail.tokens, *[0] * (width - len(tail.tokens))) for tail in tails])
    places = torch.arange(width)
    is_real = places < torch.tensor([[len(tail.tokens)] for tail in tails])
    is_scored = is_real & (places >= torch.tensor([[tail.n_context] for tail in tails]))
    return tokens, is_real, is_scored


def shifted(inputs: Mapping[str, torch.Tensor], dropped: Sequence[int], first_token: int) -> dict[str, torch.Tensor]:
    """Encoded contexts without the tokens at their ends that are not shared, again against the right edge.

    Args:
        inputs: The contexts, padded on the left.
        dropped: How many tokens each loses at its end.
        first_token: The only token of a context that has none left.
    """
    import torch

    if inputs["input_ids"].shape[1] == 0:
        inputs = _widened(inputs)
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    n_left = mask.sum(-1) - torch.tensor(list(dropped), device=mask.device)
    if not any(dropped) and bool((n_left > 0).all()):
        return dict(inputs)
    places = torch.arange(ids.shape[1], device=ids.device)[None]
    changed = {
        name: torch.stack([row.roll(n, dims=0) for row, n in zip(tensor, dropped, strict=True)])
        if is_along_tokens(tensor, ids)
        else tensor
        for name, tensor in inputs.items()
    }
    # What stood at the end of a row now stands before it, where it is masked.
    is_kept = places >= ids.shape[1] - n_left[:, None]
    is_first = (n_left <= 0)[:, None] & (places == ids.shape[1] - 1)
    changed["attention_mask"] = (is_kept | is_first).to(mask.dtype)
    changed["input_ids"] = torch.where(is_first, first_token, changed["input_ids"])
    return changed


def is_along_tokens(tensor: torch.Tensor, ids: torch.Tensor) -> bool:
    """Whether an input has one whole number for each token: masks and kinds of tokens, and not pixels."""
    return tensor.ndim >= 2 and tensor.shape[:2] == ids.shape and not tensor.is_floating_point()


def _widened(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """One masked token for each row of a batch whose contexts are all empty; tokenizers give those any type."""
    import torch

    n_rows = len(inputs["input_ids"])
    empty = torch.zeros(n_rows, 1, dtype=torch.long, device=inputs["input_ids"].device)
    return {name: tensor for name, tensor in inputs.items() if tensor.numel()} | {
        "input_ids": empty,
        "attention_mask": empty.clone(),
    }
