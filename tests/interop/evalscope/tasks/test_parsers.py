"""Which option a text chooses, and who wins a comparison."""

import pytest

from polymeter.interop.evalscope.tasks.scoring.parsers import ResponseParser, lmsys_parser, ranking_parser

FOUR = ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("The answer is (B).", "B"),
        ("Answer: C because A is wrong", "C"),
        ("ANSWER:D", "D"),
        ("The correct answer is:\n\n- A", "A"),
        ("I would say B", "B"),
        ("First the answer is A. No, the answer is B.", "A"),
        (r"**Answer: \boxed{B}** A CAT", "A"),
        ("none of them", "No valid option found"),
        ("", "No valid option found"),
        ("the answer is E", "No valid option found"),
    ],
)
def test_first_option(text: str, option: str) -> None:
    assert ResponseParser.parse_first_option(text, FOUR) == option


def test_options_left_out_are_all_letters() -> None:
    assert ResponseParser.parse_first_option("the answer is (J)") == "J"
    assert ResponseParser.parse_first_option("so it is Z") == "Z"
    assert ResponseParser.parse_first_option_with_choices("答案是J") == "J"
    assert ResponseParser.parse_bracketed_answer("<K>") == "K"
    assert ResponseParser.parse_first_capital("so K, L") == "K"
    assert ResponseParser.parse_last_capital("so K, L") == "L"


def test_an_option_may_be_more_than_a_letter_and_is_literal() -> None:
    assert ResponseParser.parse_first_option("answer is A.1", ["A.1", "B"]) == "A.1"
    assert ResponseParser.parse_first_option("answer is AB1", ["A.1", "B"]) == "B"


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("答案是B", "B"),
        ("答案：C", "C"),
        ("所以选择 D", "D"),
        ("A是正确的", "A"),
        ("The correct answer is B because of A and", "B"),
        ("The correct answer is B, not A", "A"),  # an option at the end is looked for before English sentences
        ("A or B", "B"),
        ("so: C.", "C"),
        ("答案是乙 B", "B"),
        ("都不对", "No valid option found"),
        ("故选A", "A"),
        ("故选B只有A对", "B"),
    ],
)
def test_first_option_with_choices(text: str, option: str) -> None:
    assert ResponseParser.parse_first_option_with_choices(text, FOUR) == option


def test_brackets_and_capitals() -> None:
    assert ResponseParser.parse_bracketed_answer("<X> then <B> then <A>", FOUR) == "B"
    assert ResponseParser.parse_bracketed_answer("B", FOUR) == "No valid option found"
    assert ResponseParser.parse_first_capital("I see B and C", FOUR) == "B"
    assert ResponseParser.parse_last_capital("I see B and C. Z", FOUR) == "C"
    assert ResponseParser.parse_last_capital("nothing", FOUR) == ""


@pytest.mark.parametrize(
    ("completion", "form", "found"),
    [
        ("so [[7.5]] it is", "[[rating]]", 7.5),
        ("so [8]", "[[rating]]", 8),
        ("no rating", "[[rating]]", -1),
        ("[[05]]", "[[rating]]", 5),
        ("[[٣]]", "[[rating]]", 3),
        (f"[[{'9' * 5000}]]", "[[rating]]", -1),
        ("8 7\nbecause", "[[rating_a,rating_b]]", ("model_a", [8.0, 7.0])),
        ("8,9", "[[rating_a,rating_b]]", ("model_b", [8.0, 9.0])),
        ("5 5", "[[rating_a,rating_b]]", ("tie", [5.0, 5.0])),
        ("-1 -1", "[[rating_a,rating_b]]", ("unknown", [-1.0, -1.0])),
        ("very good", "[[rating_a,rating_b]]", ("unknown", [-1, -1])),
        ("[[B]]", "[[A]]", "model_b"),
        ("[[C]]", "[[A]]", "tie"),
        ("neither", "[[A]]", "unknown"),
        ("[[A]]", "other", None),
    ],
)
def test_comparisons(completion: str, form: str, found: object) -> None:
    assert lmsys_parser(completion, form) == found


@pytest.mark.parametrize(
    ("completion", "winner"),
    [
        ("[{'model': 'model_a', 'rank': 1}, {'model': 'model_b', 'rank': 2}]", "model_a"),
        ([{"model": "model_a", "rank": 2}], "model_b"),
        ("[{'model': 'model_a', 'rank': 3}]", "unknown"),
        ("[{'model': 'model_b', 'rank': 1}]", "unknown"),
        ("__import__('os')", "unknown"),
        ("model_a", "unknown"),
    ],
)
def test_rankings(completion: object, winner: str) -> None:
    assert ranking_parser(completion) == winner
