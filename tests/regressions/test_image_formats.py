"""An image is opened in listed formats only, whatever its name: PostScript is a program, and starts none here."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

_TASK = """\
task: pictures
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: VISUAL
doc_to_text: "?"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
_UTILS = """\
import base64, io
from PIL import Image


def visual(doc):
    return [Image.open(io.BytesIO(base64.b64decode(doc["data"]))).convert("RGB")]


def shown(doc):
    return [Image.open(io.BytesIO(base64.b64decode(doc["data"])))]
"""
_GHOSTSCRIPT = """\
#!/bin/sh
touch CANARY
exit 1
"""


def postscript() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "EPS")
    return buffer.getvalue()


def encoded(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "teal").save(buffer, kind)
    return buffer.getvalue()


def run(folder: Path, visual: str, data: bytes) -> tuple[int, str]:
    """The exit code, and what is said of the only sample."""
    (folder / "utils.py").write_text(_UTILS)
    (folder / "picture.png").write_bytes(data)
    row = {"image": "picture.png", "data": base64.b64encode(data).decode(), "a": "mock"}
    (folder / "rows.jsonl").write_text(json.dumps(row))
    (folder / "pictures.yaml").write_text(_TASK.replace("VISUAL", visual))
    program = folder / "bin" / "gs"
    program.parent.mkdir()
    program.write_text(_GHOSTSCRIPT.replace("CANARY", str(folder / "CANARY")))
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        [sys.executable, "-m", "polymeter", "run", "--model", "mock", "--tasks", "pictures.yaml", "--output", "out"],
        cwd=folder,
        env={**os.environ, "POLYMETER_CACHE_DIR": str(folder / "cache"), "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    samples = folder / "out" / "samples" / "pictures.jsonl"
    return ended.returncode, ended.stderr + (samples.read_text(encoding="utf-8") if samples.exists() else "")


@pytest.mark.parametrize("visual", ["image", "!function utils.visual", "!function utils.shown"])
def test_postscript_starts_no_program(visual: str, tmp_path: Path) -> None:
    code, said = run(tmp_path, visual, postscript())
    assert not (tmp_path / "CANARY").exists()
    assert code in (1, 2)
    assert re.search("Encapsulated Postscript|Ghostscript", said)


def test_the_error_says_what_the_format_is_and_which_are_read(tmp_path: Path) -> None:
    _, said = run(tmp_path, "image", postscript())
    assert "picture.png: it is Encapsulated Postscript (EPS), not " in said
    assert "JPEG" in said
    assert "WEBP" in said


@pytest.mark.control
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF", "PPM", "JPEG2000"])
def test_usual_formats_are_read_whatever_the_name(kind: str, tmp_path: Path) -> None:
    code, said = run(tmp_path, "image", encoded(kind))
    assert code == 0, said
