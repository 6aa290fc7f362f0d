"""The list of runs."""

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Runs",
    path="/",
    answers=(".run .run-name a", ".run .run-value", ".choose button[value=compare]"),
)
