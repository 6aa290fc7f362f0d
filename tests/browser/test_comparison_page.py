"""The page of a comparison in headless Chromium, opened from a file."""

from __future__ import annotations

import re

import pytest

from polymeter.report.comparison.page import make_comparison_page
from tests.helpers.accessibility import overflowing
from tests.helpers.browsing import expect, opened, settle
from tests.report.test_comparison_page import document, pairs

pytestmark = pytest.mark.browser
WIDTHS = (360, 768, 1440)


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    run, samples = pairs()
    file = tmp_path_factory.mktemp("comparison") / "page.html"
    file.write_text(make_comparison_page(document(), samples, 40, run.media), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(params=WIDTHS)
def page(request, browser, address):
    with opened(browser, viewport={"width": request.param, "height": 900}) as page:
        page.goto(address)
        yield page
        assert overflowing(page) == []


def test_the_verdict_stands_on_top_and_the_answers_side_by_side(page):
    expect(page.locator(".results .verdict")).to_have_text("after is better")
    card = page.locator(".card").first
    expect(card.locator(".who")).to_have_text("after is better")
    expect(card.locator(".side h4")).to_have_count(2)
    expect(card.locator(".side.won h4")).to_have_text(re.compile("^after"))
    assert card.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_nothing_sticks_out(page):
    wide = """() => [...document.querySelectorAll(".results *, .card, .card *")].filter((node) =>
        node.getBoundingClientRect().right > window.innerWidth + 1 && !node.closest(".text")).length"""
    settle(page)
    assert page.evaluate(wide) == 0


def test_filters_narrow_the_list(page):
    expect(page.locator("#count")).to_have_text("6 samples")
    page.get_by_label("Who is better").select_option(label="after (6)")
    expect(page.locator(".card")).to_have_count(6)
    page.get_by_label("Subset").select_option(label="odd (3)")
    expect(page.locator("#count")).to_have_text("3 of 6 samples")
    expect(page.locator(".card-head").first).to_contain_text("odd")
    page.get_by_label("Subset").select_option("")
    page.get_by_label("Search").fill("no such thing anywhere")
    expect(page.locator(".card")).to_have_count(0)
    expect(page.locator("#count")).to_have_text("0 of 6 samples")


def test_escape_empties_the_search_and_lists_all_again(page):
    page.get_by_label("Search").fill("no such thing anywhere")
    expect(page.locator(".card")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search")).to_have_value("")
    expect(page.locator("#count")).to_have_text("6 samples")
