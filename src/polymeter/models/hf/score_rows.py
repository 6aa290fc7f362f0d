"""What every way of scoring does alike: read log-probabilities off logits and add them up, row by row."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.prefix_layout import Row

if TYPE_CHECKING:
    import torch

LOGIT_BYTES: Final = 1 << 28
"""Most bytes of float32 logits at a time."""


class RowScores:
    """Sums that grow as the tokens of rows are read.

    Args:
        n_rows: How many.
        device: Where the logits are.
    """

    def __init__(self, n_rows: int, device: Any) -> None:
        import torch

        self._logprobs = torch.zeros(n_rows, dtype=torch.float32, device=device)
        self._greedy = torch.ones(n_rows, dtype=torch.bool, device=self._logprobs.device)

    def add(
        self,
        rows: Sequence[int],
        logits: torch.Tensor,
        tokens: torch.Tensor,
        is_scored: torch.Tensor,
        of: Sequence[int] | None = None,
    ) -> None:
        """Add what the logits say of tokens.

        Args:
            rows: Which rows, ``r`` of them.
            logits: Shape ``(n, s, vocabulary)``; position ``j`` predicts ``tokens[:, j]``.
            tokens: Shape ``(r, s)``.
            is_scored: Which of the tokens count, shape ``(r, s)``.
            of: For each row which of the ``n`` logits are its own; default: ``n`` is ``r``, in order.
        """
        import torch

        device = self._logprobs.device
        logits = logits.float()
        tokens = tokens.to(logits.device)
        places = torch.arange(tokens.shape[1], device=logits.device)
        own = torch.tensor(range(len(rows)) if of is None else of, device=logits.device)
        logprobs = logits[own[:, None], places, tokens] - logits.logsumexp(-1)[own]
        is_greedy = (logits.argmax(-1)[own] == tokens).to(device)
        is_scored = is_scored.to(device)
        number = torch.tensor(rows, device=device)
        self._logprobs[number] += logprobs.to(device).masked_fill(~is_scored, 0.0).sum(-1)
        self._greedy[number] &= (is_greedy | ~is_scored).all(-1)

    def add_first(self, rows: Sequence[Row], last: torch.Tensor) -> None:
        """Add what the logits after each prefix say of the first tokens of all tails.

        Args:
            rows: All rows, in order.
            last: Shape ``(requests, vocabulary)``.
        """
        import torch

        begun = [number for number, row in enumerate(rows) if row.tail.tokens]
        if not begun:
            return
        tails = [rows[number].tail for number in begun]
        tokens = torch.tensor([[tail.tokens[0]] for tail in tails])
        is_scored = torch.tensor([[tail.n_context == 0] for tail in tails])
        self.add(begun, last[:, None], tokens, is_scored, [rows[number].request for number in begun])

    def result(self, rows: Sequence[Row]) -> list[ChoiceLogprob]:
        """One score for each row, in order."""
        pairs = zip(self._logprobs.tolist(), self._greedy.tolist(), rows, strict=True)
        return [ChoiceLogprob(logprob, is_greedy, row.tail.n_scored) for logprob, is_greedy, row in pairs]


def vocabulary(model: Any) -> int:
    """Width of the model's logits."""
    return int(model.config.get_text_config(decoder=True).vocab_size)


def accepted(model: Any) -> frozenset[str]:
    """Names that the model's forward takes; an adapter around it hands on what it does not know."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return frozenset(inspect.signature(inner.forward).parameters)
