"""The page of a leaderboard in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report.leaderboard.page import make_leaderboard_page
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
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else troubles.append(asked.url))
    page.goto(address)
    yield page
    assert not troubles
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def names(page) -> list[str]:
    return [row.locator("th").evaluate("cell => cell.firstChild.textContent") for row in page.locator("tbody tr").all()]


def test_columns_sort_and_what_is_missing_stays_last(page):
    assert names(page) == ["best", "cheap", HOSTILE]
    signs = page.get_by_role("button", name="signs")
    signs.click()
    assert names(page) == ["best", "cheap", HOSTILE]
    signs.click()
    assert names(page) == [HOSTILE, "cheap", "best"]
    assert page.locator("th", has=signs).get_attribute("aria-sort") == "ascending"
    average = page.get_by_role("button", name="average")
    average.click()
    average.click()
    assert names(page) == ["cheap", "best", HOSTILE]


def test_the_search_narrows_the_rows(page):
    page.get_by_label("Search").fill("che")
    assert page.locator("tbody tr:visible").count() == 1
    assert page.locator("#count").text_content() == "1 of 3 models"
    page.get_by_label("Search").fill("")
    assert page.locator("#count").text_content() == "3 models, best first by average."


def test_the_table_scrolls_in_its_own_box_and_nothing_sticks_out(page):
    wide = """() => [...document.querySelectorAll("body *")].filter((node) =>
        node.getBoundingClientRect().right > window.innerWidth + 1 && !node.closest(".box")).length"""
    assert page.evaluate(wide) == 0
    assert page.locator(".box").evaluate("box => box.getBoundingClientRect().right <= window.innerWidth")


def test_one_of_the_two_drawings_is_shown(page):
    assert page.locator("svg.scatter:visible").count() == 1
    page.locator("sup a").first.click()
    assert page.evaluate("location.hash") == "#note-1"
