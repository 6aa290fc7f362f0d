"""Settings that look back at the prompt: they are shown each row's own tokens.

Transformers shows them whatever stands in a row, padding included. The token that fills rows up, which is often the one
that ends answers, would then be as good as said in some rows of a batch and not in others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

# With the value that changes nothing, in the order in which Transformers applies them.
PENALTIES = {
    "encoder_repetition_penalty": 1,
    "repetition_penalty": 1,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "min_length": 0,
}


class OwnTokens:
    """A logits processor that applies penalties to each row without the padding around its prompt.

    Args:
        penalties: Values by names of ``PENALTIES``.
        inputs: The batch: ``input_ids`` and ``attention_mask`` of shape ``(rows, length)``.
        eos_ids: Tokens that end an answer.
        is_apart: Whether answers begin rows of their own, behind an encoder.
    """

    def __init__(
        self, penalties: Mapping[str, Any], inputs: Mapping[str, Any], eos_ids: Sequence[int], *, is_apart: bool
    ) -> None:
        ids, is_own = inputs["input_ids"], inputs["attention_mask"].bool()
        self._n_before = [0] * len(ids) if is_apart else is_own.int().argmax(dim=1).tolist()
        self._of_rows = [_processors(penalties, row[own][None], eos_ids) for row, own in zip(ids, is_own, strict=True)]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores of shape ``(rows × beams, vocabulary)``, penalised."""
        import torch

        n_beams = len(scores) // len(self._of_rows)
        penalised = []
        for place in range(len(scores)):
            row = place // n_beams
            own, score = input_ids[place : place + 1, self._n_before[row] :], scores[place : place + 1]
            for processor in self._of_rows[row]:
                score = processor(own, score)
            penalised.append(score)
        return torch.cat(penalised)


def _processors(penalties: Mapping[str, Any], prompt: Any, eos_ids: Sequence[int]) -> list[Callable[..., Any]]:
    import transformers as hf

    makers: dict[str, Callable[[Any], Callable[..., Any]]] = {
        "encoder_repetition_penalty": lambda value: hf.EncoderRepetitionPenaltyLogitsProcessor(float(value), prompt),
        "repetition_penalty": lambda value: hf.RepetitionPenaltyLogitsProcessor(float(value)),
        "no_repeat_ngram_size": hf.NoRepeatNGramLogitsProcessor,
        "encoder_no_repeat_ngram_size": lambda value: hf.EncoderNoRepeatNGramLogitsProcessor(value, prompt),
        "min_length": lambda value: hf.MinLengthLogitsProcessor(value, list(eos_ids), device=str(prompt.device)),
    }
    return [makers[name](penalties[name]) for name in PENALTIES if name in penalties]
