"""A run as lm-eval's files: the shape of its own, its own hashes, our numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from tests.helpers.export_kit import departures, lines, make_run, one

pytestmark = pytest.mark.needs_system("lm_eval")
SHAPES = json.loads(Path(__file__).with_name("export_shapes.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = make_run(tmp_path_factory.mktemp("lm"))
    return polymeter.export(run, "lm-eval", output=run.parent / "out").folder


def test_the_files_have_the_shape_of_its_own(exported: Path) -> None:
    results = json.loads(one(exported, "results_*.json").read_text(encoding="utf-8"))
    assert [*departures(results, SHAPES["results"])] == []
    for file in exported.rglob("samples_*.jsonl"):
        assert [found for line in lines(file) for found in departures(line, SHAPES["sample"])] == []
    assert [*departures({**results, "new": 1}, SHAPES["results"])] == [": unknown new"]


def test_numbers_are_those_of_the_run(exported: Path) -> None:
    results = json.loads(one(exported, "results_*.json").read_text(encoding="utf-8"))
    run = polymeter.open_run(exported.parent / "run")
    capitals = run.result("capitals", "exact_match")
    row = results["results"]["capitals"]
    assert (row["exact_match,none"], row["exact_match_stderr,none"]) == (capitals.value, capitals.stderr)
    assert row["sample_len"] == 3
    assert results["groups"]["world"]["acc,none"] == run.value("world", "acc")
    assert results["n-samples"]["capitals"] == {"original": 4, "effective": 3}
    assert results["group_subtasks"]["world"] == ["capitals", "choice"]


def test_a_row_has_the_hashes_that_lm_eval_gives_it(exported: Path) -> None:
    for task in ("capitals", "choice"):
        line = lines(one(exported, f"samples_{task}_*.jsonl"))[0]
        assert line["doc_hash"] == SHAPES["hashes"]["doc_hash"]
        assert {key: line[key] for key in ("prompt_hash", "target_hash")} == SHAPES["hashes"][task]


def test_answers_and_choices(exported: Path) -> None:
    capitals = lines(one(exported, "samples_capitals_*.jsonl"))
    assert [(line["doc_id"], line["filtered_resps"], line["exact_match"]) for line in capitals] == [
        (0, ["Paris"], 1.0),
        (1, ["Kyoto"], 0.0),
        (3, ["=1+2, Kathmandu"], 1.0),
    ]
    choice = lines(one(exported, "samples_choice_*.jsonl"))[0]
    assert choice["arguments"]["gen_args_1"] == {"arg_0": "France is in", "arg_1": " Asia"}
    assert choice["resps"] == [[["-2.0", "False"]], [["-0.5", "True"]], [["-3.25", "False"]]]
    assert choice["filtered_resps"][1] == ["-0.5", "True"]


def test_file_names_are_read_back_as_lm_eval_does(exported: Path) -> None:
    name = one(exported, "samples_demo_signs_*.jsonl").name
    assert name[name.find("_") + 1 : name.rfind("_")] == "demo_signs"
    stamp = name[name.rfind("_") + 1 :].replace(".jsonl", "")
    assert one(exported, "results_*.json").name == f"results_{stamp}.json"
