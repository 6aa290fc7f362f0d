"""The conformance suite's own rows and verdicts: the same for a seed, and readable after compression."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from conformance.frame import MODELS
from conformance.ulmeval.rows import ROWS, SCHEMAS, number_of, picture, rows_of
from conformance.ulmeval.worked import values, verdict


@pytest.mark.parametrize("number", [1, 2, 35, 21_845])
def test_a_picture_keeps_its_number_through_compression(number: int) -> None:
    file = io.BytesIO()
    small = picture(number)
    small.thumbnail((320, 320))
    small.save(file, "JPEG", quality=60)
    with Image.open(file) as seen:
        assert number_of(seen) == number


@pytest.mark.parametrize("benchmark", SCHEMAS)
def test_a_seed_gives_the_same_rows_and_three_different_models(benchmark: str) -> None:
    rows = rows_of(benchmark, 7)
    assert rows == rows_of(benchmark, 7) != rows_of(benchmark, 8)
    assert len(rows) == ROWS
    assert verdict(benchmark, "", "messy", 3, 7) == verdict(benchmark, "", "messy", 3, 7)
    worked = [values(benchmark, rows, model, 7) for model in MODELS]
    assert worked[0] != worked[1] != worked[2] != worked[0]
