"""The page of a sample: what a reader meets first, and that nothing stands there twice."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.helpers.browsing import expect, opened, settle

pytestmark = pytest.mark.browser


@pytest.fixture
def open_sample(browser, viewer_address):
    with ExitStack() as stack:

        def open_page(width: int, height: int, run: str = "signs", index: int = 0):
            page = stack.enter_context(opened(browser, viewport={"width": width, "height": height}))
            page.goto(f"{viewer_address}/run/{run}/sample?index={index}")
            settle(page)
            return page

        yield open_page


def bottom(page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    return box["y"] + box["height"]


def test_on_a_phone_question_image_and_answer_stand_on_the_first_screen_in_this_order(open_sample):
    page = open_sample(390, 844)
    ends = [bottom(page, one) for one in ("h2.is-question", ".c-side img", ".c-expected", ".c-answered", ".c-scores")]
    assert ends == sorted(ends)
    assert ends[-1] <= 844


def test_on_a_wide_screen_the_image_stands_beside_question_answer_and_scores(open_sample):
    page = open_sample(1400, 900)
    image, pair = (page.locator(one).bounding_box() for one in (".c-side img", ".c-pair"))
    assert pair["x"] + pair["width"] <= image["x"]
    assert abs(pair["y"] - image["y"]) < 4
    expected, answer = (page.locator(one).bounding_box() for one in (".c-expected", ".c-answered"))
    assert expected["y"] == answer["y"]


def test_question_image_and_answer_are_seen_once(open_sample):
    page = open_sample(1400, 900)
    expect(page.locator("main img:visible")).to_have_count(1)
    seen = page.locator("main").inner_text()
    assert [seen.count(text) for text in ("Read the sign.", "EXIT", "Expected", "Answer\n")] == [1, 1, 1, 1]
    page.get_by_text("Conversation").click()
    expect(page.locator(".c-chat img:visible")).to_have_count(1)


def test_the_heading_is_the_question_and_a_score_has_its_colour_but_no_status(open_sample):
    page = open_sample(1400, 900, "second", 3)
    expect(page.locator("h2").first).to_have_text("What is the capital of country 3?")
    expect(page.locator(".sample-head .aside").last).to_contain_text("row-0003")
    expect(page.locator(".c-scores .value.v0").first).to_be_visible()
    expect(page.locator("main .status")).to_have_count(0)
    failed = open_sample(1400, 900, "failing", 1)
    expect(failed.locator(".c-failure h3")).to_have_text(re.compile("^No score: error"))
