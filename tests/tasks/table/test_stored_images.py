"""Large tables, whose images stay in a file: the same rows, prompts and fingerprints."""

import base64
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.data.stored_column import StoredColumn
from polymeter.data.tables import large as large_tables
from polymeter.tasks.table.base import ImageBaseDataset
from polymeter.tasks.table.rows import table_of


def text(seed):
    noise = np.random.default_rng(seed).integers(0, 255, (30, 20, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    pil.fromarray(noise).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


FIRST, SECOND = text(1), text(2)
CELLS = [
    FIRST,
    str([FIRST, SECOND]),
    "0",
    str([SECOND, "1"]),
    "",
    str([SECOND]),
    "[" + FIRST + "]",
    FIRST[:1200] + "!",
    "4",
]


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path))
    monkeypatch.delenv("FORCE_LOCAL", raising=False)
    questions = [f"q{number}" for number in range(len(CELLS))]
    frame = pd.DataFrame({"index": range(len(CELLS)), "image": CELLS, "question": questions, "answer": "007"})
    frame.to_csv(tmp_path / "X.tsv", sep="\t", index=False)
    return tmp_path


def both(monkeypatch, **arguments):
    whole = ImageBaseDataset("X", **arguments)
    monkeypatch.setattr(large_tables, "LARGE_BYTES", 0)
    stored = ImageBaseDataset("X", **arguments)
    assert isinstance(stored.data["image"].array, StoredColumn)
    return whole, stored


def asked(dataset, number):
    try:
        items = dataset.build_prompt(number)
    except DataError as error:
        return str(error)
    return [Path(item["value"]).read_bytes() if item["type"] == "image" else item["value"] for item in items]


@pytest.mark.parametrize("skip_noimg", [True, False])
def test_rows_prompts_and_errors_of_rows_are_the_same(monkeypatch, skip_noimg):
    whole, stored = both(monkeypatch, skip_noimg=skip_noimg)
    pd.testing.assert_frame_equal(stored.data.assign(image=stored.data["image"].astype(object)), whole.data)
    prompts = [asked(stored, number) for number in range(len(stored))]
    assert prompts == [asked(whole, number) for number in range(len(whole))]
    assert any(isinstance(prompt, str) for prompt in prompts)
    assert stored[1] == whole[1]
    assert not stored.meta_only


def test_fingerprints_and_samples_are_the_same(monkeypatch):
    whole, stored = (table_of("X", dataset.data, "X") for dataset in both(monkeypatch))
    assert stored.digest() == whole.digest()
    for number in range(len(whole)):
        assert stored.doc(number) == whole.doc(number)
        assert stored.whole(number) == whole.whole(number)
        assert stored.line(number).equals(whole.line(number))


@pytest.mark.needs_system("ulmeval")
def test_images_are_written_by_the_shim_as_ever(monkeypatch):
    from polymeter.interop.ulmeval.shim.ulmeval.smp.file import localize_df

    whole, stored = both(monkeypatch)
    good = [0, 1, 2]
    expected = localize_df(whole.data.iloc[good], "X")
    pd.testing.assert_frame_equal(localize_df(stored.data.iloc[good], "X"), expected)
