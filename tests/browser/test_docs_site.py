"""The documentation site in headless Chromium, opened from its folder as a reader does who has no server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.docs_site import ROOT, write_tree
from tests.helpers.accessibility import overflowing
from tests.helpers.browsing import expect, opened, settle

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope", "ulmeval"),
]

BASE = (ROOT / "src" / "polymeter" / "report" / "templates" / "base.css").read_text("utf-8")
HEIGHT = 900


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with its theme, search and pages; the reference from docstrings is left out, which takes long."""
    commands = pytest.importorskip("mkdocs.commands.build")
    config = pytest.importorskip("mkdocs.config")
    file = ROOT / "mkdocs.yml"
    plugins = pytest.importorskip("mkdocs.utils.yaml").yaml_load(file.read_text("utf-8"))["plugins"]
    folder = tmp_path_factory.mktemp("site")
    write_tree(folder / "pages")
    made = config.load_config(
        str(file),
        docs_dir=str(folder / "pages"),
        site_dir=str(folder / "site"),
        plugins=[plugin for plugin in plugins if "mkdocstrings" not in plugin],
        strict=False,
    )
    commands.build(made)
    return folder / "site"


@pytest.fixture(params=[(1400, "light"), (1400, "dark"), (390, "light")], ids=str)
def page(request: Any, browser: Any, site: Path) -> Iterator[Any]:
    width, scheme = request.param
    with opened(browser, viewport={"width": width, "height": HEIGHT}, color_scheme=scheme) as page:
        page.goto((site / "index.html").as_uri())
        yield page


def search(page: Any, text: str) -> None:
    if page.viewport_size["width"] < 960:
        page.click("label.md-header__button[for=__search]")
    page.click(".md-search__input")
    page.keyboard.type(text)
    page.wait_for_selector(".md-search-result__item")


def test_a_word_is_found_and_its_page_opens(page: Any) -> None:
    search(page, "Krippendorff")
    expect(page.locator(".md-search-result__meta")).to_have_text(re.compile(r"^\s*\d+ matching document"))
    page.click(".md-search-result__link >> nth=0")
    expect(page).not_to_have_url(re.compile("/index.html"))
    expect(page.locator(".md-content")).to_contain_text("krippendorff", ignore_case=True)


def test_an_option_is_found_with_its_dashes(page: Any) -> None:
    search(page, "--parity")  # every beginning of it is searched as it is typed
    page.wait_for_selector(".md-search-result__list mark:text-is('parity')")


def test_a_picture_is_on_the_first_screen(page: Any) -> None:
    settle(page)
    box = page.locator(".md-content img").first.bounding_box()
    assert box["width"] > 300
    assert box["y"] + box["height"] < HEIGHT
    assert overflowing(page) == []


def test_the_face_is_that_of_the_viewer(page: Any) -> None:
    settle(page)
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    tokens = re.findall(r":root \{(.*?)\}", BASE, re.S)[1 if is_dark else 0]

    def token(name: str, text: str = tokens) -> str:
        (found,) = re.findall(rf"--{name}: ([^;]+);", text)
        return found

    def shown(selector: str, style: str) -> str:
        return page.locator(selector).first.evaluate(f"one => getComputedStyle(one).{style}")

    def rgb(hexadecimal: str) -> str:
        return "rgb({}, {}, {})".format(*bytes.fromhex(hexadecimal[1:]))

    assert shown("body", "backgroundColor") == rgb(token("paper"))
    assert shown(".md-header", "backgroundColor") == rgb(token("paper"))
    assert shown(".md-content p", "color") == rgb(token("ink"))
    assert shown(".md-content td a", "color") == rgb(token("accent"))
    assert shown(".md-content p", "fontFamily").startswith(token("sans", BASE).partition(",")[0])
    assert shown(".md-content pre code", "fontFamily").startswith(token("mono", BASE).partition(",")[0])
