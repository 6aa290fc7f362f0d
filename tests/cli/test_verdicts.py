"""``--verdicts`` of ``score``, ``agree``, ``compare`` and ``export``: a run whose samples people gave verdicts on."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.core.records.stored_samples import answer_digest
from polymeter.store.exports.export import read_some
from polymeter.store.folder import RunFolder
from polymeter.store.verdicts import FILE, HumanVerdict, give_verdict, read_verdicts, undo_verdict
from tests.cli.kit import Typing

N = 30
SAID = "1 excluded, 10 labelled"
TASK = """\
task: t
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of a task, all of whose answers are wrong; on ``one``, 10 samples are scored and one is excluded."""
    place = tmp_path_factory.mktemp("made")
    (place / "rows.jsonl").write_text(
        "".join(json.dumps({"question": f"{n}?", "answer": "yes"}) + "\n" for n in range(N))
    )
    (place / "t.yaml").write_text(TASK)
    for name in ("one", "two"):
        words = ["run", "-m", "mock", "-a", f"answer={name}", "-t", str(place / "t.yaml")]
        assert main([*words, "-o", str(place / name), "-q"]) == 0
    for n in range(10):
        give_verdict(place / "one", HumanVerdict("", "t", str(n), "score", {"exact_match": 1.0}, by="Ada"))
    give_verdict(place / "one", HumanVerdict("", "t", "20", "exclude", reason="no question"))
    return place


@pytest.fixture
def type_in(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> Typing:
    place = Path(shutil.copytree(made, tmp_path / "place"))
    for run in ("one", "two"):  # the copy is a run of the copied task
        manifest = place / run / "run.json"
        manifest.write_text(manifest.read_text().replace(str(made), str(place)))
    monkeypatch.chdir(place)
    return Typing(place, capsys)


def result_of(run: Path) -> tuple[float, int]:
    (result,) = json.loads((run / "results.json").read_text())["tasks"]["t"]["results"]
    return result["value"], result["n"]


def scored(place: Path) -> Path:
    (run,) = place.glob("one-verdicts-*")
    return run


def test_a_run_is_scored_with_verdicts_and_stays_as_it_was(type_in: Typing) -> None:
    place = Path.cwd()
    before = {name: (place / "one" / name).read_bytes() for name in ("run.json", "results.json", FILE)}
    said = type_in("score one --verdicts -q")
    assert said.code == 0
    assert SAID in said.out
    assert "Excluded by a person: no question" in said.out
    run = scored(place)
    assert result_of(run) == (pytest.approx(10 / 29), 29)
    assert any(SAID in note for note in json.loads((run / "results.json").read_text())["notes"])
    assert SAID in (run / "report.html").read_text()
    assert {name: (place / "one" / name).read_bytes() for name in before} == before
    assert (run / FILE).read_bytes() == before[FILE]
    assert type_in(f"verify {run.name}").code == 0
    # The same verdicts continue in the same folder, others have a folder of their own.
    assert type_in("score one --verdicts -q").code == 0
    undo_verdict(place / "one", next(read_verdicts(place / "one").valid).id)
    assert type_in("score one --verdicts -q").code == 0
    assert len([*place.glob("one-verdicts-*")]) == 2


def test_scoring_again_without_the_option_restores_the_values_of_the_metric(type_in: Typing) -> None:
    place = Path.cwd()
    assert type_in("score one --verdicts -q").code == 0
    assert type_in("score one -q").code == 0
    assert result_of(place / "one-rescored") == (0.0, N)
    again = type_in(f"score {scored(place).name} -o again -q")
    assert again.code == 0
    assert result_of(place / "again") == (0.0, N)
    assert "labelled" not in again.out


def test_a_scored_run_is_resumed_with_its_verdicts(type_in: Typing) -> None:
    assert type_in("score one --verdicts -q").code == 0
    run = scored(Path.cwd())
    (run / FILE).unlink()
    assert type_in(f"resume {run.name} -q").code == 0
    assert result_of(run) == (pytest.approx(10 / 29), 29)


def test_unknown_samples_and_metrics_are_reported_by_score(type_in: Typing) -> None:
    give_verdict(Path("one"), HumanVerdict("", "t", "999", "score", {"exact_match": 1.0}))
    give_verdict(Path("one"), HumanVerdict("", "t", "25", "score", {"nosuch": 1.0}))
    said = type_in("score one --verdicts -q").out
    assert "does not have were not used: 't/999'" in said
    assert "'nosuch' were not used" in said


def test_a_verdict_on_an_answer_does_not_count_for_another(type_in: Typing) -> None:
    # A run that is started again in the same folder keeps the verdicts, which are about answers that are gone.
    (sample,) = read_some(RunFolder(Path("one")), "t", [29])
    verdict = HumanVerdict("", "t", "29", "score", {"exact_match": 1.0}, answer=answer_digest(sample))
    give_verdict(Path("one"), verdict)
    assert type_in("score one --verdicts").code == 0
    assert result_of(next(Path().glob("one-verdicts-*")))[0] == pytest.approx(11 / 29)
    shutil.rmtree(next(Path().glob("one-verdicts-*")))
    assert type_in("run -m mock -a answer=else -t t.yaml -o one --restart -q").code == 0
    for command in ("score one --verdicts -o again", "compare two one --verdicts", "agree one --verdicts"):
        done = type_in(command)
        assert "Verdicts on an earlier answer to 1 sample were not used: 't/29'." in " ".join(done.said.split()), (
            command
        )
    assert result_of(Path("again"))[0] == pytest.approx(10 / 29)


def test_compare_says_how_many_in_every_format(type_in: Typing) -> None:
    for form in ("text", "markdown", "csv", "latex", "json"):
        said = type_in(f"compare one two --verdicts --format {form}")
        assert said.code == 0
        assert SAID in said.out, form
    assert type_in("compare one two --verdicts --output page.html").code == 0
    assert SAID in Path("page.html").read_text()
    assert "labelled" not in type_in("compare one two").out


def test_agree_uses_them_as_labels(type_in: Typing) -> None:
    found = json.loads(type_in("agree one --verdicts --json").out)
    assert found["compared"][0]["n"] == 10
    assert found["compared"][0]["second"] == "verdicts"
    assert found["corrected"][0]["labelled"]["value"] == 1.0
    assert any(SAID in note for note in found["notes"])
    assert SAID in type_in("agree one --verdicts").out


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_flat_tables_have_the_scores_of_people(type_in: Typing, form: str) -> None:
    said = type_in(f"export one --to {form} --verdicts --output flat")
    assert said.code == 0
    assert SAID in said.err
    (file,) = Path("flat").iterdir()
    if form == "csv":
        rows = [*csv.DictReader(file.open(newline=""))]
    elif form == "jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        import pyarrow.parquet

        rows = pyarrow.parquet.read_table(file).to_pylist()
    assert {str(row["id"]) for row in rows} == {str(n) for n in range(N)} - {"20"}
    assert [float(row["score_exact_match"]) for row in rows] == [1.0] * 10 + [0.0] * 19
    assert type_in(f"export one --to {form} --output plain").code == 0
    assert len({"20"} & {str(n) for n in range(N)}) == 1


@pytest.mark.needs_system("lmms_eval")
def test_the_results_of_an_export_are_those_of_the_changed_samples(type_in: Typing) -> None:
    assert type_in("export one --to lmms-eval --verdicts --output out").code == 0
    (file,) = Path("out").rglob("*results.json")
    assert json.loads(file.read_text())["results"]["t"]["exact_match,none"] == pytest.approx(10 / 29)


def test_without_verdicts_the_option_is_an_error(type_in: Typing) -> None:
    for command in ("score two", "agree two", "export two --to csv"):
        said = type_in(f"{command} --verdicts")
        assert said.code == 2
        assert "No sample has a verdict of a person" in said.err


def test_scores_of_people_for_one_of_several_answers_are_refused_by_every_command(type_in: Typing) -> None:
    asked = "--repeats 2 --gen-kwargs temperature=0.5"
    assert type_in(f"run -m mock -a answer=yes -t t.yaml {asked} -o often -q").code == 0
    give_verdict(Path("often"), HumanVerdict("", "t", "1", "exclude", reason="no question"))
    assert type_in("score often --verdicts -o excluded -q").code == 0
    give_verdict(Path("often"), HumanVerdict("", "t", "0", "score", {"exact_match,maj@2": 0.0}))
    commands = ("score often", "agree often", "export often --to csv", "compare often two")
    for command in commands:
        done = type_in(f"{command} --verdicts")
        assert done.code != 0, command
        assert "Scores of people are about one answer" in done.err, command
