"""Take the pictures of README and docs: makes the runs, and opens their pages in headless Chromium.

``python -m scripts.pictures [FOLDER]`` writes PNG files into ``docs/`` (or FOLDER). It needs the extras ``ocr`` and
``viewer``, and Chromium. The runs take about a minute.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

import polymeter
from tests.helpers.viewing import serving

_DOCS = Path(__file__).parents[1] / "docs"
_WIDTH = 1200


@dataclass(frozen=True)
class Picture:
    """A picture.

    Attributes:
        path: The address in the viewer, or the file of a report below the folder of runs.
        height: The height of the window in pixels.
        wait_for: A selector that is visible once the page is complete.
    """

    path: str
    height: int = 820
    wait_for: str = "main"


PICTURES: Mapping[str, Picture] = {
    "report": Picture("demo/report.html", 1100),
    "report-t2i": Picture("shapes/report.html", 1100),
    "viewer-samples": Picture("/run/demo/samples?task=demo_signs"),
    "viewer-sample": Picture("/run/demo/sample?task=demo_signs&index=5"),
    "viewer-compare": Picture("/compare?run=baseline&run=signs"),
}


def make_runs(folder: Path) -> None:
    """Make the runs that the pictures show."""
    runs: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("demo", "ocr", "demo", {}),
        ("signs", "ocr", "demo_signs", {}),
        ("baseline", "mock", "demo_signs", {"model_args": {"answer": "EXIT"}}),
        ("shapes", "shapes", "demo_t2i", {"limit": 40}),
    )
    for name, model, task, options in runs:
        polymeter.evaluate(model, task, output=folder / name, **options)


def take(runs: Path, target: Path) -> None:
    """Take all pictures of a folder of runs."""
    from playwright.sync_api import sync_playwright

    with serving(runs) as address, sync_playwright() as playwright:
        chromium = shutil.which("chromium") or "/usr/bin/chromium"
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, picture in PICTURES.items():
            page = browser.new_page(viewport={"width": _WIDTH, "height": picture.height}, color_scheme="light")
            page.goto(address + picture.path if picture.path.startswith("/") else (runs / picture.path).as_uri())
            page.locator(picture.wait_for).first.wait_for(state="visible")
            page.wait_for_load_state("networkidle")
            _save(page.screenshot(), target / f"{name}.png")
            page.close()
        browser.close()


def _save(shot: bytes, file: Path) -> None:
    """Save a screenshot with at most 256 colours: pages have few, and the repository stays small."""
    with Image.open(io.BytesIO(shot)) as image:
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        make_runs(Path(made))
        take(Path(made), Path(sys.argv[1]) if len(sys.argv) > 1 else _DOCS)
