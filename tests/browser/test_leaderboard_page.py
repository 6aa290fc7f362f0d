"""The page of a leaderboard in headless Chromium, opened from a file."""

from __future__ import annotations

import re

import pytest

from polymeter.report.leaderboard.page import make_leaderboard_page
from tests.helpers.accessibility import overflowing
from tests.helpers.browsing import expect, opened, settle
from tests.report.test_leaderboard_page import HOSTILE, document

pytestmark = pytest.mark.browser
WIDTHS = (360, 768, 1440)


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("leaderboard") / "page.html"
    file.write_text(make_leaderboard_page(document()), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(params=WIDTHS)
def page(request, browser, address):
    with opened(browser, viewport={"width": request.param, "height": 900}) as page:
        page.goto(address)
        yield page
        assert overflowing(page) == []


def expect_order(page, *names: str) -> None:
    expect(page.locator("#ranking tbody th")).to_have_text([re.compile(rf"^\s*{re.escape(name)}") for name in names])


def test_columns_sort_and_what_is_missing_stays_last(page):
    expect_order(page, "best", "cheap", HOSTILE)
    signs = page.get_by_role("button", name="signs")
    signs.click()
    expect_order(page, "best", "cheap", HOSTILE)
    signs.click()
    expect_order(page, "cheap", "best", HOSTILE)
    expect(page.locator("th", has=signs)).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("#count")).to_have_text("3 models, worst first by signs.")
    expect(page.locator("#ranking tbody .rank")).to_have_text(["2", "1", "–"])
    average = page.get_by_role("button", name="average")
    average.click()
    average.click()
    expect_order(page, "cheap", "best", HOSTILE)
    expect(page.locator("tr.apart th")).to_have_text(re.compile(r"^\s*best"))


def test_the_search_narrows_the_rows(page):
    page.get_by_label("Search").fill("che")
    expect(page.locator("#ranking tbody tr:visible")).to_have_count(1)
    expect(page.locator("#count")).to_have_text("1 of 3 models")
    page.get_by_label("Search").fill("")
    expect(page.locator("#count")).to_have_text("3 models, best first by average.")


def test_the_table_scrolls_in_its_own_box_and_nothing_sticks_out(page):
    wide = """() => [...document.querySelectorAll("body *")].filter((node) =>
        node.getBoundingClientRect().right > window.innerWidth + 1 && !node.closest(".box")).length"""
    settle(page)
    assert page.evaluate(wide) == 0
    assert page.locator(".box").first.evaluate("box => box.getBoundingClientRect().right <= window.innerWidth")


def test_one_of_the_two_drawings_is_shown(page):
    expect(page.locator("svg.scatter:visible")).to_have_count(1)
    page.locator("sup a").first.click()
    expect(page).to_have_url(re.compile("#note-1$"))
