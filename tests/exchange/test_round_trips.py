"""A run that is exported to a tool and imported from its files again is the same run: a comparison finds nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import polymeter
from polymeter.core.names.systems import systems
from tests.helpers.export_kit import make_run

ALLOWED = ("samples", "prompts", "task", "data")
"""What a log does not hold, or holds in other words: failed samples, rows, settings of requests."""


def reads(system: str) -> bool:
    """Whether there is something that reads a tool's logs."""
    return any(found.name == system and found.logs for found in systems())


def same(run: Path, log: Path, folder: Path, **counts: int) -> None:
    """Import a log and compare it with the run that it was made of."""
    back = polymeter.import_log(log, output=folder)
    assert back.folder.read_manifest()["tasks"]
    document = polymeter.compare(run, folder, allow=list(ALLOWED)).document()
    scores = {(score["name"], score["metric"]): score for score in document["others"][0]["scores"]}
    for task, n in counts.items():
        compared = [score for (name, _), score in scores.items() if name == task]
        assert compared
        assert {(score["n"], score["difference"], score["wins"], score["losses"]) for score in compared} == {
            (n, 0, 0, 0)
        }
        assert {score["n_only_second"] for score in compared} == {0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("round"))


@pytest.mark.parametrize(("to", "system"), [("lm-eval", "lm_eval"), ("lmms-eval", "lmms_eval")])
def test_files_of_samples_and_results(run: Path, tmp_path: Path, to: str, system: str) -> None:
    if not reads(system):
        pytest.skip(f"nothing reads logs of {system}")
    folder = polymeter.export(run, to, output=tmp_path / "out").folder
    (model,) = folder.iterdir()
    same(run, model, tmp_path / "in", capitals=3, choice=4, demo_signs=4)


@pytest.mark.skipif(not reads("inspect_ai"), reason="nothing reads logs of Inspect")
def test_a_log_for_each_task(run: Path, tmp_path: Path) -> None:
    folder = polymeter.export(run, "inspect", output=tmp_path / "out").folder
    for task, n in (("capitals", 3), ("choice", 4), ("demo-signs", 4)):
        (log,) = folder.glob(f"*_{task}_*.eval")
        same(run, log, tmp_path / task, **{task.replace("-", "_"): n})


@pytest.mark.skipif(not reads("evalscope"), reason="nothing reads logs of EvalScope")
@pytest.mark.parametrize("to", ["evalscope", "evalscope-1"])
def test_work_folders_of_evalscope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    from polymeter.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["init", "mine", "--kind", "adapter"]) == 0
    # All of one subset and none of the other: reports round the numbers of subsets before they average them.
    Path("said.json").write_text(json.dumps({"near/0": "Paris", "near/1": "Madrid", "near/2": "Rome", "far/0": "no"}))
    words = "run --model mock --model-args answers=said.json --tasks mine/mine_adapter.py -q --output run"
    assert main(words.split()) in (0, 1)
    folder = polymeter.export("run", to, output="out").folder
    same(Path("run"), folder, tmp_path / "in", mine=6)


@pytest.mark.skipif(not reads("ulmeval"), reason="nothing reads tables of VLMEvalKit")
def test_tables_of_vlmevalkit(tmp_path: Path) -> None:
    rows = [
        {"index": i, "question": f"Which is number {i}?", "A": "a bear", "B": "a cat", "answer": "AB"[i % 2]}
        for i in range(12)
    ]
    with (tmp_path / "letters.tsv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "said.json").write_text(json.dumps({str(i): "A" for i in range(12)}))
    said = {"answers": str(tmp_path / "said.json")}
    polymeter.evaluate("mock", str(tmp_path / "letters.tsv"), model_args=said, output=tmp_path / "run")
    folder = polymeter.export(tmp_path / "run", "vlmevalkit", output=tmp_path / "out").folder
    (model,) = folder.iterdir()
    document = polymeter.import_log(model, output=tmp_path / "in").results["tasks"]["letters"]["results"][0]
    assert (document["metric"], document["value"]) == ("acc", 0.5)
    same(tmp_path / "run", model, tmp_path / "again", letters=12)


@pytest.mark.parametrize(
    ("to", "system"),
    [
        *(("evalscope", "evalscope"), ("evalscope-1", "evalscope"), ("inspect", "inspect_ai"), ("lm-eval", "lm_eval")),
        *(("lmms-eval", "lmms_eval"), ("vlmevalkit", "ulmeval")),
    ],
)
def test_a_run_without_subsets_compares_with_what_was_made_of_it_without_being_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, system: str
) -> None:
    """Rows of which a text looks like a number, and samples whose ids are the numbers of rows."""
    if not reads(system):
        pytest.skip(f"nothing reads logs of {system}")
    monkeypatch.chdir(tmp_path)
    lines = ({"question": f"{i} + {i}", "answer": str(2 * i), "note": "" if i % 2 else "a note"} for i in range(24))
    Path("rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("sums.yaml").write_text(
        "task: sums\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        'doc_to_text: "What is {{question}}?"\ndoc_to_target: answer\nmetric_list: [{metric: exact_match}]\n'
        "metadata: {version: 3}\n"
    )
    Path("said.json").write_text(json.dumps({str(i): str(2 * i) if i % 3 else "no" for i in range(24)}))
    polymeter.evaluate("mock", "sums.yaml", model_args={"answers": "said.json"}, output="run")
    folder = polymeter.export("run", to, output="out").folder
    polymeter.import_log(folder / "mock" if to == "vlmevalkit" else folder, output="back")
    (line,) = polymeter.compare("run", "back").others[0].scores
    assert (line.n, line.difference, line.wins, line.losses) == (24, 0.0, 0, 0)
    assert (line.n_only_first, line.n_only_second, line.n_neither) == (0, 0, 0)
