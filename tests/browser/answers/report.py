"""The report of a run, a file."""

from __future__ import annotations

from pathlib import Path

from polymeter.report import make_html_report
from tests.browser.answers.page import AnsweringPage
from tests.report.synthetic import SyntheticRun


def write_report(folder: Path) -> Path:
    """Write the report of one task with images and four subsets."""
    run = SyntheticRun()
    tasks = {"demo_signs": run.results["tasks"]["demo_signs"]}
    results = {**run.results, "tasks": tasks, "groups": {}, "layout": [["task", "demo_signs", 0]]}
    file = folder / "report.html"
    file.write_text(make_html_report(run.manifest, results, run.samples, run.media), encoding="utf-8")
    return file


PAGE = AnsweringPage(
    heading="Report",
    file=write_report,
    answers=("h1", ".figures li", "#list li .gist"),
    wait_for="#list li",
)
