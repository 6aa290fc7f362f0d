"""Log-probabilities by one forward over context and continuation, for models whose cache cannot be shared.

Slower, but correct for every causal model, also with recurrent states: one request at a time, so that only the ends of
tails are padded, which no earlier token sees. Continuations that differ only in their last token, as letters do, share
a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.scoring.score_rows import (
    LOGIT_BYTES,
    ContinuationRow,
    RowScores,
    accepted,
    is_along_tokens,
    right_padded,
    shifted,
    vocabulary,
)
from polymeter.models.hf.scoring.score_tokens import Split

if TYPE_CHECKING:
    import torch

PLAIN_TOKENS: Final = 16_384
"""Maximum tokens of one forward."""


def score_plain(
    model: Any,
    copies: Callable[[int], Mapping[str, torch.Tensor]],
    split: Split,
    first_token: int,
    softmax_dtype: str = "",
) -> list[ChoiceLogprob]:
    """Score every continuation of one request.

    Args:
        model: A Transformers model.
        copies: Returns the encoded context as a batch of that many equal rows, media included.
        split: The part of the context that the continuations share, and the tails.
        first_token: Token of an otherwise empty prefix.
        softmax_dtype: See ``RowScores``.
    """
    rows = [ContinuationRow(0, tail) for tail in split.tails]
    waiting: dict[tuple[int, ...], list[int]] = {}
    for number, row in enumerate(rows):
        if row.tail.tokens:
            waiting.setdefault(row.tail.tokens[:-1], []).append(number)
    scores: RowScores | None = None
    feds = sorted(waiting, key=len, reverse=True)
    while feds:
        width = len(feds[0]) + 1
        n_taken = _n_rows(model, split.n_context + width, width, len(feds))
        taken, feds = feds[:n_taken], feds[n_taken:]
        prefix = trimmed(shifted(copies(n_taken), [split.n_dropped] * n_taken, first_token))
        logits = _logits(model, prefix, taken, width)
        if scores is None:
            scores = RowScores(len(rows), logits.device, softmax_dtype)
        numbers = [number for fed in taken for number in waiting[fed]]
        of = [position for position, fed in enumerate(taken) for _ in waiting[fed]]
        tokens, _, is_scored = right_padded([rows[number].tail for number in numbers])
        scores.add(numbers, logits, tokens, is_scored, of)
    if scores is None:
        return [ChoiceLogprob(0.0, True, 0) for _ in rows]
    return scores.result(rows)


def trimmed(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Equal rows without the padding on their left."""
    ids, start = inputs["input_ids"], int(inputs["attention_mask"][0].argmax())
    return {name: tensor[:, start:] if is_along_tokens(tensor, ids) else tensor for name, tensor in inputs.items()}


def extended(
    inputs: Mapping[str, torch.Tensor], tokens: torch.Tensor, is_real: torch.Tensor
) -> dict[str, torch.Tensor]:
    """A batch with further tokens at its end. Other inputs with a value per token are 0 for them, which means text.

    Args:
        inputs: The batch.
        tokens: Shape ``(rows, n)``.
        is_real: Which of them are not padding, shape ``(rows, n)``.
    """
    import torch

    ids = inputs["input_ids"]
    ends = {"input_ids": tokens, "attention_mask": is_real}

    def end(name: str, tensor: torch.Tensor) -> torch.Tensor:
        zeros = tensor.new_zeros((len(tokens), tokens.shape[1], *tensor.shape[2:]))
        return ends[name].to(tensor) if name in ends else zeros

    return {
        name: torch.cat([tensor, end(name, tensor)], dim=1) if is_along_tokens(tensor, ids) else tensor
        for name, tensor in inputs.items()
    }


def _logits(
    model: Any, prefix: Mapping[str, torch.Tensor], feds: Sequence[tuple[int, ...]], width: int
) -> torch.Tensor:
    """Logits after the prefix and after each token that follows it, shape ``(rows, width, vocabulary)``."""
    import torch

    tokens = torch.tensor([(*fed, *[0] * (width - 1 - len(fed))) for fed in feds], dtype=torch.long)
    is_real = torch.arange(width - 1) < torch.tensor([[len(fed)] for fed in feds])
    given: dict[str, Any] = {**extended(prefix, tokens, is_real), "use_cache": False}
    if "logits_to_keep" in accepted(model):
        given["logits_to_keep"] = width
    return model(**given).logits[:, -width:]


def _n_rows(model: Any, length: int, width: int, most: int) -> int:
    n_logits = LOGIT_BYTES // (4 * width * vocabulary(model))
    return max(1, min(most, PLAIN_TOKENS // length, n_logits))
