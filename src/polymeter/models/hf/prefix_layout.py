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


def shifted(
    inputs: Mapping[str, torch.Tensor], dropped: Sequence[int], first_token: int
) -> dict[str, torch.Tensor]:
    """Encoded contexts without the tokens at their ends that are not shared, again against the right edge.

    Args:
        inputs: The contexts, padded on the left.
        dropped: How many tokens each loses at its end.
        first_token: The only token of a context that has none left.
    """
    import torch

    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    n_left = mask.sum(-1) - torch.tensor(list(dropped), device=mask.device)
    if not any(dropped) and bool((n_left > 0).all()):
        return dict(inputs)
    width = max(1, ids.shape[1])
    places = torch.arange(width, device=ids.device)[None]
    changed = {
        name: _rolled(tensor, dropped, width) if is_along_tokens(tensor, ids) else tensor
        for name, tensor in inputs.items()
    }
    is_kept = places >= width - n_left[:, None]
    is_first = (n_left <= 0)[:, None] & (places == width - 1)
    changed["attention_mask"] = (is_kept | is_first).to(mask.dtype)
    changed["input_ids"] = torch.where(is_first, first_token, changed["input_ids"])
    return changed


def is_along_tokens(tensor: torch.Tensor, ids: torch.Tensor) -> bool:
    """Whether an input has one whole number for each token: masks and kinds of tokens, and not pixels."""
    return tensor.ndim >= 2 and tensor.shape[:2] == ids.shape and not tensor.is_floating_point()


def _rolled(tensor: torch.Tensor, dropped: Sequence[int], width: int) -> torch.Tensor:
    """What stood at the end of a row comes to stand before it, where it is masked."""
    import torch

    if tensor.shape[1] < width:
        return tensor.new_zeros((tensor.shape[0], width, *tensor.shape[2:]))
    return torch.stack([row.roll(n, dims=0) for row, n in zip(tensor, dropped, strict=True)])
