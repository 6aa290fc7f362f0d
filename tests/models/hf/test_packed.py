"""Choices read as one sequence: the same numbers as those of choices read apart, wherever a model takes that."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from polymeter.core.request import Loglikelihood, Request
from polymeter.models.hf import packed
from polymeter.models.hf.loglikelihood import Scorer
from polymeter.models.hf.packed import Pack, rounds
from polymeter.models.hf.score_rows import Row
from polymeter.models.hf.score_tokens import Tail
from tests.helpers.checkpoints import ARCHITECTURES
from tests.helpers.mixed_requests import mixed_requests

WORDS = ("the", "red", "square", "is", "left", "of", "three", "yellow", "A", "12", ",")
SLIDES = ("gemma3",)
"""Whose layers do not all see the whole of a prefix."""


def asked(made: Any, seed: int) -> list[Request]:
    generator = random.Random(seed)

    def choices() -> tuple[str, ...]:
        texts = [" ".join(generator.choice(WORDS) for _ in range(generator.randint(1, 5))) for _ in range(4)]
        return tuple(" " + text for text in texts)

    return [Request(one.messages, Loglikelihood(choices())) for one in mixed_requests(made.traits.modalities)]


def logprobs(scorer: Scorer, requests: Sequence[Request]) -> list[list[float]]:
    responses = scorer.score(requests)
    assert [one.error for one in responses] == [None] * len(requests)
    return [[one.logprob for one in response.outputs[0].logprobs] for response in responses]


def assert_same(given: Sequence[Sequence[float]], expected: Sequence[Sequence[float]]) -> None:
    for one, other in zip(given, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "whisper"])
def test_packed_choices_score_as_each_alone(model: Callable[..., Any], architecture: str, attention: str) -> None:
    made = model(architecture)
    network = made._loaded.network
    before = network.config._attn_implementation
    network.set_attn_implementation(attention)
    try:
        scorer = Scorer(made._loaded, made._encoder)
        scorer.score(asked(made, 0))  # computed both ways
        requests = asked(made, 1)
        together = logprobs(scorer, requests)
        assert scorer.packer.is_used is (architecture not in SLIDES)
        scorer.packer.is_used = False
        apart = logprobs(scorer, requests)
        choices = [
            [
                logprobs(scorer, [Request(one.messages, Loglikelihood((text,)))])[0][0]
                for text in one.parameters.continuations
            ]
            for one in requests
            if isinstance(one.parameters, Loglikelihood)
        ]
    finally:
        network.set_attn_implementation(before)
    assert_same(together, apart)
    assert_same(together, choices)


def test_choices_that_fill_several_packs(model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = model("llava")
    scorer = Scorer(made._loaded, made._encoder)
    whole = [logprobs(scorer, asked(made, 2)) for _ in range(2)][1]
    monkeypatch.setattr(packed, "PACK_TOKENS", 13)
    assert_same(logprobs(scorer, asked(made, 2)), whole)
    monkeypatch.setattr(packed, "PACK_TOKENS", 3)  # too few for the longest choice
    assert_same(logprobs(scorer, asked(made, 2)), whole)


def test_a_model_that_does_not_heed_the_mask_is_not_packed(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model("llama")
    scorer = Scorer(made._loaded, made._encoder)
    expected = logprobs(scorer, asked(made, 3))
    for change in (lambda mask: mask * 0, lambda mask: mask[:, 0].nonsense):
        network = made._loaded.network
        forward = network.forward

        def changed(*args: Any, change: Any = change, forward: Any = forward, **given: Any) -> Any:
            if given["attention_mask"].dim() == 4:
                given["attention_mask"] = change(given["attention_mask"])
            return forward(*args, **given)

        scorer = Scorer(made._loaded, made._encoder)
        monkeypatch.setattr(network, "forward", changed)
        for _ in range(2):
            assert_same(logprobs(scorer, asked(made, 3)), expected)
        assert not scorer.packer.is_used
        monkeypatch.undo()


def test_packs_hold_so_many_tokens_and_stand_in_rounds() -> None:
    rows = [Row(0, Tail((1,) * 4)), Row(0, Tail((1,) * 3)), Row(1, Tail((1,) * 6)), Row(0, Tail((1,) * 3))]
    assert rounds([2, 0, 1, 3], rows, 5) == [[Pack(1, (2,)), Pack(0, (0, 1))], [Pack(0, (3,))]]
    assert rounds([2, 0, 1, 3], rows, 99) == [[Pack(1, (2,)), Pack(0, (0, 1, 3))]]
