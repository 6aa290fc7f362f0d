"""Helpers of model files around torch, which is imported only when one is called."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Any


def get_dtype(dtype: Any) -> Any:
    """A type of torch by its name; ``auto`` and types as they are."""
    if not isinstance(dtype, str) or dtype == "auto":
        return dtype
    import torch

    return getattr(torch, dtype)


def clear_torch_cache() -> None:
    """Free what torch no longer needs, if torch is in use."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.cuda.empty_cache()


def pad_and_concat(max_length: int, tensors: Sequence[Any], padding_side: str = "right") -> Any:
    """Tensors of tokens, ``(n,)`` or ``(1, n)``, as rows of one, padded with zeros to ``max_length`` on one side."""
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
    """Looks for a text at the end of what was generated; true once every row has shown it. Two tokens more than the
    text takes are read, since it may be generated in other tokens than it is encoded in.
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
    """Stopping criteria for ``generate`` of Transformers, one for each text: every row has shown it."""
    from transformers import StoppingCriteriaList

    return StoppingCriteriaList(
        [MultiTokenEOSCriteria(text, tokenizer, initial_decoder_input_length, batch_size) for text in stop_sequences]
    )
