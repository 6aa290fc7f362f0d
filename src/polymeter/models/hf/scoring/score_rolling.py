"""Log-probabilities of whole texts, for perplexities: each token of a text is scored once.

A text that is longer than the model's window is read in windows that follow each other without an overlap of what they
score; the last one, which is shorter, is filled up with the tokens before it. These are the windows of EleutherAI's
lm-evaluation-harness (``get_rolling_token_windows`` and ``make_disjoint_window``), so that perplexities are comparable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.scoring.score_rows import LOGIT_BYTES, RowScores, accepted, right_padded, vocabulary
from polymeter.models.hf.scoring.score_tokens import Tail


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens that are read together.

    Attributes:
        context: At least one token, which is read and not scored.
        scored: The tokens that follow it.
    """

    context: tuple[int, ...]
    scored: tuple[int, ...]


def windows(tokens: Sequence[int], first: int, longest: int) -> list[Window]:
    """A text in windows, each of its tokens scored in one of them.

    Args:
        tokens: Of the text.
        first: The token that the text's first one is predicted from.
        longest: Maximum tokens that are read in a window; 0: unlimited.
    """
    most = longest or max(1, len(tokens))
    read = (first, *tokens)
    found = []
    for start in range(0, len(tokens), most):
        stop = min(start + most, len(tokens))
        # Behind the first window, as many tokens are read as fit; what is scored is as far behind in ``read`` by one.
        begin = 0 if start == 0 else stop - most
        found.append(Window(read[begin : start + 1], tuple(tokens[start:stop])))
    return found


def score_windows(model: Any, texts: Sequence[Sequence[Window]], softmax_dtype: str = "") -> list[ChoiceLogprob]:
    """Score texts.

    Args:
        model: A Transformers decoder.
        texts: Each as its windows.
        softmax_dtype: See ``RowScores``.

    Returns:
        For each text the sum over all of its tokens, whether all are the likeliest, and how many there are.
    """
    import torch

    rows = [window for own in texts for window in own]
    scores = RowScores(len(rows), model.device, softmax_dtype)
    waiting = sorted(range(len(rows)), key=lambda number: -_n_read(rows[number]))
    takes_places = "position_ids" in accepted(model)
    while waiting:
        width = _n_read(rows[waiting[0]])
        n_taken = max(1, LOGIT_BYTES // (4 * width * vocabulary(model)))
        taken, waiting = waiting[:n_taken], waiting[n_taken:]
        tails = [Tail((*rows[number].context, *rows[number].scored), len(rows[number].context)) for number in taken]
        tokens, is_real, is_scored = right_padded(tails)
        given: dict[str, Any] = {
            "input_ids": tokens[:, :-1].to(model.device),
            "attention_mask": is_real[:, 1:].long().to(model.device),
            "use_cache": False,
        }
        if takes_places:
            given["position_ids"] = torch.arange(width, device=model.device).expand(len(taken), -1)
        scores.add(taken, model(**given).logits, tokens[:, 1:], is_scored[:, 1:])
    summed = iter(scores.sums())
    return [_together([next(summed) for _ in own], own) for own in texts]


def _n_read(window: Window) -> int:
    return len(window.context) + len(window.scored) - 1


def _together(parts: Sequence[tuple[float, bool]], own: Sequence[Window]) -> ChoiceLogprob:
    """Windows' scores as the text's; an empty text has probability 1."""
    return ChoiceLogprob(
        sum(logprob for logprob, _ in parts),
        all(is_greedy for _, is_greedy in parts),
        sum(len(window.scored) for window in own),
    )
