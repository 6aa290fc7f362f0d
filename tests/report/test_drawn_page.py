"""Generated images in the report: embedded with what they are compared to, and nothing of them can run."""

from __future__ import annotations

import json
import re

import pytest

from polymeter.report import make_html_report
from polymeter.report.render import to_markdown, to_text
from polymeter.report.run.extract import media_files
from tests.report.drawn import DrawnRun, as_image


@pytest.fixture(scope="module")
def run() -> DrawnRun:
    return DrawnRun()


@pytest.fixture(scope="module")
def page(run: DrawnRun) -> str:
    return make_html_report(run.manifest, run.results, run.samples, run.media)


def embedded(page: str, name: str):
    return json.loads(re.search(f'<script type="application/json" id="{name}">(.*?)</script>', page, re.S)[1])


def test_every_image_is_embedded_once(run, page):
    images = embedded(page, "pictures")
    assert set(images) == set(run.files)
    assert as_image(images["p21.png"]).getpixel((3, 3)) == (80, 80, 99)


def test_inputs_outputs_and_references_belong_to_a_sample(run):
    assert list(media_files(run.by_task["edits"][0])) == ["red.png", "blue.png", "navy.png"]
    assert list(media_files({"log": {"reference": {"image": 3}, "a": [], "b": {"image": {"file": None}}}})) == []


def test_seeds_settings_and_notes_reach_the_page(page):
    sample = embedded(page, "data")["samples"][1]
    (exchange,) = sample["exchanges"]
    assert exchange["request"]["ask"]["seeds"] == [1000, 1001, 1002]
    assert exchange["response"]["outputs"][0]["note"].startswith("<img")
    assert sample["explanation"].startswith("two discs found")


def test_a_number_without_an_interval_says_so(run, page):
    rows = [row for row in re.findall(r"<tr role=.*?</tr>", page, re.S) if "fid" in row or ">right" in row]
    assert ["no interval" in row for row in rows] == [False, True]
    note = "Paint computes fid from all answers together, so there is no interval."
    assert note in page
    assert note in to_text(run.results)
    assert note in to_markdown(run.results)
