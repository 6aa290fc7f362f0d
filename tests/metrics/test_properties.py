"""What holds for all inputs: bounds, symmetries, indifference to order."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.names.registries import AGGREGATIONS, METRICS

TEXTS = st.text(max_size=12)
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "ran", "far", "away"]
GOLDS = st.lists(TEXTS, min_size=1, max_size=3)
NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


def score(name: str, golds: list[Any], answer: Any, **kwargs: Any) -> float:
    function = METRICS.get(name).score
    assert function is not None
    return function(references=golds, predictions=[answer], **kwargs)  # type: ignore[no-any-return]


def aggregate(name: str, values: list[Any]) -> float:
    return AGGREGATIONS.get(name).aggregate(values)  # type: ignore[no-any-return]


@given(GOLDS, TEXTS)
def test_scores_lie_between_0_and_1(golds: list[str], answer: str) -> None:
    for name in ("acc", "exact_match", "anls"):
        assert 0 <= score(name, golds, answer) <= 1


@given(GOLDS)
def test_the_gold_scores_full_marks(golds: list[str]) -> None:
    for name in ("acc", "exact_match", "anls"):
        assert score(name, golds, golds[-1]) == 1
    assert score("cer", golds, golds[-1]) == score("wer", golds, golds[-1]) == 0


@given(TEXTS, TEXTS)
def test_similarity_does_not_depend_on_the_side(a: str, b: str) -> None:
    for name in ("acc", "exact_match", "anls"):
        assert score(name, [a], b) == score(name, [b], a)


@given(GOLDS, TEXTS)
def test_another_gold_never_hurts(golds: list[str], answer: str) -> None:
    for name in ("acc", "exact_match", "anls"):
        assert score(name, golds, answer) >= score(name, golds[:1], answer)
    for name in ("cer", "wer"):
        assert score(name, golds, answer) <= score(name, golds[:1], answer)


@given(GOLDS, TEXTS, st.booleans(), st.booleans(), st.booleans())
def test_ignoring_more_never_loses_a_match(
    golds: list[str], answer: str, case: bool, marks: bool, digits: bool
) -> None:
    plain = score("exact_match", golds, answer)
    assert (
        score("exact_match", golds, answer, ignore_case=case, ignore_punctuation=marks, ignore_numbers=digits) >= plain
    )


@given(NUMBERS, st.randoms(use_true_random=False))
def test_order_of_numbers_does_not_matter(values: list[float], random: Any) -> None:
    shuffled = random.sample(values, len(values))
    for name in ("mean", "median", "sum", "max", "min"):
        assert aggregate(name, values) == aggregate(name, shuffled)


@given(NUMBERS)
def test_averages_lie_within_the_values(values: list[float]) -> None:
    slack = 1e-9 * max(1.0, max(map(abs, values)))
    for name in ("mean", "median"):
        assert min(values) - slack <= aggregate(name, values) <= max(values) + slack


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=25))
@settings(max_examples=30, deadline=None)
def test_class_scores_are_bounded_and_mcc_is_symmetric(pairs: list[tuple[int, int]]) -> None:
    assert 0 <= aggregate("f1", pairs) <= 1
    assert -1 - 1e-9 <= aggregate("mcc", pairs) <= 1 + 1e-9
    assert aggregate("mcc", pairs) == pytest.approx(aggregate("mcc", [(b, a) for a, b in pairs]))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.lists(st.floats(0.01, 1), min_size=3, max_size=3)), min_size=1, max_size=9)
)
def test_brier_score_lies_between_0_and_2(items: list[tuple[int, list[float]]]) -> None:
    values = [(gold, [p / sum(weights) for p in weights]) for gold, weights in items]
    assert 0 <= aggregate("brier_score", values) <= 2


@given(st.lists(st.tuples(st.floats(-50, 0), st.integers(1, 40)), min_size=1, max_size=20))
def test_bits_and_perplexity_say_the_same(values: list[tuple[float, int]]) -> None:
    assert aggregate("weighted_perplexity", values) >= 1
    assert math.log2(aggregate("weighted_perplexity", values)) == pytest.approx(
        aggregate("bits_per_byte", values), abs=1e-9
    )


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_corpus_scores_are_bounded_and_ignore_order(pairs: list[tuple[str, str]], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    for name in ("bleu", "chrf", "ter"):
        found = aggregate(name, pairs)
        assert found >= 0
        assert name == "ter" or found <= 100 + 1e-9
        assert found == pytest.approx(aggregate(name, shuffled))
