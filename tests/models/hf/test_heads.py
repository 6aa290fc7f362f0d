"""Prompts that begin alike: their common beginning is read once, and no number changes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.scoring.score_shared import SharedScorer
from polymeter.models.hf.scoring.score_tokens import Split
from tests.models.hf.test_loglikelihood_ways import (
    BASE,
    BLOOM,
    GPT2,
    WINDOW,
    assert_close,
    batch,
    drawn,
    made,
    tokens,
    whole,
)

MISTRAL = {**BASE, "num_key_value_heads": 2, "sliding_window": None}
NETWORKS = [("gpt2", GPT2), ("bloom", BLOOM), ("mistral", MISTRAL)]


class Reads:
    """Counts the tokens that a network reads, padding included."""

    def __init__(self, network: Any) -> None:
        self.n = 0
        network.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _module: Any, _args: Any, kwargs: dict[str, Any]) -> None:
        self.n += kwargs["input_ids"].numel()


def scored(
    network: Any, scorer: SharedScorer, contexts: Sequence[list[int]], generator: random.Random
) -> tuple[list[list[ChoiceLogprob]], list[Split]]:
    import torch

    splits = [drawn(generator, context) for context in contexts]
    with torch.inference_mode():
        return scorer.score(batch(contexts), splits), splits


@pytest.mark.parametrize(("name", "fields"), NETWORKS)
def test_heads_change_no_number(name: str, fields: dict[str, Any]) -> None:
    generator = random.Random(1)
    network = made(name, **fields)
    scorer = SharedScorer(network, 1)
    head, other = tokens(generator, 60), tokens(generator, 50)
    for shared in (head, head, head[:45], head, other, []):
        contexts = [[*shared, *tokens(generator, generator.randint(3, 12))] for _ in range(4)]
        given, splits = scored(network, scorer, contexts, generator)
        for context, split, own in zip(contexts, splits, given, strict=True):
            assert_close(own, whole(network, context, split))
    assert scorer.has_heads


def test_a_head_is_read_once_for_all_batches() -> None:
    generator = random.Random(2)
    network = made("mistral", **MISTRAL)
    scorer = SharedScorer(network, 1)
    head = tokens(generator, 200)

    def n_read(n_rows: int) -> int:
        reads.n = 0
        scored(network, scorer, [[*head, *tokens(generator, 10)] for _ in range(n_rows)], generator)
        return reads.n

    reads = Reads(network)
    first, second, third = n_read(4), n_read(4), n_read(1)
    assert first > 4 * 200  # it is computed both ways, to see whether they agree
    assert second < 200
    assert third < 200


def test_one_request_at_a_time_finds_the_head_of_the_one_before() -> None:
    generator = random.Random(3)
    network = made("mistral", **MISTRAL)
    scorer = SharedScorer(network, 1)
    head = tokens(generator, 100)
    reads = Reads(network)
    counts = []
    for _ in range(5):
        reads.n = 0
        context = [*head, *tokens(generator, 8)]
        given, splits = scored(network, scorer, [context], generator)
        counts.append(reads.n)
        assert_close(given[0], whole(network, context, splits[0]))
    assert counts[0] > 100
    assert max(counts[2:]) < 100
    assert scorer.has_heads


@pytest.mark.parametrize(("name", "fields"), [("mistral", WINDOW), ("gemma2", {**WINDOW, "head_dim": 8})])
def test_a_window_that_slides_has_no_heads(name: str, fields: dict[str, Any]) -> None:
    generator = random.Random(4)
    network = made(name, **fields)
    scorer = SharedScorer(network, 1)
    head = tokens(generator, 60)
    contexts = [[*head, *tokens(generator, 5)] for _ in range(3)]
    given, splits = scored(network, scorer, contexts, generator)
    for context, split, own in zip(contexts, splits, given, strict=True):
        assert_close(own, whole(network, context, split))
    assert scorer.has_heads is None


def test_short_beginnings_are_no_heads() -> None:
    generator = random.Random(5)
    network = made("mistral", **MISTRAL)
    scorer = SharedScorer(network, 1)
    head = tokens(generator, 10)
    scored(network, scorer, [[*head, *tokens(generator, 5)] for _ in range(3)], generator)
    assert scorer.has_heads is None
