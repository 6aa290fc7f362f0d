"""The page of a training's curve in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report.curve.page import make_curve_page
from tests.helpers.accessibility import overflowing, violations
from tests.helpers.browsing import opened
from tests.report.test_curve import grown

pytestmark = pytest.mark.browser


@pytest.fixture(params=[(360, 20), (768, 1), (768, 20), (1440, 2), (1440, 20)])
def page(request, browser, tmp_path):
    width, n = request.param
    file = tmp_path / "page.html"
    file.write_text(make_curve_page(grown(n)), encoding="utf-8")
    with opened(browser, viewport={"width": width, "height": 900}) as page:
        page.goto(file.as_uri())
        yield page


def test_nothing_sticks_out(page):
    assert overflowing(page) == []
    wide = """() => [...document.querySelectorAll("main *")].filter((node) => node.getClientRects().length &&
        node.getBoundingClientRect().right > window.innerWidth + 1).length"""
    assert page.evaluate(wide) == 0


def test_labels_can_be_read(page):
    sizes = """() => [...document.querySelectorAll(".chart text")]
        .filter((node) => node.getClientRects().length).map((node) => node.getBoundingClientRect().height)"""
    assert min(page.evaluate(sizes)) >= 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert violations(page) == []
