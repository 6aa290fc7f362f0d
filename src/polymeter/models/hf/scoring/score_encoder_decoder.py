"""Log-probabilities of an encoder-decoder: the context is encoded once, and the continuation is scored as the decoder's
output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.scoring.score_rows import (
    LOGIT_BYTES,
    ContinuationRow,
    RowScores,
    longest_first,
    right_padded,
    vocabulary,
)
from polymeter.models.hf.scoring.score_tokens import Split

if TYPE_CHECKING:
    import torch


def score_encoder_decoder(
    model: Any,
    inputs: Mapping[str, torch.Tensor],
    splits: Sequence[Split],
    start: Sequence[int],
    softmax_dtype: str = "",
) -> list[list[ChoiceLogprob]]:
    """Score every continuation of every request with one encoding of each context.

    Args:
        model: A Transformers model with an encoder and a decoder.
        inputs: The encoder's inputs.
        splits: The continuations as tails; none of them shares a token with the context.
        start: Tokens that the decoder begins with.
        softmax_dtype: See ``RowScores``.

    Returns:
        For each request one score for each of its tails.
    """
    import torch

    rows = [ContinuationRow(request, tail) for request, split in enumerate(splits) for tail in split.tails]
    begin = torch.tensor([list(start)]).expand(len(splits), -1)
    output = model(**inputs, decoder_input_ids=begin.to(model.device), use_cache=False)
    scores = RowScores(len(rows), output.logits.device, softmax_dtype)
    scores.add_first(rows, output.logits[:, -1])
    heard, longer = output.encoder_last_hidden_state, longest_first(rows)
    while longer:
        width = len(start) + len(rows[longer[0]].tail.tokens) - 1
        n_taken = max(1, LOGIT_BYTES // (4 * width * vocabulary(model)))
        taken, longer = longer[:n_taken], longer[n_taken:]
        tokens, _, is_scored = right_padded([rows[number].tail for number in taken])
        fed = torch.cat([torch.tensor([list(start)]).expand(len(taken), -1), tokens[:, :-1]], dim=1)
        of = torch.tensor([rows[number].request for number in taken], device=heard.device)
        logits = _decode(model, inputs.get("attention_mask"), heard[of], of, fed.to(heard.device))
        scores.add(taken, logits[:, len(start) :], tokens[:, 1:], is_scored[:, 1:])
    results = iter(scores.result(rows))
    return [[next(results) for _ in split.tails] for split in splits]


def start_tokens(model: Any, tokenizer: Any) -> list[int]:
    """The tokens that the decoder begins with: a speech model's language and task, else the start token alone."""
    prefix = getattr(tokenizer, "prefix_tokens", None)
    config = model.generation_config
    start = getattr(config, "decoder_start_token_id", None)
    if start is None:
        start = getattr(model.config, "decoder_start_token_id", None)
    if prefix and start is not None and prefix[0] == start:
        return list(prefix)
    if start is None:
        start = next(token for token in (tokenizer.bos_token_id, tokenizer.pad_token_id, 0) if token is not None)
    return [int(start)]


def _decode(
    model: Any, mask: torch.Tensor | None, heard: torch.Tensor, of: torch.Tensor, fed: torch.Tensor
) -> torch.Tensor:
    """Logits at every position of the decoder's input; padding is at the ends, where nothing sees it."""
    from transformers.modeling_outputs import BaseModelOutput

    given: dict[str, Any] = {"encoder_outputs": BaseModelOutput(last_hidden_state=heard)}
    if mask is not None:
        given["attention_mask"] = mask[of]
    return model(**given, decoder_input_ids=fed, use_cache=False).logits
