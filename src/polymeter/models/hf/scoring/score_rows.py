"""Steps that all ways of scoring share: lay tokens out in batches (prefixes against the right edge, tails against the
left), read log-probabilities off logits, and add them up row by row.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.scoring.score_tokens import Tail

if TYPE_CHECKING:
    import torch

LOGIT_BYTES: Final = 1 << 28
"""Maximum bytes of float32 logits at a time."""


@dataclass(frozen=True, slots=True)
class ContinuationRow:
    """One continuation of one request.

    Attributes:
        request: Position of the request in the batch.
        tail: The tokens after the prefix.
    """

    request: int
    tail: Tail

    @property
    def n_read(self) -> int:
        """The number of the tail's tokens that are read: all but the last, behind which nothing is scored."""
        return max(0, len(self.tail.tokens) - 1)


def longest_first(rows: Sequence[ContinuationRow]) -> list[int]:
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
    """Encoded contexts without the tokens at their ends that are not shared, padded on the left again.

    Args:
        inputs: The contexts, padded on the left.
        dropped: For each, how many tokens to drop at its end.
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
    # roll() moves the dropped tokens from the end of a row to its beginning, where they are masked.
    is_kept = places >= ids.shape[1] - n_left[:, None]
    is_first = (n_left <= 0)[:, None] & (places == ids.shape[1] - 1)
    changed["attention_mask"] = (is_kept | is_first).to(mask.dtype)
    changed["input_ids"] = torch.where(is_first, first_token, changed["input_ids"])
    return changed


def is_along_tokens(tensor: torch.Tensor, ids: torch.Tensor) -> bool:
    """Return whether an input has one integer per token, as masks and token types have and pixels do not."""
    return getattr(tensor, "ndim", 0) >= 2 and tensor.shape[:2] == ids.shape and not tensor.is_floating_point()


class RowScores:
    """Running sums of the log-probabilities of rows.

    In a type of less than single precision each log-probability is rounded to it, and the sum of a row once more, so
    that tokens and rows that differ by less are equal.

    Args:
        n_rows: Number of rows.
        device: Where the logits are.
        softmax_dtype: The name of the type in which log-probabilities are computed; ``auto``: that of the logits;
            empty: single precision, or double if that is the type of the logits.
    """

    def __init__(self, n_rows: int, device: Any, softmax_dtype: str = "") -> None:
        import torch

        self._softmax_dtype = softmax_dtype
        self._rounded_to = torch.float32
        self._logprobs = torch.zeros(n_rows, dtype=torch.float32, device=device)
        self._greedy = torch.ones(n_rows, dtype=torch.bool, device=self._logprobs.device)

    def add(
        self,
        rows: Sequence[int],
        logits: torch.Tensor,
        tokens: torch.Tensor,
        is_scored: torch.Tensor,
        of: Sequence[int] | None = None,
        places: torch.Tensor | None = None,
    ) -> None:
        """Add the log-probabilities of tokens.

        Args:
            rows: Numbers of the ``r`` rows.
            logits: Shape ``(n, s, vocabulary)``; position ``j`` predicts ``tokens[:, j]``.
            tokens: Shape ``(r, s)``.
            is_scored: Which of the tokens count, shape ``(r, s)``.
            of: For each row, which of the ``n`` logits are its own; default: ``n`` is ``r``, in order.
            places: Which position of its logits predicts each token, shape ``(r, s)``; default: they are in order.
        """
        import torch

        device, dtype = self._logprobs.device, self._dtype_for(logits)
        if dtype is torch.float64:
            self._logprobs = self._logprobs.double()
        is_rounded = dtype not in (torch.float32, torch.float64)
        if is_rounded:
            self._rounded_to = dtype
            logits = logits.log_softmax(-1, dtype=dtype)
        else:
            logits = logits.to(dtype)
        tokens = tokens.to(logits.device)
        place = torch.arange(tokens.shape[1], device=logits.device) if places is None else places.to(logits.device)
        own = torch.tensor(range(len(rows)) if of is None else of, device=logits.device)[:, None]
        logprobs = logits[own, place, tokens]
        logprobs = logprobs.float() if is_rounded else logprobs - logits.logsumexp(-1)[own, place]
        is_greedy = (logits.argmax(-1)[own, place] == tokens).to(device)
        is_scored = is_scored.to(device)
        number = torch.tensor(rows, device=device)
        self._logprobs[number] += logprobs.to(device).masked_fill(~is_scored, 0.0).sum(-1)
        self._greedy[number] &= (is_greedy | ~is_scored).all(-1)

    def add_first(self, rows: Sequence[ContinuationRow], last: torch.Tensor) -> None:
        """Add the log-probabilities of the first tokens of all tails.

        Args:
            rows: All rows, in order.
            last: Logits after each prefix, shape ``(requests, vocabulary)``.
        """
        import torch

        begun = [number for number, row in enumerate(rows) if row.tail.tokens]
        if not begun:
            return
        tails = [rows[number].tail for number in begun]
        tokens = torch.tensor([[tail.tokens[0]] for tail in tails])
        is_scored = torch.tensor([[tail.n_context == 0] for tail in tails])
        self.add(begun, last[:, None], tokens, is_scored, [rows[number].request for number in begun])

    def sums(self) -> list[tuple[float, bool]]:
        """For each row the sum, and whether every token was the likeliest."""
        import torch

        logprobs = self._logprobs
        if self._rounded_to is not torch.float32:
            logprobs = logprobs.to(self._rounded_to)
        return list(zip(logprobs.tolist(), self._greedy.tolist(), strict=True))

    def result(self, rows: Sequence[ContinuationRow]) -> list[ChoiceLogprob]:
        """One score per row, in order."""
        pairs = zip(self.sums(), rows, strict=True)
        return [ChoiceLogprob(logprob, is_greedy, row.tail.n_scored) for (logprob, is_greedy), row in pairs]

    def _dtype_for(self, logits: torch.Tensor) -> torch.dtype:
        import torch

        if self._softmax_dtype == "auto":
            return logits.dtype
        if self._softmax_dtype:
            stated: torch.dtype = getattr(torch, self._softmax_dtype)
            return stated
        # A user who computes in double precision needs its digits.
        return torch.float64 if logits.dtype is torch.float64 else torch.float32


def vocabulary(model: Any) -> int:
    """Width of the model's logits."""
    return int(model.config.get_text_config(decoder=True).vocab_size)


def accepted(model: Any) -> frozenset[str]:
    """Names of the arguments of the model's forward; an adapter around it passes on what it does not know."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return frozenset(inspect.signature(inner.forward).parameters)


def _widened(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """One masked token per row for a batch whose contexts are all empty, for which tokenizers return any type."""
    import torch

    n_rows = len(inputs["input_ids"])
    empty = torch.zeros(n_rows, 1, dtype=torch.long, device=inputs["input_ids"].device)
    return {name: tensor for name, tensor in inputs.items() if tensor.numel()} | {
        "input_ids": empty,
        "attention_mask": empty.clone(),
    }
