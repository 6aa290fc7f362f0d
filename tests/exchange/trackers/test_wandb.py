"""Weights & Biases, offline: what stands in the file that ``wandb sync`` would send."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter import PlanError
from tests.helpers.seen import USED, N

pytest.importorskip("wandb")
_BLOCK = 32768
KEY = "sk-neverinafile0123456789"


def send(run: polymeter.RunResult, folder: Path, arguments: str, *, code: str = "") -> list[Any]:
    """Send a run in a process of its own, because wandb leaves a service behind; returns the records that it wrote."""
    places = {f"WANDB_{name}_DIR": str(folder / name.lower()) for name in ("DATA", "CACHE", "CONFIG", "ARTIFACT")}
    words = ["log", str(run.folder.path), "--to", f"wandb:mode=offline,dir={folder},{arguments}"]
    command = ["-c", code, *words] if code else ["-m", "polymeter", *words]
    environment = {**os.environ, **places, "WANDB_API_KEY": KEY}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "logged   wandb, " in done.stdout
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    return list(records(file))


def records(file: Path) -> Iterator[Any]:
    """The records of a transaction log, which has the layout of LevelDB's."""
    from wandb.proto import wandb_internal_pb2

    data, place, whole = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        left = _BLOCK - place % _BLOCK
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        whole += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last of several
            yield wandb_internal_pb2.Record.FromString(whole)
            whole = b""


def updates(found: list[Any], kind: str) -> dict[str, Any]:
    items = [item for record in found if record.HasField(kind) for item in getattr(record, kind).update]
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def table(found: list[Any], name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows of a table, and the images that go with it."""
    for record in found:
        if record.HasField("artifact") and record.artifact.type == "run_table":
            contents = {item.path: item.local_path for item in record.artifact.manifest.contents}
            if f"{name}.table.json" in contents:
                text = json.loads(Path(contents[f"{name}.table.json"]).read_text())
                rows = [dict(zip(text["columns"], row, strict=True)) for row in text["data"]]
                return rows, [path for path in contents if "media/images" in path]
    raise AssertionError(f"there is no table {name}")


def test_a_run_is_sent(run: polymeter.RunResult, folder: Path) -> None:
    found = send(run, folder, "project=vlm,name=7,tags='first',samples=4")
    (begun,) = {record.run.SerializeToString() for record in found if record.HasField("run")}
    result = run.result("seen", "answer")
    head = next(record.run for record in found if record.HasField("run"))
    assert begun
    assert (head.project, head.display_name, head.job_type, list(head.tags)) == ("vlm", "7", "eval", ["first"])
    summary = updates(found, "summary")
    assert summary["seen/answer"] == result.value
    assert summary["seen/answer_stderr"] == result.stderr
    used = {name: value for name, value in summary.items() if name.startswith("usage/")}
    assert used == {f"usage/model/Teller/{name}": value for name, value in USED.items()}
    config = updates(found, "config")["polymeter"]
    assert config["tasks"]["seen"]["n_samples"] == N
    assert config["options"]["seed"] == 0
    numbers, _ = table(found, "results")
    assert {row["name"]: row["value"] for row in numbers}["seen/answer"] == result.value
    rows, images = table(found, "samples/seen")
    assert [(row["id"], row["prompt"], row["answer"]) for row in rows[:1]] == [("0", "What is 0?", "0\\ud83d")]
    assert [row["score/answer"] for row in rows] == [0.5, 0.5, 0.5, None]
    assert len(rows) == 4
    assert len(images) == 2
    (artifact,) = [r.artifact for r in found if r.HasField("artifact") and r.artifact.type == "evaluation"]
    assert {item.path for item in artifact.manifest.contents} == {"results.json", "report.html"}


def test_nothing_else_is_sent(run: polymeter.RunResult, folder: Path) -> None:
    found = send(run, folder, "notes='a note',samples=0,report=false")
    kinds = {record.WhichOneof("record_type") for record in found}
    assert not kinds & {"output", "output_raw", "stats", "environment"}
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert written
    for path in written:
        assert KEY.encode() not in path.read_bytes(), path
    assert not [path for path in written if path.name in ("wandb-metadata.json", "requirements.txt")]


def test_a_run_of_a_training_gets_the_numbers(run: polymeter.RunResult, folder: Path) -> None:
    code = (
        "import sys, wandb\n"
        f"own = wandb.init(project='training', mode='offline', dir={str(folder)!r}, settings={{'silent': True}})\n"
        "from polymeter.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "own.log({'after': 1})\n"
        "own.finish()\n"
        "sys.exit(code)"
    )
    found = send(run, folder, "samples=0,report=false", code=code)
    assert {record.run.project for record in found if record.HasField("run")} == {"training"}
    summary = updates(found, "summary")
    assert {"seen/answer", "after"} <= summary.keys()


def test_arguments_are_checked_before_anything_is_spent(run: polymeter.RunResult) -> None:
    with pytest.raises(PlanError, match=r"no argument 'projekt'.*Did you mean 'project'"):
        polymeter.log_run(run, "wandb", projekt="x")


@pytest.fixture(autouse=True)
def cleaned(folder: Path) -> Iterator[None]:
    yield
    shutil.rmtree(folder / "wandb", ignore_errors=True)
