"""The answers of the leaderboard."""

from __future__ import annotations

from tests.browser.answers.page import AnsweringPage

PAGE = AnsweringPage(
    heading="Leaderboard", path="/leaderboard", answers=(".best-text", ".best-more", "#count"), wait_for=".best-text"
)
