"""A test in a browser asserts with ``expect``: what a page shows at one moment depends on the speed of the machine."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.helpers.browsing import opened

MOMENTARY = {
    "all_inner_texts",
    "all_text_contents",
    "get_attribute",
    "inner_html",
    "inner_text",
    "input_value",
    "is_checked",
    "is_disabled",
    "is_enabled",
    "is_hidden",
    "is_visible",
    "text_content",
    "title",
}
"""Methods of Playwright that do not wait until their answer is the right one."""


def momentary(source: str) -> list[int]:
    """The lines of a source whose assertion looks at a page once."""
    looks = [
        part
        for found in ast.walk(ast.parse(source))
        if isinstance(found, ast.Assert)
        for part in ast.walk(found)
        if (isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and _is_momentary(part))
        or (isinstance(part, ast.Attribute) and part.attr == "url")
    ]
    return sorted(part.lineno for part in looks)


def _is_momentary(call: ast.Call) -> bool:
    return call.func.attr in MOMENTARY or (call.func.attr == "count" and not call.args)


def test_no_assertion_looks_at_a_page_once() -> None:
    found = [
        f"{path.name}:{line}"
        for path in sorted(Path(__file__).parent.rglob("*.py"))
        for line in momentary(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_such_an_assertion_is_found() -> None:
    source = "assert page.locator('a').count() == 1\nassert 'b' in page.url\nassert [one.count('x') for one in texts]\n"
    assert momentary(source) == [1, 2]


@pytest.mark.browser
def test_a_text_that_ran_as_a_script_is_heard_though_its_page_was_left(browser) -> None:
    def visit() -> None:
        with opened(browser) as page:
            page.set_content("<script>window.hacked = 1</script>")
            page.goto("about:blank")

    with pytest.raises(AssertionError, match="ran as a script: 1"):
        visit()
