"""Images at URLs, for models on this machine: fetched once before the model sees them, and never offline."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image as pil

from polymeter import Response, evaluate
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.helpers.file_server import Reply, serve

TASK = """\
task: colours
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: !function utils.visual
doc_to_text: "Which colour?"
doc_to_target: colour
metric_list: [{metric: exact_match}]
"""
UTILS = """\
def visual(doc):
    return [doc["url"]]
"""


def png(colour: str) -> bytes:
    file = io.BytesIO()
    pil.new("RGB", (8, 8), colour).save(file, "PNG")
    return file.getvalue()


def named(request: Request) -> str:
    pixel = next(request.images()).open().convert("RGB").getpixel((0, 0))
    return {(255, 0, 0): "red", (0, 0, 255): "blue"}[pixel]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    (tmp_path / "colours.yaml").write_text(TASK)
    (tmp_path / "utils.py").write_text(UTILS)
    return tmp_path


def write_rows(folder: Path, base: str) -> None:
    rows = [("red", "/red.png"), ("blue", "/blue.png"), ("red", "/red.png"), ("red", "/none.png")]
    (folder / "rows.jsonl").write_text(
        "".join(f'{{"colour": "{colour}", "url": "{base}{path}"}}\n' for colour, path in rows)
    )


def test_a_url_is_fetched_once_and_a_failed_one_is_its_samples_error(folder: Path) -> None:
    with serve({"/red.png": Reply(png("red")), "/blue.png": Reply(png("blue"))}) as server:
        write_rows(folder, server.url)
        model = MockBatch(lambda request: Response.of_text(named(request)), batch_size=2)
        result = evaluate(model, str(folder / "colours.yaml"), output=folder / "run", cache_dir=folder / "cache")
        found = result.result("colours", "exact_match")
        assert (found.value, found.n, result.n_failed) == (1.0, 3, 1)
        assert (server.asked["/red.png"], server.asked["/blue.png"]) == (1, 1)


def test_offline_fetches_no_image(folder: Path) -> None:
    with serve({"/red.png": Reply(png("red")), "/blue.png": Reply(png("blue"))}) as server:
        write_rows(folder, server.url)
        model = MockBatch(lambda request: Response.of_text(named(request)))
        result = evaluate(
            model,
            str(folder / "colours.yaml"),
            output=folder / "run",
            cache_dir=folder / "cache",
            is_offline=True,
        )
        assert result.n_failed == 4
        assert not server.asked
