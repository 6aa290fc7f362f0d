"""The page of a sample."""

from __future__ import annotations

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Sample",
    path="/run/signs/sample?index=0",
    answers=(".c-side .c-figure", ".c-pair", ".c-scores .value"),
)
