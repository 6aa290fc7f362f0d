"""Entities: annotated texts and tags, and scores over whole entities, as the wheel and seqeval 1.2.2 give them."""

import hashlib

import pytest

from polymeter.interop.evalscope.v1.scoring.ner import (
    FEWSHOT_TEMPLATE,
    PROMPT_TEMPLATE,
    calculate_bio_metrics,
    clean_prediction,
    create_target_text,
    ner_scores,
    xml_to_bio_tags,
)

SHOWN = {"PER": "Person", "LOC": "location"}
BACK = {"person": "PER", "location": "LOC"}
TOKENS = ["John", "Smith", "left", "New", "York", "for", "York"]
TAGS = ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O", "B-LOC"]


def test_the_prompts_are_the_same_bytes() -> None:
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in (PROMPT_TEMPLATE, FEWSHOT_TEMPLATE)]
    assert digests == ["fc912556aa8185d9", "5186e894690bef9d"]


def test_tags_become_an_annotated_text_and_tags_again() -> None:
    text = create_target_text(TOKENS, TAGS, SHOWN)
    assert text == (
        "<response><person>John Smith</person> left <location>New York</location> for "
        "<location>York</location></response>"
    )
    assert xml_to_bio_tags(clean_prediction(text), TOKENS, BACK) == TAGS


def test_entities_of_other_types_are_plain_text() -> None:
    assert create_target_text(["a", "b"], ["B-ORG", "I-ORG"], SHOWN) == "<response>a b</response>"


@pytest.mark.parametrize(
    ("answer", "tags"),
    [
        ("<response><person>John Smith</location> left</response>", ["B-PER", "I-PER", "O", "O", "O", "O", "O"]),
        ("He <location>York", ["O", "O", "O", "O", "B-LOC", "O", "O"]),
        ("<person>Jo</person>", ["B-PER", "O", "O", "O", "O", "O", "O"]),
        ("<animal>John</animal>", ["B-animal", "O", "O", "O", "O", "O", "O"]),
        ("<person>Nobody</person>", ["O"] * 7),
        ("", ["O"] * 7),
    ],
)
def test_answers_that_are_not_the_text_are_aligned_with_it(answer: str, tags: list[str]) -> None:
    assert xml_to_bio_tags(clean_prediction(answer), TOKENS, BACK) == tags


def test_right_wrong_and_missing_entities_are_counted() -> None:
    predicted = ["B-PER", "I-PER", "B-LOC", "B-LOC", "O", "O", "B-LOC"]
    assert calculate_bio_metrics(predicted, TAGS, TOKENS) == (2, 2, 1)


@pytest.mark.parametrize(
    ("gold", "predicted", "scores"),
    [
        ([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "O"]], (1, 1, 1, 1)),
        ([["B-PER", "I-PER", "O"], ["B-LOC"]], [["B-PER", "O", "O"], ["B-LOC"]], (0.5, 0.5, 0.5, 0.75)),
        ([["I-PER", "I-LOC"]], [["B-PER", "B-LOC"]], (1, 1, 1, 0)),
        ([["O", "O"]], [["O", "O"]], (0, 0, 0, 1)),
        ([["B-PER", "I-PER"]], [["O", "B-PER"]], (0, 0, 0, 0)),
    ],
)
def test_scores_are_those_of_seqeval(gold: list[list[str]], predicted: list[list[str]], scores: tuple[float]) -> None:
    assert ner_scores(gold, predicted) == pytest.approx(scores)


def test_texts_with_different_numbers_of_tags_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shorter|longer"):
        ner_scores([["O"]], [["O", "O"]])
