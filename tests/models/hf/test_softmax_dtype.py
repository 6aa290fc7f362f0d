"""In which type log-probabilities are computed, of a checkpoint in half precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from polymeter.core.content import Text
from polymeter.core.errors import PlanError
from polymeter.core.names.parity import parity_with
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Message, Request
from polymeter.models.hf import HfModel
from polymeter.models.hf.scoring.score_rows import RowScores
from tests.helpers.differences import difference

LETTERS = [*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]
QUESTION = "Which letter comes next?"
TEXT = "the red square is left of a circle, three yellow"
WAYS = ("shared", "plain")


def loaded(folder: Path, parity: str = "none", **options: Any) -> HfModel:
    made = HfModel(str(folder), dtype="bfloat16", **options)
    made.parity = parity_with(parity)
    made.load()
    return made


def scored(model: HfModel, texts: Sequence[str], *, is_rolling: bool = False) -> Sequence[ChoiceLogprob]:
    message = Message("user", (Text("" if is_rolling else QUESTION),))
    (response,) = model.respond([Request((message,), Loglikelihood(tuple(texts), is_rolling=is_rolling))])
    return response.outputs[0].logprobs


def logits_behind(model: Any, tokens: Sequence[int]) -> Any:
    with torch.inference_mode():
        return model._loaded.network(torch.tensor([list(tokens)])).logits[0]


def has_only(scores: Sequence[ChoiceLogprob], dtype: Any) -> bool:
    """Whether all log-probabilities are numbers of that type."""
    values = torch.tensor([one.logprob for one in scores])
    return bool((values.to(dtype).float() == values).all())


@pytest.mark.parametrize("way", WAYS)
@difference("softmax-dtype", here=torch.float32, there=torch.bfloat16)
def test_letters_have_log_probabilities_of_that_type(
    checkpoint: Callable[..., Path], way: Any, parity: str, expected: Any
) -> None:
    model = loaded(checkpoint("llama", has_template=False), parity)
    model._scorer.way = way  # type: ignore[union-attr]
    tokenizer = model._loaded.tokenizer  # type: ignore[union-attr]
    logprobs = logits_behind(model, tokenizer(QUESTION)["input_ids"])[-1].log_softmax(-1, dtype=expected)
    own = [tokenizer(letter, add_special_tokens=False)["input_ids"][0] for letter in LETTERS]

    given = scored(model, LETTERS)

    assert [one.logprob for one in given] == pytest.approx([float(logprobs[token]) for token in own], abs=0.1)
    is_rounded = expected is torch.bfloat16
    assert has_only(given, torch.bfloat16) is is_rounded
    assert (len({one.logprob for one in given}) < len(LETTERS) - 10) is is_rounded, "many are equal"


@difference("softmax-dtype", here=torch.float32, there=torch.bfloat16)
def test_a_whole_text_has_the_sum_of_that_type(checkpoint: Callable[..., Path], parity: str, expected: Any) -> None:
    model = loaded(checkpoint("llama", has_template=False), parity)
    tokens = model._loaded.tokenizer(TEXT)["input_ids"]  # type: ignore[union-attr]
    logits = logits_behind(model, [model._scorer._first, *tokens[:-1]])  # type: ignore[union-attr]
    logprobs = logits.log_softmax(-1, dtype=expected).gather(1, torch.tensor(tokens)[:, None])
    (one,) = scored(model, [TEXT], is_rolling=True)
    assert one.logprob == pytest.approx(float(logprobs.sum()), abs=0.02 * len(tokens))
    assert has_only([one], torch.bfloat16) is (expected is torch.bfloat16)


@pytest.mark.parametrize(("told", "is_rounded"), [("", False), ("float32", False), ("auto", True), ("bfloat16", True)])
def test_a_stated_type_wins_over_parity(checkpoint: Callable[..., Path], told: str, is_rounded: bool) -> None:
    parity = "none" if told != "float32" else "lm-eval"
    model = loaded(checkpoint("llama", has_template=False), parity, softmax_dtype=told)
    assert has_only(scored(model, LETTERS), torch.bfloat16) is is_rounded
    assert model.identity.get("softmax_dtype", "") == told, "it is part of what the model is"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_are_rounded_once_and_ties_go_to_the_first_token(dtype: Any) -> None:
    logits = (torch.randn(3, 7, 50, generator=torch.Generator().manual_seed(0)) * 4).to(dtype)
    logprobs = logits.log_softmax(-1)
    tokens = logprobs.argmax(-1)
    tokens[1, 3] = (tokens[1, 3] + 1) % 50
    scores = RowScores(3, "cpu", "auto")
    for part in (slice(0, 2), slice(2, 7)):
        scores.add([0, 1, 2], logits[:, part], tokens[:, part], torch.ones_like(tokens[:, part], dtype=torch.bool))
    expected = logprobs.gather(2, tokens[..., None])[..., 0].sum(-1)
    assert scores.sums() == [(float(value), row != 1) for row, value in enumerate(expected)]


def test_an_unknown_type_is_refused(checkpoint: Callable[..., Path]) -> None:
    with pytest.raises(PlanError, match="'softmax_dtype' cannot be 'bfloat'"):
        loaded(checkpoint("llama"), softmax_dtype="bfloat")
