"""An image with too many pixels is an error of its sample, before it is decoded."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.helpers.openai_stub import OpenAIStub, images
from tests.regressions.endpoints import where_known

_TASK = """\
task: pictures
dataset_path: {builder}
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
doc_to_visual: {visual}
doc_to_text: "{{{{q}}}}"
doc_to_target: a
metric_list: [{{metric: exact_match}}]
"""
_DRAWN = """\
task: drawn
output_type: generate_image
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
generation_kwargs: {size: [300, 300]}
process_results: !function utils.score
metric_list: [{metric: m, aggregation: mean, higher_is_better: true}]
"""
_UTILS = """\
from PIL import Image


def visual(doc):
    return [Image.open(doc["path"]).convert("L")]


def score(doc, results):
    return {"m": 1.0}
"""


def _png(side: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("1", (side, side)).save(buffer, "PNG")
    return buffer.getvalue()


def _run(
    home: Path, task: str, *words: str, model: str = "mock"
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    cache = {"POLYMETER_CACHE_DIR": str(home / "cache"), "HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "polymeter", "run", "--model", model, "--tasks", str(home / task)]
    run = subprocess.run(
        [*command, "--output", str(home / "out"), "--quiet", *words],
        cwd=home,
        env={**os.environ, **cache},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    files = [*(home / "out" / "samples").glob("*.jsonl")] if (home / "out").is_dir() else []
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return run, sorted(rows, key=lambda row: int(row["index"]))


def _parquet(home: Path, images: list[bytes]) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells = [{"bytes": data, "path": None} for data in images]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    n = len(images)
    table = pa.table({"image": pa.array(cells, kind), "q": ["x"] * n, "a": ["mock"] * n})
    text = {"dtype": "string", "_type": "Value"}
    features = {"info": {"features": {"image": {"_type": "Image"}, "q": text, "a": text}}}
    pq.write_table(table.replace_schema_metadata({"huggingface": json.dumps(features)}), home / "rows.parquet")
    (home / "pictures.yaml").write_text(_TASK.format(builder="parquet", rows="rows.parquet", visual="image"))
    return "pictures.yaml"


def _paths(home: Path, images: list[bytes]) -> str:
    rows = []
    for number, data in enumerate(images):
        path = home / f"{number}.png"
        path.write_bytes(data)
        rows.append({"path": str(path), "q": "x", "a": "mock"})
    (home / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (home / "utils.py").write_text(_UTILS)
    hook = "!function utils.visual"
    (home / "pictures.yaml").write_text(_TASK.format(builder="json", rows="rows.jsonl", visual=hook))
    return "pictures.yaml"


def _table(home: Path, images: list[bytes]) -> str:
    lines = [f"{number}\t{base64.b64encode(data).decode()}\tx\tmock" for number, data in enumerate(images)]
    (home / "pictures.tsv").write_text("\n".join(["index\timage\tquestion\tanswer", *lines, ""]))
    return "pictures.tsv"


_HOW = {"local": (), "endpoint": ("--model-args", "is_async=true")}
_SOURCES = {"parquet": _parquet, "opened by a hook": _paths, "table": _table}


@pytest.mark.parametrize("kind", _SOURCES)
@pytest.mark.parametrize("how", _HOW)
def test_an_image_over_the_budget_is_its_samples_error_with_the_numbers_and_the_flag(
    tmp_path: Path, kind: str, how: str
) -> None:
    task = _SOURCES[kind](tmp_path, [_png(90), _png(300), _png(91)])
    budget = where_known("max_image_pixels", "--max-image-pixels", "10000")
    run, rows = _run(tmp_path, task, *budget, *_HOW[how])
    assert run.returncode == 1, run.stderr
    assert [row["status"] for row in rows] == ["ok", "error", "ok"]
    said = rows[1]["error"]["message"].replace(",", "")
    assert "--max-image-pixels" in said, said
    assert "90000" in said, said
    assert "10000" in said, said


@pytest.mark.parametrize("kind", ["parquet", "table"])
@pytest.mark.parametrize("how", _HOW)
def test_a_bomb_is_refused_by_default_and_the_flag_is_named(tmp_path: Path, kind: str, how: str) -> None:
    task = _SOURCES[kind](tmp_path, [_png(60), _png(15_000)])
    run, rows = _run(tmp_path, task, *_HOW[how])
    assert [row["status"] for row in rows] == ["ok", "error"]
    assert run.returncode == 1, run.stderr
    assert "--max-image-pixels" in rows[1]["error"]["message"]


@pytest.mark.parametrize("how", _HOW)
def test_images_that_together_are_a_bomb_are_refused_by_default(tmp_path: Path, how: str) -> None:
    task = _paths(tmp_path, [_png(13_000), _png(60)])
    (tmp_path / "utils.py").write_text("def visual(doc):\n    return [doc['path']] * 5\n")
    run, rows = _run(tmp_path, task, *_HOW[how])
    assert [row["status"] for row in rows] == ["error", "ok"]
    assert run.returncode == 1, run.stderr
    assert "--max-image-pixels" in rows[0]["error"]["message"]


def test_the_flag_admits_a_larger_image(tmp_path: Path) -> None:
    budget = where_known("max_image_pixels", "--max-image-pixels", "300000000")
    run, rows = _run(tmp_path, _paths(tmp_path, [_png(15_000)]), *budget)
    assert run.returncode == 0, run.stderr
    assert [row["status"] for row in rows] == ["ok"]


def _drawing(home: Path) -> str:
    (home / "rows.jsonl").write_text(json.dumps({"q": "draw", "a": "x"}) + "\n")
    (home / "utils.py").write_text(_UTILS)
    (home / "drawn.yaml").write_text(_DRAWN)
    return "drawn.yaml"


def test_a_generated_image_over_the_budget_is_its_samples_error(tmp_path: Path) -> None:
    budget = where_known("max_image_pixels", "--max-image-pixels", "10000")
    run, rows = _run(tmp_path, _drawing(tmp_path), *budget)
    assert run.returncode == 1, run.stderr
    assert "--max-image-pixels" in rows[0]["error"]["message"]


def test_a_generated_bomb_is_refused_by_default_and_the_flag_is_named(tmp_path: Path) -> None:
    reply = images(_png(15_000))
    with OpenAIStub(lambda received: reply) as stub:
        at = ("--base-url", stub.base_url, "--model-args", "api=images")
        run, rows = _run(tmp_path, _drawing(tmp_path), *at, model="openai:m")
    assert run.returncode == 1, run.stderr
    assert rows[0]["status"] == "error"
    said = rows[0]["error"]["message"].replace(",", "")
    assert "--max-image-pixels" in said, said
    assert "225000000" in said, said
