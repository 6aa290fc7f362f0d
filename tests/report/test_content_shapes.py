"""Boxes and points: the forms that are found, the scales that are assumed, and that it is said which."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.reading.shapes import find_shapes, is_spatial, of_row, overlap, says_xywh
from polymeter.report.content.shapes import on_image, read_scale

BOX = (40.0, 30.0, 200.0, 180.0)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[40, 30, 200, 180]", "list"),
        ("The ball is at [40, 30, 200, 180].", "list"),
        ("(40,30),(200,180)", "list"),
        ("<box>(40,30),(200,180)</box>", "tag"),
        ("<|box_start|>(40,30),(200,180)<|box_end|>", "tag"),
        ("<box>[[40, 30, 200, 180]]</box>", "tag"),
        ('[{"bbox_2d": [40, 30, 200, 180], "label": "ball"}]', "list"),
        ('```json\n{"bbox_2d": [40, 30, 200, 180]}\n```', "list"),
        ('I see {"bbox_2d": [40, 30, 200, 180], "lab', "list"),
        ('{"box_2d": [30, 40, 180, 200]}', "yx"),
    ],
)
def test_boxes_are_found_in_every_form(text, form):
    (shape,) = find_shapes(text, is_spatial=True)
    assert (shape.numbers, shape.form) == (BOX, form)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("point: 120, 80", (120.0, 80.0)),
        ('{"point_2d": [120, 80], "label": "eye"}', (120.0, 80.0)),
        ("click (120, 80)", (120.0, 80.0)),
        ("[0.5, 0.25]", (0.5, 0.25)),
        ('<point x="61.5" y="40.6" alt="eye">eye</point>', (61.5, 40.6)),
    ],
)
def test_points_are_found_in_every_form(text, numbers):
    (shape,) = find_shapes(text, is_spatial=True)
    assert shape.numbers == numbers
    assert not shape.is_box


def test_labels_come_with_their_shapes():
    text = '[{"bbox_2d": [1, 2, 3, 4], "label": "<b>one</b>"}, {"point_2d": [5, 6], "label": "two"}]'
    assert [(shape.label, shape.is_box) for shape in find_shapes(text, is_spatial=False)] == [
        ("<b>one</b>", True),
        ("two", False),
    ]


def test_a_bare_list_is_a_box_only_where_places_are_spoken_of():
    assert find_shapes("The values are [1, 2, 3, 4].", is_spatial=False) == []
    assert find_shapes("[1, 2, 3, 4]", is_spatial=False) == []
    assert is_spatial("Give the bounding box of the cat.")
    assert is_spatial("Where should I click?")
    assert not is_spatial("Sort the numbers 4, 2, 3, 1.")


@pytest.mark.parametrize(
    "text", ["[200, 180, 40, 30]", "[-1, 2, 3, 4]", "[1, 2, 3]", "no numbers", "", "[[[[[[", '{"a":']
)
def test_what_is_no_box_is_none(text):
    assert find_shapes(text, is_spatial=True) == []


def test_left_top_width_height_only_where_the_row_says_so():
    assert not says_xywh({"bbox": [40, 30, 160, 150], "coco_url": "http://x", "image": "coco_1.jpg"})
    assert says_xywh({"bbox": [40, 30, 160, 150], "bbox_format": "xywh"})
    assert says_xywh({"bbox": [40, 30, 160, 150], "bbox_mode": "COCO"})
    assert says_xywh({"bbox_xywh": [40, 30, 160, 150]})
    (shape,) = find_shapes("[40, 30, 160, 150]", is_spatial=True, is_xywh=True)
    assert (shape.numbers, shape.form) == (BOX, "xywh")
    (plain,) = find_shapes("[40, 30, 160, 150]", is_spatial=True)
    assert plain.numbers == (40.0, 30.0, 160.0, 150.0)


def test_boxes_of_a_row_are_found_by_the_name_of_their_column():
    column, shapes = of_row({"question": "?", "numbers": [1, 2, 3, 4], "gt_bbox": [[40, 30, 200, 180], [1, 1, 2, 2]]})
    assert (column, [shape.numbers for shape in shapes]) == ("gt_bbox", [BOX, (1.0, 1.0, 2.0, 2.0)])
    assert of_row({"numbers": [1, 2, 3, 4], "textbox": "x"}) == ("", [])


@pytest.mark.parametrize(
    ("text", "scale", "others"),
    [
        ("[40, 30, 200, 180]", "pixels", ("thousand",)),
        ("[0.1, 0.1, 0.5, 0.6]", "unit", ("pixels", "thousand")),
        ("[40, 30, 950, 180]", "thousand", ()),
        ("[40, 30, 1950, 180]", "pixels", ()),
        ("<box>(40,30),(200,180)</box>", "thousand", ("pixels",)),
        ("<box>(40,30),(1200,1180)</box>", "pixels", ()),
        ('{"box_2d": [30, 40, 180, 200]}', "thousand", ("pixels",)),
        ('<point x="61.5" y="40.6">', "percent", ()),
    ],
)
def test_the_scale_is_assumed_from_form_and_numbers_and_said(text, scale, others):
    reading = read_scale(find_shapes(text, is_spatial=True), 400, 300)
    assert (reading.scale, reading.others) == (scale, others)
    assert reading.why


def test_shapes_are_put_on_the_image():
    (box,) = find_shapes("[0.1, 0.1, 0.5, 0.6]", is_spatial=True)
    assert on_image(box, "unit", 400, 300) == (40.0, 30.0, 200.0, 180.0)
    assert on_image(box, "pixels", 400, 300) == (0.1, 0.1, 0.5, 0.6)
    (point,) = find_shapes("point: 500, 250", is_spatial=True)
    assert on_image(point, "thousand", 400, 300) == (200.0, 75.0)


def test_overlap():
    assert overlap(BOX, BOX) == 1.0
    assert overlap((0, 0, 2, 2), (1, 0, 3, 2)) == pytest.approx(1 / 3)
    assert overlap((0, 0, 1, 1), (2, 2, 3, 3)) == 0.0


@given(st.text(alphabet='<box>()[]{}",:. 0123456789point_2d`json\n', max_size=400))
def test_no_text_breaks_the_search(text):
    for shape in find_shapes(text, is_spatial=True):
        assert min(shape.numbers) >= 0
        read_scale([shape], 100, 100)


@pytest.mark.parametrize("piece", ["<box>", "```\n", "[1, ", "(1,1),", "<point ", '{"bbox_2d": [', "1,"])
def test_hostile_repetition_ends(piece):
    find_shapes(piece * 30_000, is_spatial=True)
