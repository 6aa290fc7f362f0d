"""Pages in headless Chromium: what they report while a test uses them, and when they are settled.

A click returns before the navigation or the request that it starts. So a test asserts with ``expect``, which looks
again until it is true, and waits for an address or with ``expect_navigation`` before it presses a key on the next page.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=30_000)  # as long as Playwright waits for what is clicked

_ON_THIS_MACHINE = ("file:", "data:", "http://127.0.0.1:")
# Each document of a context reports it at once: a test does not ask, and a page that is left is heard, too.
_HEAR_HACKED = """Object.defineProperty(window, "hacked", {
    set(value) { console.error(`A text ran as a script: ${value}`); } });"""
_IS_SETTLED = """() => document.readyState === "complete" && document.fonts.status === "loaded"
    && !document.querySelector(".htmx-request, [aria-busy=true]")
    && [...document.images].every((image) => {
        const { top, bottom } = image.getBoundingClientRect();
        return image.complete || !image.checkVisibility() || bottom < 0 || top > window.innerHeight;
    })"""
_TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


@contextmanager
def opened(
    browser: Any, *, own: tuple[str, ...] = _ON_THIS_MACHINE, is_examined: bool = False, **options: Any
) -> Iterator[Any]:
    """A page in a context of its own: no text of it may run as a script, and nothing may be reported, missing, or
    asked for elsewhere.

    Args:
        browser: The browser.
        own: How the addresses begin that the page may ask for.
        is_examined: Whether axe examines it. Its script, not the page's, asks for the style sheets of a page in a file.
        **options: Those of the browser's context.
    """
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
    context.add_init_script(_HEAR_HACKED)
    page = context.new_page()
    troubles: list[str] = []
    if not is_examined:
        page.on("console", lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None)
        # What a page still asks for when it is left is not missing.
        page.on(
            "requestfailed", lambda asked: None if asked.failure == "net::ERR_ABORTED" else troubles.append(asked.url)
        )
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(own) else troubles.append(asked.url))
    page.on("response", lambda answer: troubles.append(answer.url) if answer.status >= 400 else None)
    try:
        yield page
        page.locator("html").wait_for(state="attached")  # an answer of the browser, after all that it has to report
    finally:
        context.close()
    assert not troubles, troubles  # pytest does not explain the assertions of a helper


def settle(page: Any) -> None:
    """Wait until a page is loaded, with the parts that it asks for and the images on the screen, and is laid out.

    A test does so before it measures boxes or colours, or asks axe.
    """
    page.wait_for_function(_IS_SETTLED)
    page.evaluate(_TWO_FRAMES)
