"""Scenes in GenEval's schema, held against what was found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import DataError
from polymeter.metrics.composition import (
    Clause,
    Detection,
    check_image,
    check_scene,
    read_scene,
    relations,
    same_colour,
)


def thing(label: str, colour: str | None = "red", x: float = 0, y: float = 0, score: float = 1.0) -> Detection:
    """A thing of ten by ten pixels."""
    return Detection(label, colour, (x, y, x + 10, y + 10), score)


TWO_RED_LEFT_OF_BLUE = read_scene(
    {
        "tag": "position",
        "include": [
            {"class": "square", "count": 1, "color": "blue"},
            {"class": "circle", "count": 2, "color": "red", "position": ["left of", 0]},
        ],
        "exclude": [{"class": "circle", "count": 3}],
        "prompt": "two red circles left of a blue square",
    }
)


def test_a_scene_is_read_from_text_or_objects() -> None:
    scene = TWO_RED_LEFT_OF_BLUE
    assert scene.include == (Clause("square", 1, "blue"), Clause("circle", 2, "red", ("left of", 0)))
    assert (scene.exclude, scene.tag) == ((Clause("circle", 3),), "position")
    assert TWO_RED_LEFT_OF_BLUE.labels == ("square", "circle")
    assert read_scene('{"include": [{"class": "dog"}]}').include == (Clause("dog"),)


@pytest.mark.parametrize(
    ("circles", "count", "colour", "position"),
    [
        ([thing("circle"), thing("circle", y=20)], True, True, True),
        ([thing("circle")], False, True, True),
        ([thing("circle"), thing("circle", y=20), thing("circle", y=40)], False, True, True),
        ([thing("circle"), thing("circle", "green", y=20)], True, False, True),
        ([thing("circle"), thing("circle", x=200)], True, True, False),
        ([], False, False, False),
    ],
)
def test_each_aspect_is_looked_at_by_itself(
    circles: list[Detection], count: bool, colour: bool, position: bool
) -> None:
    verdict = check_scene(TWO_RED_LEFT_OF_BLUE, [thing("square", "blue", x=100, y=20), *circles])
    assert (verdict.count, verdict.colour, verdict.position) == (count, colour, position)
    assert verdict.is_correct == (count and colour and position)


def test_the_explanation_says_what_was_expected_and_what_was_found() -> None:
    wrong = check_scene(TWO_RED_LEFT_OF_BLUE, [thing("square", "blue"), thing("circle", "green", x=100)])
    assert wrong.explanation == (
        "Expected 2 × circle, found 1. Expected circle in red, found green. "
        "Expected circle left of square, found right of. Found 1 × blue square, 1 × green circle."
    )
    assert check_scene(TWO_RED_LEFT_OF_BLUE, []).explanation.endswith("Found nothing.")


def test_what_is_not_asked_for_has_no_verdict() -> None:
    verdict = check_scene(read_scene({"include": [{"class": "dog", "count": 1}]}), [thing("dog", None)])
    assert (verdict.count, verdict.colour, verdict.position, verdict.is_correct) == (True, None, None, True)


def test_only_the_surest_are_looked_at() -> None:
    scene = read_scene({"include": [{"class": "circle", "count": 1, "color": "red"}]})
    red, green = thing("circle", "red", score=0.5), thing("circle", "green", score=0.9)
    assert not check_scene(scene, [red, green]).is_correct
    assert check_scene(scene, [red, thing("circle", "green", score=0.4)]).is_correct
    assert check_scene(scene, [red, thing("circle", "green", score=0.5)]).is_correct, "of equals the first"


def test_without_exclude_more_is_right_and_with_it_wrong() -> None:
    include = [{"class": "circle", "count": 2}]
    three = [thing("circle")] * 3
    assert check_scene(read_scene({"include": include}), three).is_correct
    assert not check_scene(
        read_scene({"include": include, "exclude": [{"class": "circle", "count": 3}]}), three
    ).is_correct


def test_clauses_of_one_class_take_things_of_their_own_colour() -> None:
    scene = read_scene(
        {
            "include": [
                {"class": "circle", "count": 1, "color": "red"},
                {"class": "circle", "count": 1, "color": "blue", "position": ["right of", 0]},
            ]
        }
    )
    blue, red = thing("circle", "blue", x=50, score=0.9), thing("circle", "red", score=0.5)
    assert check_scene(scene, [blue, red]).is_correct
    assert check_scene(scene, [thing("circle", "blue"), thing("circle", "red", x=50)]).position is False
    assert check_scene(scene, [red]).count is False


def test_an_exclude_clause_may_name_a_colour() -> None:
    scene = read_scene({"exclude": [{"class": "circle", "count": 1, "color": "red"}]})
    assert check_scene(scene, [thing("circle", "blue")]).is_correct
    assert not check_scene(scene, [thing("circle", "red")]).is_correct


def test_names_are_compared_without_case_and_grey_is_gray() -> None:
    assert same_colour("Grey", "gray")
    assert not same_colour(None, None)
    assert check_scene(
        read_scene({"include": [{"class": "Circle", "count": 1, "color": "GREY"}]}), [thing("circle", "gray")]
    ).is_correct


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (-40, 0, {"left of"}),
        (40, 0, {"right of"}),
        (0, -40, {"above"}),
        (0, 40, {"below"}),
        (40, 40, {"right of", "below"}),
        (0, 0, set()),
        # Centres 2 pixels apart, sizes 10 + 10: the tenth that is taken off leaves nothing.
        (2, 0, set()),
        (2.1, 0, set()),
        # 4 - 2 = 2 is just one half of 4.
        (4, 0, set()),
        (4.1, 0, {"right of"}),
    ],
)
def test_relations_leave_a_tenth_of_the_sizes(x: float, y: float, expected: set[str]) -> None:
    assert relations((x, y, x + 10, y + 10), (0, 0, 10, 10)) == expected


@given(*[st.tuples(*[st.floats(-100, 100)] * 2, *[st.floats(1, 50)] * 2)] * 2)
def test_relations_are_mirrored(first: Any, second: Any) -> None:
    a, b = ((x, y, x + w, y + h) for x, y, w, h in (first, second))
    opposite = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
    assert {opposite[name] for name in relations(a, b)} == relations(b, a)


@given(st.lists(st.tuples(st.sampled_from(["circle", "square"]), st.sampled_from(["red", "blue"]), st.integers(0, 9))))
def test_the_order_of_things_that_differ_in_score_does_not_matter(things: list[tuple[str, str, int]]) -> None:
    found = [thing(label, colour, 12 * x, score=1 - n / 100) for n, (label, colour, x) in enumerate(things)]
    assert check_scene(TWO_RED_LEFT_OF_BLUE, found) == check_scene(TWO_RED_LEFT_OF_BLUE, found[::-1])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{", "Reading the JSON of a scene raised JSONDecodeError"),
        ("[1]", "A scene is an object with 'include', not list"),
        ("{}", "A scene asks for nothing"),
        ('{"inlcude": []}', r"A scene has no field 'inlcude'\. \[scene\] Did you mean 'include'"),
        ('{"include": {"class": "a"}}', "'include' of a scene is a list of clauses, not dict"),
        ('{"include": ["a"]}', r"A clause of a scene is an object, not str\. \[include\[0\]\]"),
        ('{"include": [{"count": 1}]}', r"The class of a clause is a name, not None\. \[include\[0\]\.class\]"),
        ('{"include": [{"class": "a", "count": 0}]}', "whole number from 1 on, not 0"),
        ('{"include": [{"class": "a", "count": true}]}', "whole number from 1 on, not True"),
        ('{"include": [{"class": "a", "color": 3}]}', "The color of a clause is a name, not 3"),
        ('{"include": [{"class": "a", "colr": "red"}]}', "no field 'colr'.*Did you mean 'color'"),
        ('{"include": [{"class": "a", "position": "left of"}]}', "A position is .relation, place of a clause., not"),
        ('{"include": [{"class": "a", "position": ["left", 0]}]}', "no relation 'left'.*Did you mean 'left of'"),
        ('{"include": [{"class": "a", "position": ["left of", 0]}]}', "clause 0, which is not another clause"),
        ('{"include": [{"class": "a", "position": ["left of", 7]}]}', "clause 7, which is not another clause"),
    ],
)
def test_a_scene_that_is_not_of_the_schema_names_the_field(source: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_scene(source)


class Told:
    """A detector that notes what it is told."""

    colours = ("red",)

    def __init__(self) -> None:
        self.told: list[Any] = []

    def detect(self, image: Any, labels: Any = (), *, is_counting: bool = False) -> list[Detection]:
        self.told.append((image, tuple(labels), is_counting))
        return [thing("dog")]


def test_a_detector_is_told_what_to_look_for_and_when_to_be_strict() -> None:
    detector = Told()
    scene = {"tag": "counting", "include": [{"class": "dog", "count": 1}], "exclude": [{"class": "cat", "count": 1}]}
    assert check_image(read_scene(json.dumps(scene)), "picture", detector).is_correct
    check_image(read_scene({**scene, "tag": "colors"}), "other", detector)
    assert detector.told == [("picture", ("dog", "cat"), True), ("other", ("dog", "cat"), False)]
