"""The page of a comparison in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report.comparison.page import make_comparison_page
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


def test_the_verdict_stands_on_top_and_the_answers_side_by_side(page):
    assert page.locator(".results .verdict").text_content() == "after is better"
    card = page.locator(".card").first
    assert card.locator(".who").text_content() == "after is better"
    assert card.locator(".side h4").count() == 2
    assert card.locator(".side.won h4").text_content().startswith("after")
    assert card.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_nothing_sticks_out(page):
    wide = """() => [...document.querySelectorAll(".results *, .card, .card *")].filter((node) =>
        node.getBoundingClientRect().right > window.innerWidth + 1 && !node.closest(".text")).length"""
    assert page.evaluate(wide) == 0


def test_filters_narrow_the_list(page):
    assert page.locator("#count").text_content() == "6 samples"
    page.get_by_label("Who is better").select_option(label="after (6)")
    assert page.locator(".card").count() == 6
    page.get_by_label("Subset").select_option(label="odd (3)")
    assert page.locator("#count").text_content() == "3 of 6 samples"
    assert "odd" in page.locator(".card-head").first.text_content()
    page.get_by_label("Subset").select_option("")
    page.get_by_label("Search").fill("no such thing anywhere")
    assert page.locator(".card").count() == 0
    assert page.locator("#count").text_content() == "0 of 6 samples"


def test_escape_empties_the_search_and_lists_all_again(page):
    page.get_by_label("Search").fill("no such thing anywhere")
    assert page.locator(".card").count() == 0
    page.keyboard.press("Escape")
    assert page.get_by_label("Search").input_value() == ""
    assert page.locator("#count").text_content() == "6 samples"
