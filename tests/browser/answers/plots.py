"""The page of a task's plots."""

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Plots",
    path="/run/first/plots",
    answers=(".p-plot .p-stack", ".plots-title", ".p-numbers > summary"),
)
