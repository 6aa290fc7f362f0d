"""Images at URLs, for models on this machine and for endpoints that edit: fetched once before the model sees them, and
never offline.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image as pil

from polymeter import Response, evaluate
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from polymeter.models.openai import OpenAIModel
from polymeter.store.exports.export import read_samples
from tests.helpers.file_server import Reply, serve
from tests.helpers.openai_stub import OpenAIStub, images

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
EDITS = """\
task: edits
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_image
doc_to_visual: !function utils.visual
doc_to_text: "Make it green."
doc_to_target: colour
metric_list: [bypass]
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
    monkeypatch.setenv("POLYMETER_ALLOW_PRIVATE_URLS", "1")
    (tmp_path / "colours.yaml").write_text(TASK)
    (tmp_path / "edits.yaml").write_text(EDITS)
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


@pytest.mark.parametrize("is_offline", [False, True])
def test_what_an_endpoint_edits_is_fetched_once_shown_and_never_fetched_offline(folder: Path, is_offline: bool) -> None:
    with (
        serve({"/red.png": Reply(png("red")), "/blue.png": Reply(png("blue"))}) as server,
        OpenAIStub(lambda _: images(png("green"))) as stub,
    ):
        write_rows(folder, server.url)
        result = evaluate(
            OpenAIModel("flux", base_url=stub.base_url),
            str(folder / "edits.yaml"),
            output=folder / "run",
            cache_dir=folder / "cache",
            is_offline=is_offline,
        )
        edits = [one for one in stub.received if one.path.endswith("/edits")]
    sent = [content for one in edits for _, file, _, content in one.form if file]
    assert sorted(sent) == ([] if is_offline else sorted([png("red"), png("blue"), png("red")]))
    assert result.n_failed == (4 if is_offline else 1)
    assert {path: n for path, n in server.asked.items() if path != "/none.png"} == (
        {} if is_offline else {"/red.png": 1, "/blue.png": 1}
    )
    samples = list(read_samples(result.folder, "edits"))
    assert {one["error"]["kind"] for one in samples if one["status"] == "error"} == {"data"}
    if not is_offline:
        shown = samples[0]["exchanges"][0]["request"]["messages"][0]["parts"]
        assert next(part["image"]["file"] for part in shown if "image" in part), "the page shows what was edited"
