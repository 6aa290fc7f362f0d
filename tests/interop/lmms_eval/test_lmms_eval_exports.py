"""A run of any format as lmms-eval's files: what its command line writes, from a run that it did not start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from tests.helpers.export_kit import lines, make_run, one

pytestmark = pytest.mark.needs_system("lmms_eval")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("lmms"))
    return polymeter.export(run, "lmms-eval", output=run.parent / "out", media="copy").folder


def test_results(exported: Path) -> None:
    document = json.loads(one(exported, "*_results.json").read_text(encoding="utf-8"))
    run = polymeter.open_run(exported.parent / "run")
    assert document["results"]["capitals"]["exact_match,none"] == run.value("capitals", "exact_match")
    assert document["results"]["capitals"]["alias"] == " - capitals"
    assert document["groups"]["world"]["acc,none"] == run.value("world", "acc")
    assert document["n-samples"]["capitals"] == {"original": 4, "effective": 4, "scored": 3}
    assert document["config"]["model"] == "polymeter"


def test_samples_and_their_media(exported: Path) -> None:
    capitals = lines(one(exported, "*_samples_capitals.jsonl"))
    assert [(line["doc_id"], line["filtered_resps"], line["exact_match"]) for line in capitals] == [
        (0, "Paris", 1.0),
        (1, "Kyoto", 0.0),
        (3, "=1+2, Kathmandu", 1.0),
    ]
    file = one(exported, "*_samples_demo_signs.jsonl")
    (medium,) = lines(file)[0]["input_media"]
    assert medium["type"] == "image"
    assert (file.parent / medium["file"]).is_file()
