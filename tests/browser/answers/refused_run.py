"""The page of a run most of whose samples failed."""

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Refused run",
    path="/run/failing",
    answers=(".refusal .why-refused", ".refusal .lost", ".refusal .advice"),
)
