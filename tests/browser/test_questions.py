"""A reader's three questions of each page are answered on its first screen; axe finds nothing there."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from tests.browser import answers
from tests.browser.answers.page import AnsweringPage, by_heading
from tests.helpers.accessibility import SCHEMES, overflowing, violations
from tests.helpers.browsing import expect, opened, settle

pytestmark = pytest.mark.browser
SCREENS = {390: (844, 2), 768: (1024, 1), 1400: (900, 1)}
"""The height of a screen by its width, and on how many screens an answer may stand."""
QUESTIONS = by_heading((Path(__file__).parent / "questions.md").read_text(encoding="utf-8"))
PAGES: dict[str, AnsweringPage] = {
    module.PAGE.heading: module.PAGE
    for info in pkgutil.iter_modules(answers.__path__)
    if hasattr(module := importlib.import_module(f"{answers.__name__}.{info.name}"), "PAGE")
}


def test_every_page_has_three_questions_and_an_answer_to_each() -> None:
    assert PAGES.keys() == QUESTIONS.keys()
    assert {heading: len(asked) for heading, asked in QUESTIONS.items()} == dict.fromkeys(QUESTIONS, 3)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", SCREENS)
@pytest.mark.parametrize("heading", PAGES)
def test_a_reader_finds_the_answers_on_the_first_screen(
    browser, viewer_address, tmp_path, heading, width, scheme
) -> None:
    height, n_screens = SCREENS[width]
    asked = PAGES[heading]
    at = asked.file(tmp_path).as_uri() if asked.file is not None else viewer_address + asked.path
    with opened(browser, viewport={"width": width, "height": height}, color_scheme=scheme) as page:
        page.goto(at)
        expect(page.locator(asked.wait_for).first).to_be_visible()
        settle(page)
        missing = []
        for question, selector in zip(QUESTIONS[heading], asked.answers, strict=True):
            found = page.locator(selector)
            box = found.first.bounding_box() if found.count() and found.first.is_visible() else None
            says = found.first.inner_text().strip() or found.first.locator("img, svg").count() if box else ""
            if box is None or not says or box["y"] + box["height"] > n_screens * height:
                missing.append(f"{question} ({selector}: {box})")
        assert missing == []
        assert overflowing(page) == []
        assert violations(page) == []
