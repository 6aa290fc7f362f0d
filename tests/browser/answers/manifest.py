"""The page of a manifest."""

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Manifest",
    path="/run/signs/manifest",
    answers=("#head-1", "#head-2", "#head-3"),
)
