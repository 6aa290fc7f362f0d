"""Files of VLMEvalKit, made by the tool itself (conformance/logs): what is read, and that a run of Polymeter agrees."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

import polymeter
from polymeter.core.errors import DataError
from polymeter.core.logs import reader_of
from polymeter.interop.ulmeval.logs import READER
from tests.cli.kit import Typing
from tests.helpers.log_proof import SAME, compared, copied, read, samples_of, stated

LOGS = Path(__file__).parent / "logs"
EXCEL, TEXT = LOGS / "xlsx" / "speaker", LOGS / "tsv" / "speaker"
SAID = {
    "colours": {"0": "B", "1": "The answer is A.", "2": "A", "4": "I cannot tell."},
    "colours_circular": {"0": "B", "1000000": "A", "1": "A", "1000001": "A"},
    "planets_GQA": {"0": "1", "1": "two", "2": "saturn", "3": "Earth"},
    "truths": {"0": "Yes, it is.", "1": "Yes", "2": "Maybe"},
}


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


def run(typing: Typing, name: str) -> Path:
    """A run of Polymeter of the same table with the same answers."""
    typing.write({f"{name}.json": json.dumps(SAID[name])})
    table = LOGS / "data" / f"{name}.tsv"
    typing(f"run --model mock --model-args answers={name}.json --tasks {table} -q -o {name}")
    return typing.folder / name


@pytest.mark.parametrize(
    ("name", "metric", "n", "n_only_ours"),
    [("colours", "acc", 4, 1), ("planets_GQA", "accuracy", 4, 0), ("truths", "acc", 3, 0)],
)
def test_the_same_answers_give_the_same_numbers_here(
    typing: Typing, name: str, metric: str, n: int, n_only_ours: int
) -> None:
    imported = polymeter.import_log(EXCEL, output="imported")
    assert imported.results["model"] == "speaker"
    ours = run(typing, name)
    found = compared(ours, typing.folder / "imported", metric)
    assert found == {**SAME, "n": n, "n_only_first": n_only_ours, "n_only_second": 0}


def test_circular_evaluation_has_the_same_number_here(typing: Typing) -> None:
    results = json.loads((run(typing, "colours_circular") / "results.json").read_text())
    ours = {row["metric"]: row["value"] for row in results["tasks"]["colours_circular"]["results"]}
    assert stated(EXCEL, "colours_circular") == {("circular_acc", "none", ()): ours["circular_acc"]}
    samples = samples_of(EXCEL, "colours_circular")
    assert {name: (sample.status, sample.cluster, *sample.scores.values()) for name, sample in samples.items()} == {
        "0": ("ok", "0", 1.0),
        "1000000": ("ok", "0"),
        "1": ("ok", "1", 0.0),
        "1000001": ("ok", "1"),
    }


def test_a_rotation_that_failed_leaves_its_question_unscored(tmp_path: Path) -> None:
    log = copied(EXCEL, tmp_path)
    file = log / "speaker_colours_circular.xlsx"
    table = pd.read_excel(file)
    table["prediction"] = table["prediction"].astype(object)
    table.loc[table["index"] == 1_000_000, "prediction"] = "Failed to obtain answer via API."
    table.to_excel(file, index=False)
    samples = samples_of(log, "colours_circular")
    assert (samples["0"].status, samples["0"].error) == ("unscored", "One of its rotations has no answer.")
    assert samples["1000000"].status == "error"
    assert samples["1"].scores == {("circular_acc", "none"): 0.0}


@pytest.mark.parametrize("log", [EXCEL, TEXT])
def test_what_failed_is_no_wrong_answer(log: Path) -> None:
    samples = samples_of(log, "colours")
    assert {name: [*sample.scores.values()] for name, sample in samples.items()} == {
        "0": [1.0],
        "1": [1.0],
        "2": [0.0],
        "3": [],
        "4": [0.0],
    }
    failed = samples["3"]
    assert (failed.status, failed.error, failed.exchanges) == ("error", "Failed to obtain answer via API.", ())
    assert samples["1"].exchanges[0].outputs[0].text == "The answer is A."
    assert samples["0"].target == "B"
    assert "image" not in samples["0"].doc
    numbers = stated(log, "colours")
    assert numbers["acc", "none", ()] == 0.5
    assert numbers["acc/as_stated", "none", ()] == 0.4
    assert numbers["acc/as_stated", "none", ("category", "nature")] == pytest.approx(2 / 3)
    assert "colours: answers that failed, which VLMEvalKit scores like answers: 1." in read(log).notes


def test_percent_becomes_a_share() -> None:
    assert stated(EXCEL, "truths") == {("acc", "none", ()): pytest.approx(1 / 3)}
    assert stated(EXCEL, "planets_GQA") == {("accuracy", "none", ()): 0.5}


def test_excel_text_and_pickles_are_read_alike(tmp_path: Path) -> None:
    assert samples_of(EXCEL, "truths") == samples_of(TEXT, "truths")
    log = tmp_path / "speaker"
    log.mkdir()
    for name in ("speaker_truths.tsv", "speaker_truths_auxmatch.tsv", "speaker_truths_score.csv"):
        shutil.copy(TEXT / name, log)
    pd.read_csv(log / "speaker_truths.tsv", sep="\t").to_pickle(log / "speaker_truths.pkl")
    (log / "speaker_truths.tsv").unlink()
    assert samples_of(log, "truths") == samples_of(TEXT, "truths")
    (log / "speaker_truths.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(DataError, match=r"speaker_truths.pkl is damaged: .*system, which is not data"):
        read(log)


def test_one_file_and_the_folder_of_one_run(tmp_path: Path) -> None:
    assert [task.name for task in read(TEXT / "speaker_truths.tsv").tasks] == ["truths"]
    log = tmp_path / "speaker" / "T20261123_Gabc"
    shutil.copytree(TEXT, log)
    assert (read(log).model, [task.name for task in read(log).tasks]) == ("speaker", ["colours", "truths"])


def test_answers_that_were_not_scored_are_unscored(tmp_path: Path) -> None:
    log = tmp_path / "speaker"
    log.mkdir()
    shutil.copy(TEXT / "speaker_truths.tsv", log)
    assert {sample.status for sample in samples_of(log, "truths").values()} == {"unscored"}
    assert read(log).notes == ("truths: the log has no table of scored answers, so single samples have no scores.",)
    with (log / "speaker_truths.tsv").open("a") as file:
        file.write('"3"\t"Is fire cold?"\t"No"\t""\n')
    empty = samples_of(log, "truths")["3"]
    assert (empty.status, empty.exchanges[0].outputs[0].text) == ("unscored", "")
    table = pd.DataFrame({"index": [0, 1], "question": ["a", "b"], "prediction": ["Yes", None]})
    (log / "speaker_truths.tsv").unlink()
    table.to_pickle(log / "speaker_truths.pkl")
    absent = samples_of(log, "truths")["1"]
    assert (absent.status, absent.error) == ("error", "The log has no answer.")


def test_files_of_a_judge_are_no_benchmarks(tmp_path: Path) -> None:
    log = copied(TEXT, tmp_path)
    table = pd.read_csv(log / "speaker_truths.tsv", sep="\t")
    table.assign(score=[0.5, 0.0, 1.0]).to_csv(log / "speaker_truths_gpt-4o-mini.tsv", sep="\t", index=False)
    assert [task.name for task in read(log).tasks] == ["colours", "truths"]


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    log = copied(EXCEL, tmp_path)
    (log / "speaker_colours.xlsx").write_bytes(b"PK not a workbook")
    with pytest.raises(DataError, match=r"speaker_colours.xlsx is damaged"):
        read(log)
    log = copied(TEXT, tmp_path / "text")
    (log / "speaker_truths.tsv").write_text('"index"\t"question"\n"0"\t"Is it?"\n')
    with pytest.raises(DataError, match=r"speaker_truths.tsv is damaged: it has no column 'prediction'"):
        read(log)


def test_the_system_is_recognised() -> None:
    assert [reader_of(path)[0].name for path in (EXCEL, TEXT, TEXT / "speaker_colours.tsv")] == ["ulmeval"] * 3


def test_files_of_other_tools_and_other_kinds_are_left_alone(tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "results_2026-11-23.json").write_text('{"results": {}}')
    assert not READER.recognise(results)
    log = copied(TEXT, tmp_path)
    (log / "speaker_notes.txt").write_text("a note")
    (log / "speaker_truths_score.json").write_text('{"Overall": 33.3}')
    assert [task.name for task in read(log).tasks] == ["colours", "truths"]


def test_what_polymeter_writes_in_this_form_is_read_again(typing: Typing) -> None:
    ours = run(typing, "truths")
    typing("export truths --to vlmevalkit --output written")
    polymeter.import_log("written/mock", output="read")
    for metric in ("acc", "unparsed"):
        found = compared(ours, typing.folder / "read", metric)
        assert found == {**SAME, "n": 3, "n_only_first": 0, "n_only_second": 0}


def test_a_file_of_numbers_is_no_table_of_scores(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    pd.DataFrame({"index": [0, 1], "answer": ["a", "b"], "prediction": ["a", "c"]}).to_csv(
        folder / "m_OCRBench.tsv", sep="\t", index=False
    )
    (folder / "m_OCRBench_score.json").write_text('{"Final Score": 1, "Parts": {"Text": 0.5, "name": "x"}}')
    (task,) = READER.read(folder).tasks
    assert {(result.subset, result.value) for result in task.results} == {
        (("Final Score",), 1.0),
        (("Parts/Text",), 0.5),
    }
    assert [sample.status for sample in task.samples()] == ["unscored", "unscored"]
