"""What axe finds on a page that headless Chromium shows, and whether anything sticks out of it."""

from __future__ import annotations

from typing import Any

from tests.helpers.browsing import settle

WIDTHS = (360, 768, 1440)
SCHEMES = ("light", "dark")
_LOOKS = """async () => (await axe.run(document, { resultTypes: ["violations"] })).violations.flatMap((found) =>
    found.nodes.map((node) => `${found.id} (${found.impact}): ${node.target.join(" ")}: ` +
        [...node.any, ...node.all, ...node.none].map((check) => check.message).join("; ")))"""
_STICKS_OUT = """() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
    [...document.querySelectorAll("body *")]
        .filter((node) => node.getBoundingClientRect().right > window.innerWidth + 1)
        .map((node) => `${node.tagName.toLowerCase()}.${node.className}`)"""


def violations(page: Any) -> list[str]:
    """What axe-core's default rules (WCAG 2 A and AA, and best practices) find on a page of Playwright: rule, element
    and what is wrong with it. What a closed ``details`` or a filter hides is not looked at.
    """
    from axe_playwright_python.base import AXE_SCRIPT

    settle(page)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(_LOOKS)


def overflowing(page: Any) -> list[str]:
    """The elements that make a page wider than its window; none if it is not."""
    settle(page)
    return page.evaluate(_STICKS_OUT)


def expand(page: Any) -> None:
    """Open everything that can be unfolded, so that it is looked at, too."""
    settle(page)
    page.evaluate("() => document.querySelectorAll('details').forEach((node) => { node.open = true; })")
