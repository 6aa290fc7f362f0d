"""``polymeter init --from``: the task YAML of a table, which is the table as a task, to be changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from polymeter.api import evaluate
from polymeter.cli.main import main
from polymeter.store.exports.export import read_samples
from tests.tasks.guessed.kit import KINDS, draw, spec_of, write_table

QUESTIONS = [{"question": "Gestern – „heute“?", "answer": "a: #b"}, {"question": "What?", "answer": "x"}]
OPTIONS = [{"question": "Which?", "A": "rose", "B": "grass", "answer": "B"}]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def measured(place: Path | str, output: str) -> tuple[list[dict[str, Any]], Any]:
    """What a run asked and scored, sample by sample, and its results."""
    run = evaluate("mock", [str(place)], model_args={"mode": "gold"}, output=output)
    (name,) = run.results["tasks"]
    keys = ("id", "requests", "prediction", "target", "scores", "status")
    samples = [{key: sample.get(key) for key in keys} for sample in read_samples(run.folder, name)]
    assert samples
    return json.loads(json.dumps(samples, default=str)), run.results["tasks"][name]["results"]


def media_folder() -> Path:
    draw(Path("data/photos/a.png"))
    rows = [{"file_name": "a.png", "question": "What colour?", "answer": "red"}]
    return write_table(Path("data/photos/metadata.csv"), rows).parent


def class_folder() -> Path:
    for name in ("cat", "no"):
        draw(Path("data/pets", name, "a.png"))
    return Path("data/pets")


def table_with_images() -> Path:
    draw(Path("data/a.png"))
    return write_table(Path("data/seen.csv"), [{"image": "a.png", "question": "?", "answer": "x"}])


PLACES = {
    **{kind: lambda kind=kind: write_table(Path(f"data/my cap.{kind}"), QUESTIONS) for kind in KINDS},
    "options": lambda: write_table(Path("data/mc.csv"), OPTIONS),
    "lists": lambda: write_table(Path("data/mc.jsonl"), [{"text": "?", "options": ["a", "b"], "label": 1}]),
    "images": table_with_images,
    "folder": media_folder,
    "classes": class_folder,
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("folder", ["", "yaml"], ids=["beside", "elsewhere"])
def test_the_written_yaml_is_the_table(name: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = PLACES[name]()
    assert main(["init", "--from", str(place), *filter(None, [folder])]) == 0
    (written,) = Path(folder or "data").glob("*.yaml")
    said = capsys.readouterr().out
    assert f"wrote  {written}" in said
    assert f"{place.name}: " in said.splitlines()[0]
    assert "→ prompt" in said.splitlines()[0]
    if not folder:
        assert spec_of(written).config == spec_of(place).config
        assert yaml.safe_load(written.read_text(encoding="utf-8")) == dict(spec_of(place).config)
    assert measured(written, "run/yaml") == measured(place, "run/table")
    assert main(["check", str(written)]) == 0
    assert "no problems found" in capsys.readouterr().out


def test_it_prints_the_next_commands_and_never_overwrites(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(Path("cap.csv"), QUESTIONS)
    assert main(["init", "--from", "cap.csv"]) == 0
    commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [line.partition("polymeter ")[2] for line in commands] == [
        "check cap.yaml",
        "run --model mock --model-args mode=gold --tasks cap.yaml",
    ]
    Path("cap.yaml").write_text("mine")
    assert main(["init", "--from", "cap.csv"]) == 2
    assert "Nothing is written" in capsys.readouterr().err
    assert Path("cap.yaml").read_text() == "mine"


def test_a_table_without_usual_columns_is_written_with_lines_to_fill_in(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(Path("cap.csv"), [{"country": "France", "capital": "Paris"}])
    assert main(["init", "--from", "cap.csv"]) == 0
    said = capsys.readouterr().out
    assert "Change it first: doc_to_text and doc_to_target. Next:" in said
    assert "check cap.yaml" in said
    text = Path("cap.yaml").read_text()
    assert "Their columns: country, capital." in text
    assert text.count("CHANGE THIS") == 2
    assert main(["check", "cap.yaml"]) == 2
    assert "It has the columns: country, capital" in capsys.readouterr().out
    Path("cap.yaml").write_text(text.replace("{{question}}", "{{country}}?").replace('"{{answer}}"', "capital"))
    assert main(["check", "cap.yaml"]) == 0


def test_only_what_is_missing_is_to_be_filled_in(capsys: pytest.CaptureFixture[str]) -> None:
    draw(Path("photos/a.png"))
    write_table(Path("photos/metadata.csv"), [{"file_name": "a.png", "question": "What?"}])
    assert main(["init", "--from", "photos"]) == 0
    assert "Change it first: doc_to_target. Next:" in capsys.readouterr().out
    text = Path("photos.yaml").read_text()
    assert text.count("CHANGE THIS") == 1
    written = yaml.safe_load(text)
    assert written["doc_to_visual"] == "image"
    assert written["doc_to_text"] == "{{question}}"


def test_the_reason_why_a_table_is_no_task_stands_in_its_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(Path("cap.csv"), [{"question": "?", "options": "red|blue", "answer": "red"}])
    assert main(["init", "--from", "cap.csv"]) == 0
    assert "Change it first: its first lines explain why. Next:" in capsys.readouterr().out
    reason = "# Change this file before you run it. Column 'options' of cap.csv must hold a list of options"
    assert reason in Path("cap.yaml").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from", "cop.csv"], "There is no file or folder 'cop.csv'"),
        (["--from", "notes.md"], "'notes.md' is not a table"),
        (["--from", "empty"], "has no metadata.csv"),
        (["--from", "table.tsv"], "table.tsv is a task by itself"),
        (["--from", "zero.csv"], "zero.csv is empty (0 bytes)"),
        (["--from", "a[1].csv"], "The name of a[1].csv is a pattern"),
        (["--from", "cap.csv", "--kind", "vqa"], "--from and --kind write different things"),
        (["--kind", "vqa"], "No folder is named"),
        ([], "No kind is named"),
    ],
)
def test_what_cannot_be_written_is_refused(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(Path("cap.csv"), QUESTIONS)
    Path("notes.md").touch()
    Path("zero.csv").touch()
    Path("a[1].csv").touch()
    Path("empty").mkdir()
    Path("table.tsv").write_text("index\tquestion\tanswer\n1\tWhat?\tx\n")
    before = sorted(Path().rglob("*"))
    assert main(["init", *arguments]) == 2
    assert says in capsys.readouterr().err
    assert sorted(Path().rglob("*")) == before
