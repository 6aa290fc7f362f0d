"""``polymeter.export``: where files go, what is chosen, what is said, and that nothing is half written."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.names.registries import EXPORTS
from polymeter.core.records.exporting import ExportJob
from tests.helpers.export_kit import lines, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("exporting"))


def test_samples_as_csv_hold_no_formula(run: Path, tmp_path: Path) -> None:
    done = polymeter.export(run, "csv", output=tmp_path / "out")
    assert done.files == (tmp_path / "out" / "samples.csv",)
    assert done.left_out.startswith("Left out, because files of csv have no place for it: rows of the data")
    with done.files[0].open(newline="", encoding="utf-8") as file:
        rows = {(row["task"], row["id"]): row for row in csv.DictReader(file)}
    assert len(rows) == 12
    assert rows["capitals", "3"]["answer"] == "'=1+2, Kathmandu"
    assert rows["capitals", "1"]["score_exact_match"] == "0.0"
    assert "the model is gone" in rows["capitals", "2"]["error"]
    assert (rows["choice", "0"]["answer"], rows["choice", "0"]["score_exact_match"]) == ("Asia", "")
    assert (run / rows["demo_signs", "0"]["media"]).is_file()


def test_samples_as_json_lines_with_their_media(run: Path, tmp_path: Path) -> None:
    done = polymeter.export(run, "jsonl", output=tmp_path / "out", tasks="demo_*", media="copy")
    rows = lines(tmp_path / "out" / "samples.jsonl")
    assert {row["task"] for row in rows} == {"demo_signs"}
    assert done.n_media == len({name for row in rows for name in row["media"]}) == 4
    assert all((tmp_path / "out" / name).is_file() for row in rows for name in row["media"])
    assert done.files == (tmp_path / "out" / "samples.jsonl",)
    assert rows[0]["score_exact_match"] == 1.0


@pytest.mark.parametrize(("media", "kind"), [("none", "string"), ("copy", "struct")])
def test_samples_as_parquet(run: Path, tmp_path: Path, media: str, kind: str) -> None:
    import pyarrow.parquet as pq

    done = polymeter.export(run, "parquet", output=tmp_path / "out", media=media)  # type: ignore[arg-type]
    assert [file.name for file in done.files] == ["capitals.parquet", "choice.parquet", "demo_signs.parquet"]
    assert pq.read_table(tmp_path / "out" / "capitals.parquet").column("score_exact_match").to_pylist() == [
        1,
        0,
        None,
        1,
    ]
    shown = pq.read_schema(tmp_path / "out" / "demo_signs.parquet").field("images").type.value_type
    assert str(shown).startswith(kind)


def test_a_folder_with_something_in_it_is_refused_unless_forced(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "samples.jsonl").write_text("old")
    with pytest.raises(PlanError, match="not empty") as refused:
        polymeter.export(run, "jsonl", output=folder)
    assert "--force" in refused.value.hint
    assert (folder / "samples.jsonl").read_text() == "old"
    polymeter.export(run, "jsonl", output=folder, force=True)
    assert len(lines(folder / "samples.jsonl")) == 12
    assert (folder / "notes.txt").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_a_writer_that_fails_leaves_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(job: ExportJob) -> None:
        (job.folder / "half").write_text("half")
        raise PlanError("It cannot be written.")

    monkeypatch.setattr(EXPORTS, "get", lambda name: fail)
    with pytest.raises(PlanError, match="cannot be written"):
        polymeter.export(run, "any", output=tmp_path / "out")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("to", "tasks", "media", "said"),
    [
        ("jsnl", (), "none", "Did you mean 'jsonl'?"),
        ("jsonl", "capitels", "none", "Did you mean 'capitals'?"),
        ("jsonl", (), "link", "Known: copy, none."),
    ],
)
def test_what_does_not_exist_is_told(
    run: Path, tmp_path: Path, to: str, tasks: str | tuple[str, ...], media: str, said: str
) -> None:
    with pytest.raises(PlanError) as error:
        polymeter.export(run, to, output=tmp_path / "out", tasks=tasks, media=media)  # type: ignore[arg-type]
    assert said in error.value.hint
    assert [*tmp_path.iterdir()] == []


def test_a_group_stays_with_all_of_its_members_and_goes_with_one(run: Path, tmp_path: Path) -> None:
    seen = {}
    for name, tasks in (("whole", ["capitals", "choice"]), ("part", ["choice"])):
        polymeter.export(run, "lm-eval", output=tmp_path / name, tasks=tasks)
        (file,) = (tmp_path / name).rglob("results_*.json")
        seen[name] = json.loads(file.read_text(encoding="utf-8"))["results"].keys()
    assert seen == {"whole": {"capitals", "choice", "world"}, "part": {"choice"}}


@pytest.mark.needs_system("lmms_eval", "evalscope", "ulmeval", "lm_eval", "inspect_ai")
@pytest.mark.parametrize("to", sorted(EXPORTS))
def test_a_run_that_was_interrupted_is_exported_as_a_part(run: Path, tmp_path: Path, to: str) -> None:
    partial = tmp_path / "partial"
    make_run(tmp_path)
    (tmp_path / "run").rename(partial)
    manifest = json.loads((partial / "run.json").read_text(encoding="utf-8"))
    manifest["status"], manifest["ended"], manifest["seconds"] = "interrupted", None, 0.0
    (partial / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    (partial / "results.json").unlink()
    done = polymeter.export(partial, to, output=tmp_path / "out")
    assert done.notice == "The run is interrupted: these are partial results, 12 of 12 samples."
    assert done.files
