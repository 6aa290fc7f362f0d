"""The list of samples, of a run whose task gives its images names."""

from __future__ import annotations

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Samples",
    path="/run/drawn/samples",
    answers=(".row:has(.row-file) .row-asked", ".row-scores .value", ".state:has([value=wrong])"),
)
