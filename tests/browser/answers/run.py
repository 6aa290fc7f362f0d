"""The page of a run."""

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Run",
    path="/run/first",
    answers=(".run-head h1", ".headline .main-interval", ".settings-box"),
)
