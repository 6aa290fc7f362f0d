"""Choices read together: the same numbers as those of choices read apart, wherever a model takes that."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.request import Loglikelihood, Request
from polymeter.models.hf.scoring import score_shared
from polymeter.models.hf.scoring.loglikelihood import ContinuationScorer
from polymeter.models.hf.scoring.packed import Pack, rounds
from polymeter.models.hf.scoring.prefix import PrefixReader
from polymeter.models.hf.scoring.score_rows import ContinuationRow
from polymeter.models.hf.scoring.score_tokens import Tail
from tests.helpers.checkpoints import ARCHITECTURES
from tests.helpers.mixed_requests import mixed_requests

WORDS = ("the", "red", "square", "is", "left", "of", "three", "yellow", "A", "12", ",")
SLIDES = ("gemma3",)
"""Whose layers do not all see the whole of a prefix."""

BOTH_SIDES = ("paligemma",)
"""Whose images see what is behind them."""


class Forwards:
    """The shapes of the tokens of each forward."""

    def __init__(self, network: Any) -> None:
        self._seen: list[tuple[int, ...]] = []
        self._handle = network.register_forward_pre_hook(self._note, with_kwargs=True)

    def __enter__(self) -> list[tuple[int, ...]]:
        return self._seen

    def __exit__(self, *_: object) -> None:
        self._handle.remove()

    def _note(self, _: Any, args: Any, given: Any) -> None:
        self._seen.append(tuple(given["input_ids"].shape))


def asked(made: Any, seed: int) -> list[Request]:
    generator = random.Random(seed)

    def choices() -> tuple[str, ...]:
        texts = [" ".join(generator.choice(WORDS) for _ in range(generator.randint(1, 5))) for _ in range(4)]
        return tuple(" " + text for text in texts)

    return [Request(one.messages, Loglikelihood(choices())) for one in mixed_requests(made.traits.modalities)]


def logprobs(scorer: ContinuationScorer, requests: Sequence[Request]) -> list[list[float]]:
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
    network, can_pack = made._loaded.network, architecture not in SLIDES
    before = network.config._attn_implementation
    network.set_attn_implementation(attention)
    try:
        scorer = ContinuationScorer(made._loaded, made._encoder)
        shared = scorer.shared
        requests = asked(made, 1)
        ways = {}
        with Forwards(network) as forwards:
            scorer.score(asked(made, 0))  # computed both ways
            assert set(shared.is_whole.values()) == ({architecture not in BOTH_SIDES} if can_pack else set())
            for way, n_forwards in (("whole", 1), ("packed", 2), ("apart", 2)):
                if way == "packed":
                    shared.is_whole = dict.fromkeys(shared.is_whole, False)
                    scorer.score(asked(made, 0))
                    assert shared.is_packed is (True if can_pack else None)
                if way == "apart":
                    shared.is_packed = False
                forwards.clear()
                ways[way] = logprobs(scorer, requests)
                assert len(forwards) == (n_forwards if can_pack and architecture not in BOTH_SIDES else 2)
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
    for given in ways.values():
        assert_same(given, choices)


def test_choices_that_fill_several_packs(model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = model("llava")
    scorer = ContinuationScorer(made._loaded, made._encoder)
    whole = [logprobs(scorer, asked(made, 2)) for _ in range(2)][1]
    monkeypatch.setattr(score_shared, "WHOLE_TOKENS", 0)
    for most in (512, 512, 13, 3):  # the first is computed both ways, and the last is too few for the longest choice
        monkeypatch.setattr(score_shared, "PACK_TOKENS", most)
        assert_same(logprobs(scorer, asked(made, 2)), whole)
    assert scorer.shared.is_packed


def test_letters_keep_no_cache_once_the_model_is_known(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model("llava")
    scorer = ContinuationScorer(made._loaded, made._encoder)
    pictured = [one for one in asked(made, 2) if list(one.images())][:2]
    letters = [replace(one, parameters=Loglikelihood(("A", "B"))) for one in pictured]
    before = logprobs(scorer, letters)
    scorer.score(pictured)
    read, kept = PrefixReader.read, []

    def watched(self: Any, inputs: Any, **given: Any) -> Any:
        kept.append(given)
        return read(self, inputs, **given)

    monkeypatch.setattr(PrefixReader, "read", watched)
    assert_same(logprobs(scorer, letters), before)
    assert kept == [{"keeps_cache": False}]


def test_one_kind_of_batch_says_nothing_about_another(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model("llava")
    scorer = ContinuationScorer(made._loaded, made._encoder)
    monkeypatch.setattr(PrefixReader, "read_whole", lambda *_: 1 / 0)
    mixed = asked(made, 2)
    scorer.score([one for one in mixed if not list(one.images())])
    monkeypatch.undo()
    for _ in range(2):
        scorer.score(mixed)
    assert sorted(scorer.shared.is_whole.values()) == [False, True]


def test_a_model_that_does_not_heed_the_mask_is_not_packed(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model("llama")
    scorer = ContinuationScorer(made._loaded, made._encoder)
    expected = logprobs(scorer, asked(made, 3))
    for change in (lambda mask: mask * 0, lambda mask: mask[:, 0].nonsense):
        network = made._loaded.network
        forward = network.forward

        def changed(*args: Any, change: Any = change, forward: Any = forward, **given: Any) -> Any:
            if given["attention_mask"].dim() == 4:
                given["attention_mask"] = change(given["attention_mask"])
            return forward(*args, **given)

        scorer = ContinuationScorer(made._loaded, made._encoder)
        monkeypatch.setattr(network, "forward", changed)
        for _ in range(3):
            assert_same(logprobs(scorer, asked(made, 3)), expected)
        assert not any(scorer.shared.is_whole.values())
        assert not scorer.shared.is_packed
        monkeypatch.undo()


def test_packs_hold_so_many_tokens_and_stand_in_rounds() -> None:
    rows = [
        ContinuationRow(0, Tail((1,) * 4)),
        ContinuationRow(0, Tail((1,) * 3)),
        ContinuationRow(1, Tail((1,) * 6)),
        ContinuationRow(0, Tail((1,) * 3)),
    ]
    assert rounds([2, 0, 1, 3], rows, 5) == [[Pack(1, (2,)), Pack(0, (0, 1))], [Pack(0, (3,))]]
    assert rounds([2, 0, 1, 3], rows, 99) == [[Pack(1, (2,)), Pack(0, (0, 1, 3))]]


def test_a_model_whose_attention_is_not_known_is_read_apart(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model("llava")
    expected = logprobs(ContinuationScorer(made._loaded, made._encoder), asked(made, 2))
    with monkeypatch.context() as another_version:
        another_version.setattr(made._loaded.network.config, "get_text_config", lambda **_: SimpleNamespace())
        scorer = ContinuationScorer(made._loaded, made._encoder)
    assert_same(logprobs(scorer, asked(made, 2)), expected)
    assert scorer.shared.is_packed is None
