"""The answers of the page of a training run's curve."""

from __future__ import annotations

from pathlib import Path

from polymeter.report.curve.page import make_curve_page
from tests.browser.answers.page import AnsweringPage
from tests.report.test_curve import document, gap, line, point


def write(folder: Path) -> Path:
    """Write the curve of a training run that got worse in its last step."""
    points = [point(100, 0.5)]
    points += [point(100 * n, 0.5 + 0.03 * n, difference=gap(100 * (n - 1), 0.03, "better")) for n in range(2, 9)]
    points.append(point(900, 0.62, difference=gap(800, -0.12, "worse")))
    page = folder / "curve.html"
    page.write_text(make_curve_page(document(line("signs", points))), encoding="utf-8")
    return page


PAGE = AnsweringPage(
    heading="Curve", file=write, answers=(".standings .since", ".best-step", ".standings .lead-text"), wait_for=".chart"
)
