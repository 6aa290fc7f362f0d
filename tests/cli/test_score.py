"""``polymeter score`` and ``polymeter agree``: what they tell the API, what they print, how they exit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from polymeter.analysis.agreement import agree
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from tests.helpers.judged import TASK, judged_folder

N_ROWS = 8


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run ``first`` whose judge gave A to everything, and ``second``, whose judge parted the rows."""
    place = tmp_path_factory.mktemp("runs")
    folder = judged_folder(place / "tasks", n_rows=N_ROWS)
    judge = ModelSpec("mock", "", {"answer": "A"})
    polymeter.evaluate(
        "mock",
        TASK,
        include_paths=[folder],
        output=place / "first",
        roles={"judge": judge},
        cache_dir=place / "cache",
    )
    verdicts = ["A", "B", "A", "B", "A", "A", "B", "no verdict"]
    (place / "verdicts.json").write_text(json.dumps({str(n): verdict for n, verdict in enumerate(verdicts)}))
    return place


@pytest.fixture(scope="module")
def second(place: Path) -> Path:
    judge = ModelSpec("mock", "", {"answers": str(place / "verdicts.json")})
    return polymeter.score(place / "first", roles={"judge": judge}, output=place / "second").folder.path


def test_run_takes_arguments_of_the_judge(api) -> None:
    words = ["run", "-m", "mock", "-t", "t", "--judge", "openai:gpt-4.1", "--judge-args", "base_url=http://x/v1,n=2"]
    assert main([*words, "-q"]) == 0
    assert api.calls[0]["roles"] == {"judge": ModelSpec("openai", "gpt-4.1", {"base_url": "http://x/v1", "n": 2})}


def test_score_takes_another_judge(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.chdir(place)
    assert main(["score", "first", "--judge", "mock", "--judge-args", "answer=B", "--concurrency", "2", "-q"]) == 0
    said = capsys.readouterr().out
    assert "Scored again from the answers of first." in said
    assert " 0.0000 " in said
    assert "results  first-judge-mock-" in said
    manifest = json.loads(next(place.glob("first-judge-mock-*/run.json")).read_text())
    assert manifest["command"].startswith("polymeter score first --judge mock")
    assert manifest["scored_from"]["run"] == str(place / "first")
    assert manifest["roles"]["judge"]["spec"]["args"] == {"answer": "B"}


def test_score_takes_settings_of_a_dialect(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.chdir(place)
    assert main(["score", "first", "--dialect-option", "tsv.predict_only=true", "-o", "settings", "-q"]) == 0
    told = json.loads((place / "settings" / "run.json").read_text())["options"]["identity"]["dialect_options"]
    assert told == {"tsv": {"predict_only": True}}
    assert main(["score", "first", "--dialect-option", "tsw.detector=shapes", "-q"]) == 2
    assert "tsv" in capsys.readouterr().err


def test_a_sample_without_a_verdict_shows_in_the_table_and_the_exit_code(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.chdir(place)
    assert main(["score", "first", "--judge", "mock", "--judge-args", "answer=hm", "-o", "none", "-q"]) == 1
    assert f"{N_ROWS} of {N_ROWS} samples without a score ({N_ROWS} unscored)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "nowhere"], "There is no run folder at nowhere."),
        (["score", "first", "--judge", "mok"], "There is no model 'mok'."),
        (["score", "first", "--judge-args", "answer=A"], "--judge-args needs a judge."),
        (["score", "first", "--judge", "mock", "--judge-args", "anwser=A"], "Model 'mock' has no argument 'anwser'."),
        (["score", "first", "--output", "first"], "A run is scored again into a folder of its own."),
        (["agree", "first"], "A comparison needs a second run or labels."),
        (["agree", "first", "first", "first"], "At most two runs can be compared."),
        (["agree", "first", "--column", "labels"], "Did you mean 'label'?"),
        (["agree", "first", "--column", "answer"], "Column 'answer' has the value 'answer 0', which is not a label"),
        (["agree", "first", "first", "--metric", "acc"], "no numeric scores for the metric 'acc'"),
    ],
)
def test_bad_input(
    place: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.chdir(place)
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_a_judge_without_a_key_is_refused_before_anything_is_spent(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    told = ["--judge", "openai:gpt-4.1"]
    assert main(["score", "first", *told, "-o", "no_key"]) == 2
    run = ["run", "-m", "mock", "-t", TASK, "--include-path", "tasks", "--cache-dir", "cache", "-o", "no_key"]
    assert main([*run, *told]) == 2
    assert capsys.readouterr().err.count("OPENAI_API_KEY is not set") == 2
    assert not (place / "no_key").exists()


def test_agreement_of_two_judges_and_of_labels(
    place: Path, second: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.chdir(place)
    assert main(["agree", "first", "second", "--column", "label"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"{TASK} judged none second column label 7 0.714" in said
    assert "facts, judged: 1 sample left out, as first or second has no score." in said


def test_agreement_as_json(place: Path, second: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.chdir(place)
    assert main(["agree", "second", "--column", "label", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["compared"]
    assert (found["n"], found["n_left_out"], found["first"], found["second"]) == (7, 1, "second", "column label")
    # Judge: 1010110; labels: 1010101 without the last row. Five of seven agree; chance 25/49.
    assert found["agreement"]["value"] == pytest.approx(5 / 7)
    assert found["kappa"]["value"] == pytest.approx((5 / 7 - 25 / 49) / (1 - 25 / 49))


def test_runs_of_different_models_are_told_apart(place: Path, second: Path) -> None:
    other = polymeter.evaluate(
        "mock",
        TASK,
        model_args={"answer": "other"},
        include_paths=[place / "tasks"],
        output=place / "third",
        roles={"judge": ModelSpec("mock", "", {"answer": "A"})},
        cache_dir=place / "cache",
    )
    assert "The runs are of different models" in agree(place / "first", other.folder.path).notes[0]
    assert not any("different models" in note for note in agree(place / "first", second).notes)


def test_runs_without_a_common_task_have_nothing_to_compare(place: Path) -> None:
    ocr = polymeter.evaluate("mock", "demo", output=place / "demo", limit=1, cache_dir=place / "cache")
    with pytest.raises(PlanError, match="no task and metric in common"):
        agree(place / "first", ocr.folder.path)
