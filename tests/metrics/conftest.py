"""Cases as data: one JSON file per family beside this file."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parent / "cases"


def load(*families: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{family}:{case['name']}")
        for family in families
        for case in json.loads((CASES / f"{family}.json").read_text(encoding="utf-8"))
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "score_case" in metafunc.fixturenames:
        metafunc.parametrize("score_case", load("matching", "edits", "values", "boxes", "corpus", "tables"))
    if "aggregate_case" in metafunc.fixturenames:
        metafunc.parametrize("aggregate_case", load("classes", "translation", "likelihood", "numbers", "captions"))
    for fixture, family in {
        "overlap_case": "overlap",
        "extract_case": "math_extract",
        "strip_case": "math_strip",
        "equal_case": "math_equal",
    }.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, load(family))
