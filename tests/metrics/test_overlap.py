"""BLEU and ROUGE of single texts: the cases of ``cases/overlap.json``, and the properties that hold for any text."""

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import PlanError
from polymeter.metrics.overlap import bleu_of_order, distinct_rouge, rouge, segmented
from polymeter.metrics.words import english_words

WORDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=12)


def _needs_chinese(case: dict[str, Any]) -> None:
    if case["name"] in ("chinese", "mixed"):
        pytest.importorskip("jieba")


def test_bleu_is_nltks(overlap_case: dict[str, Any]) -> None:
    _needs_chinese(overlap_case)
    gold, words = segmented(overlap_case["reference"]), segmented(overlap_case["prediction"])
    found = {f"bleu-{n}": bleu_of_order(gold, words, n) for n in (1, 2, 3, 4)}
    assert found == overlap_case["bleu"], overlap_case["why"]


def test_rouge_is_rouge_scores(overlap_case: dict[str, Any]) -> None:
    found = rouge(overlap_case["reference"].split(), overlap_case["prediction"].split())
    expected = overlap_case["rouge"]
    for kind, value in found.items():
        given_parts = [expected[f"rouge-{kind}-{part}"] for part in "rpf"]
        assert [value.recall, value.precision, value.f1] == given_parts, overlap_case["why"]


def test_distinct_rouge_is_rouge_chineses(overlap_case: dict[str, Any]) -> None:
    _needs_chinese(overlap_case)
    found = distinct_rouge(overlap_case["reference"], overlap_case["prediction"])
    expected = overlap_case["distinct_rouge"]
    for kind, value in found.items():
        given_parts = [expected[f"Rouge-{kind.upper()}-{part}"] for part in "RPF"]
        assert [value.recall, value.precision, value.f1] == given_parts, overlap_case["why"]


@given(words=WORDS)
def test_a_text_against_itself(words: list[str]) -> None:
    for n in (1, 2, 3, 4):
        expected = 1.0 if len(words) >= n else sys.float_info.min
        assert bleu_of_order(words, words, n) == pytest.approx(expected)
    assert rouge(words, words)["l"].f1 == 1.0
    assert distinct_rouge(" ".join(words), " ".join(words))["1"].f1 == pytest.approx(1.0, abs=1e-7)


@given(gold=WORDS, words=WORDS)
def test_recall_and_precision_change_places_with_the_texts(gold: list[str], words: list[str]) -> None:
    there, back = rouge(gold, words), rouge(words, gold)
    for kind in ("1", "2", "l"):
        assert (there[kind].recall, there[kind].precision) == (back[kind].precision, back[kind].recall)
        assert 0.0 <= there[kind].f1 <= 1.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("He left at 5 p.m. and slept.", ["He", "left", "at", "5", "p.m.", "and", "slept", "."]),
        ("It was 5 p.m. He slept.", ["It", "was", "5", "p.m", ".", "He", "slept", "."]),
        ("J. Smith (see p. 3.) left.", ["J.", "Smith", "(", "see", "p.", "3", ".", ")", "left", "."]),
        ("In 1999. Then", ["In", "1999", ".", "Then"]),
        ("cannot gonna it's", ["can", "not", "gon", "na", "it", "'s"]),
        ("", []),
    ],
)
def test_where_sentences_end(text: str, words: list[str]) -> None:
    assert english_words(text) == words


def test_chinese_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(PlanError, match=r"'jieba', needed by Chinese text .*\[chinese\]"):
        segmented("今天")
    assert segmented("no Chinese") == ["no", "Chinese"]
