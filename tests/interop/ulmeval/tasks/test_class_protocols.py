"""The protocol of a dataset class: known without running it, part of the task's name, and unknown to its code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import DataError, PlanError
from polymeter.core.format import FileSource, OpenContext
from polymeter.run.plan.selection import build_catalog, format_of, select

ROWS = "index\tquestion\tanswer\n1\tSay a.\ta\n2\tSay b.\tb\n"
STATED = '{"name": "official", "version": 2, "judge": "none", "expected_rows": 2, "mirrors": "file:///no/tones.tsv"}'
CLASS = """\
from ulmeval.dataset import TextBaseDataset

COUNT = 1 + 1


class Tones(TextBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {{"tones": "{url}"}}
    PROTOCOL = {stated}

    def evaluate_sample(self, line, prediction, **kwargs):
        assert self.dataset_name == "tones"
        return {{"right": float(line["answer"] == prediction)}}
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    return tmp_path / "LMUData"


def written(folder: Path, stated: str = STATED, url: str = "", more: str = "", name: str = "tones") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "tones.tsv").write_text(ROWS)
    file = folder / f"{name}.py"
    file.write_text(CLASS.format(stated=stated, url=url) + more)
    return file


def test_it_is_listed_selected_run_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    written(folder)
    assert main(["tasks", "--include-path", str(folder), "tones"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("tones@official ")
    assert "protocol official 2" in said
    assert "expected rows: 2" in said
    run = polymeter.evaluate(
        "mock", ["tones"], model_args={"answer": "a"}, include_paths=[folder], output=tmp_path / "run"
    )
    task = run.results["tasks"]["tones@official"]
    assert task["protocol"]["judge"] == "none"
    assert [one["value"] for one in task["results"]] == [0.5]
    assert "file:///no/tones.tsv" in (tmp_path / "run/report.html").read_text()
    assert not [note for note in run.results["notes"] if "states" in note]


def test_two_classes_are_two_protocols_of_one_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    short = '\n\nclass Short(Tones):\n    PROTOCOL = {"name": "short", "default": True, "expected_rows": 9}\n'
    written(folder, more=short)
    catalog = build_catalog([folder], None)
    assert select(["tones"], catalog).tasks[0].name == "tones@short"
    selected = select(["tones@official", "tones@short"], catalog).tasks
    assert [spec.config["class"] for spec in selected] == ["Tones", "Short"]
    for name in ("official", "short"):
        run = polymeter.evaluate("mock", [f"tones@{name}"], include_paths=[folder], output=tmp_path / name)
        assert bool([note for note in run.results["notes"] if "states 9" in note]) == (name == "short")
    with pytest.raises(PlanError, match=r"tones: the protocols differ \(official in official, short in short\)"):
        polymeter.compare(tmp_path / "official", tmp_path / "short")


def test_each_dataset_of_a_class_may_have_its_own(tmp_path: Path) -> None:
    file = written(tmp_path, '{"tones": {"name": "official"}, "hues": {"name": "short", "expected_rows": COUNT}}')
    file.write_text(file.read_text().replace('{"tones": ""}', '{"tones": "", "hues": "", "rest": ""}'))
    names = [entry.name for entry in build_catalog([file], None) if entry.is_user]
    assert names == ["tones@official", "hues@short", "rest"]


def test_values_that_are_computed_are_known_when_the_class_is_loaded(tmp_path: Path) -> None:
    written(tmp_path, '{"name": "official", "expected_rows": COUNT, "shown": "the question"}')
    spec = select(["tones"], build_catalog([tmp_path], None)).tasks[0]
    assert spec.protocol is not None
    assert (spec.protocol.shown, spec.protocol.expected_rows) == ("the question", None)
    run = polymeter.evaluate("mock", ["tones"], include_paths=[tmp_path], output=tmp_path / "run")
    assert run.results["tasks"]["tones@official"]["protocol"]["expected_rows"] == 2


def test_a_name_that_is_computed_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 'dict([("name", "official")])')
    with pytest.raises(PlanError, match="states the protocol 'official' once it is loaded, and its file ''"):
        polymeter.evaluate("mock", ["tones"], include_paths=[tmp_path], output=tmp_path / "run")


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ('{"name": "a", "licens": "MIT"}', "there is no key 'licens'. Did you mean 'licence'?"),
        ('{"name": "a", "expected_rows": "many"}', "protocol.expected_rows"),
        ('{"version": 1}', "protocol.name"),
        ('"official"', "it must be a mapping"),
    ],
)
def test_a_wrong_one_is_refused_where_it_is_written(
    tmp_path: Path, stated: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, stated)
    with pytest.raises(PlanError) as refused:
        polymeter.evaluate("mock", ["tones@a" if '"a"' in stated else "tones"], include_paths=[tmp_path])
    assert what in refused.value.what
    assert refused.value.where == f"{file}:9"
    assert main(["check", str(file)]) == 2
    assert f"{file}:9: " in capsys.readouterr().out


def test_a_table_that_moved_is_found_by_its_mirrors(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    kept = tmp_path / "kept.tsv"
    kept.write_text(ROWS)
    gone, mirror = (tmp_path / "gone.tsv").as_uri(), kept.as_uri()
    folder = tmp_path / "mine"
    file = written(folder, json.dumps({"name": "official", "mirrors": [gone, mirror]}), gone)
    (folder / "tones.tsv").unlink()
    spec = select(["tones"], build_catalog([folder], None)).tasks[0]
    sources = format_of(spec).sources
    assert sources is not None
    assert list(sources(spec, OpenContext()) or ()) == [FileSource("tones", gone, None, (gone, mirror))]
    run = polymeter.evaluate("mock", ["tones"], include_paths=[folder], output=tmp_path / "run")
    assert (root / "tones.tsv").read_text() == ROWS
    assert [note for note in run.results["notes"] if f"read from the mirror {mirror}" in note]
    (root / "tones.tsv").unlink()
    file.write_text(file.read_text().replace(mirror, "them/tones"))
    with pytest.raises((PlanError, DataError), match="'them/tones' of Tones is no address"):
        polymeter.evaluate("mock", ["tones"], include_paths=[folder], output=tmp_path / "other")


def test_data_of_the_run_is_named_by_the_dataset(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    written(folder)
    other = tmp_path / "other.tsv"
    other.write_text("index\tquestion\tanswer\n1\tSay a.\ta\n")
    run = polymeter.evaluate(
        "mock", ["tones"], include_paths=[folder], data={"tones": str(other)}, output=tmp_path / "run"
    )
    assert run.results["tasks"]["tones@official"]["n_samples"] == 1
    assert [note for note in run.results["notes"] if "The data has 1 sample; protocol 'official' states 2." in note]
