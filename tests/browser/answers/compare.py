"""The answers of the page that compares two runs."""

from __future__ import annotations

from tests.browser.answers.page import AnsweringPage
from tests.helpers.viewing import SECOND

PAGE = AnsweringPage(
    heading="Compare",
    path=f"/compare?run=first&run={SECOND}",
    answers=(".lead-text", ".outcomes + .aside", ".outcome-links"),
    wait_for=".outcomes",
)
