"""The page of a run that is running."""

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Live",
    path="/run/going",
    answers=(".progress-done", ".progress-left", ".progress-score"),
)
