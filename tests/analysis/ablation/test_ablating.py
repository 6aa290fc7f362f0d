"""``ablate``: the runs that it makes, what it says about two tasks of which one leaks, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.analysis.ablation.ablating import AblationReport
from polymeter.analysis.comparison.runs import read_runs
from polymeter.core.errors import PlanError
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from polymeter.stats import unpaired_difference
from polymeter.store.ablations import blind_marks, read_ablation
from polymeter.store.folder import open_folder
from tests.helpers.ablated import Looker, colour_of, write_colours

SLIPS = 0.1


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two tasks of 200 samples, of which one names the colour in its questions, with three ablations."""
    folder = tmp_path_factory.mktemp("pair")
    tasks = [str(write_colours(folder, "honest", 200)), str(write_colours(folder, "leaky", 200, leaks=True))]
    polymeter.evaluate(Looker(SLIPS), tasks, output=folder / "run")
    ablated(folder / "run")
    return folder / "run"


def ablated(run: Path, how: Any = ("no-image", "blank", "shuffled-image"), **more: Any) -> AblationReport:
    return polymeter.ablate(run, how, model=more.pop("model", None) or Looker(SLIPS), **more)


def score(report: AblationReport, task: str, how: str) -> dict[str, Any]:
    found = (one for one in report.document()["scores"] if (one["name"], one["how"]) == (task, how))
    return next(one for one in found if one["is_main"])


def test_a_task_that_leaks_is_told_from_one_that_does_not(pair: Path) -> None:
    report = ablated(pair)
    for how in ("no-image", "blank", "shuffled-image"):
        honest, leaky = score(report, "honest", how), score(report, "leaky", how)
        assert honest["n"] == leaky["n"] == 200
        assert honest["p_corrected"] < 0.001
        assert honest["verdict"] == "helps"
        assert honest["interval"][0] > 0.4
        assert leaky["p_corrected"] > 0.05
        assert leaky["verdict"] in ("not shown", "equal")
    whole, blind = read_runs([pair, pair.with_name("run-no-image")])
    gains = {
        task: [
            one.values["exact_match", "none"] - other.values["exact_match", "none"]
            for one, other in zip(whole.outcomes(task), blind.outcomes(task), strict=True)
        ]
        for task in ("honest", "leaky")
    }
    between = unpaired_difference(gains["honest"], gains["leaky"])
    assert between is not None
    assert between.p_value is not None
    assert between.p_value < 0.001


def test_finished_ablations_are_not_run_again(pair: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in pair.parent.glob("run-*/journal.db")}
    model = Looker(SLIPS)
    report = ablated(pair, model=model)
    assert not model.asked
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [one.status for one in report.runs] == ["complete"] * 3
    assert sorted(path.name for path in pair.parent.iterdir() if path.is_dir()) == [
        "run", "run-blank", "run-no-image", "run-shuffled-image",
    ]  # fmt: skip


def test_samples_answered_blind_are_marked_beside_the_results(pair: Path) -> None:
    results = (pair / "results.json").read_bytes()
    report = ablated(pair, ["no-image"])
    assert (pair / "results.json").read_bytes() == results
    blind = report.blind["honest"]["no-image"]
    _, other = read_runs([pair, pair.with_name("run-no-image")])
    right = [one.id for one in other.outcomes("honest") if one.values["exact_match", "none"] == 1]
    assert blind == right
    assert 25 < len(blind) < 75, "one in four by guessing"
    marks = blind_marks(open_folder(pair))
    assert marks["honest"] == dict.fromkeys(right, ("no-image",))
    ablated(pair, ["blank"])
    assert blind_marks(open_folder(pair)) == marks, "an ablation that is not blind keeps the marks"
    manifest = json.loads((pair / "run.json").read_text())
    (pair / "run.json").write_text(json.dumps({**manifest, "started": "2020-01-01T00:00:00+00:00"}))
    try:
        assert blind_marks(open_folder(pair)) == {}, "the answers of a run that was started anew are others"
    finally:
        (pair / "run.json").write_text(json.dumps(manifest))


def test_the_page_lists_them_with_links(pair: Path) -> None:
    report = ablated(pair)
    page = report.page.read_text(encoding="utf-8")
    assert "Is the score of run about the image?" in page
    assert "Answered blind: honest" in page
    sample = report.blind["honest"]["no-image"][0]
    assert f'href="report.html#honest/{sample}"' in page
    assert f'href="../run-no-image/report.html#honest/{sample}"' in page
    assert page.count("data:image/png") >= 20


def test_the_words(pair: Path) -> None:
    said = repr(ablated(pair))
    assert "honest: exact_match is 0.9" in said
    assert "without images: the gain is +0." in said
    assert "p < 0.001)." in said
    assert "leaky: exact_match is" in said
    assert "No difference is shown." in said
    assert "leakage: unknown without a run of the language model alone (--llm RUN)." in said
    assert "corrected for 6 tests (Holm)" in said


class Guesser(MockBatch):
    """A language model alone: it says red."""

    def __init__(self) -> None:
        super().__init__(lambda request: "red", identity={"backend": "guesser"})


def test_leakage_is_what_the_language_model_alone_does_not_know(pair: Path) -> None:
    tasks = [str(pair.parent / f"{name}.csv") for name in ("honest", "leaky")]
    llm = pair.with_name("llm")
    if not llm.exists():
        polymeter.evaluate(Guesser(), tasks, output=llm, ablation="no-image")
    document = ablated(pair, ["no-image"], llm=llm).document()
    found = {one["name"]: one for one in document["leakage"]}
    assert found["leaky"]["llm"] == pytest.approx(0.25)
    assert found["leaky"]["leakage"] == pytest.approx(found["leaky"]["without"] - 0.25)
    assert found["leaky"]["interval"][0] > 0.4
    assert found["honest"]["leakage"] == max(0.0, found["honest"]["without"] - 0.25)
    assert "What leaks without media" in (pair / "ablation.html").read_text()
    model = Looker(SLIPS)
    with pytest.raises(PlanError, match="no ablation leaves them out"):
        ablated(pair, ["blank"], llm=llm, model=model)


def small(folder: Path, **more: Any) -> Path:
    file = str(write_colours(folder, "squares", 12))
    polymeter.evaluate(Looker(), [file], output=folder / "run", **more)
    return folder / "run"


def test_a_limit_narrows_the_ablations_alone(tmp_path: Path) -> None:
    run, model = small(tmp_path), Looker()
    report = ablated(run, ["no-image"], limit=5, model=model)
    assert len(model.asked) == 5
    assert score(report, "squares", "no-image")["n"] == 5
    assert (tmp_path / "run-no-image-limit-5").is_dir()
    limited = small(tmp_path / "b", limit=4)
    with pytest.raises(PlanError, match=r"A limit of 6 is not part of the run, which has 4 samples of a task"):
        ablated(limited, ["no-image"], limit=6, model=model)
    assert len(model.asked) == 5


def test_failures_are_left_out_in_pairs_and_counted(tmp_path: Path) -> None:
    run = small(tmp_path)

    def answer(request: Request) -> Any:
        from polymeter.core.errors import ModelError

        assert request.origin is not None
        if request.origin.sample in ("1", "2"):
            raise ModelError("no answer", kind="permanent")
        return colour_of(request) or "red"

    report = ablated(run, ["no-image"], model=MockBatch(answer, identity={"backend": "looker", "slips": 0.0}))
    found = score(report, "squares", "no-image")
    assert (found["n"], found["n_only_with"]) == (10, 2)
    assert found["with"] == 1.0
    said = "no-image: squares: no score of 2 samples without, left out of both means."
    assert report.document()["notes"] == [said]


def test_some_can_be_done_and_the_others_say_why_not(tmp_path: Path) -> None:
    report = ablated(small(tmp_path), ["no-image", "no-video"], model=Looker())
    assert [one.status for one in report.runs] == ["complete", "refused"]
    assert not (tmp_path / "run-no-video").exists()
    assert "no-video was not run: Task 'squares' cannot be asked without videos: its prompts show no" in repr(report)
    assert report.exit_code == 0
    with pytest.raises(PlanError, match="None of the ablations can be done"):
        ablated(tmp_path / "run", ["no-video", "no-audio"], model=Looker())


def test_a_model_that_answers_nothing_without_an_image(tmp_path: Path) -> None:
    from polymeter.core.errors import ModelError

    def needing(request: Request) -> str:
        if not [*request.images()]:
            raise ModelError("there is no image", kind="permanent")
        return colour_of(request) or "none"

    model = MockBatch(needing, identity={"backend": "needing"})
    polymeter.evaluate(model, [str(write_colours(tmp_path, "squares", 12))], output=tmp_path / "run")
    report = ablated(tmp_path / "run", ["no-image", "blank"], model=model)
    assert [one.status for one in report.runs] == ["unscored", "complete"]
    assert report.exit_code == 1
    assert score(report, "squares", "blank")["without"] == 0
    assert "no-image: no sample has a score: 12 × there is no image" in repr(report)
    alone = ablated(tmp_path / "run", ["no-image"], model=model)
    assert alone.compared is None
    assert "no-image: no sample has a score" in repr(alone)


def test_a_run_without_a_result_to_compare(tmp_path: Path) -> None:
    run = small(tmp_path)
    results = json.loads((run / "results.json").read_text())
    for result in results["tasks"]["squares"]["results"]:
        result["stderr_method"] = "bootstrap"
    (run / "results.json").write_text(json.dumps(results))
    refused(run, "The run has no result that is the mean of its samples' values")


def test_repeats_are_compared_by_question(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 12))
    polymeter.evaluate(Looker(), [file], output=tmp_path / "run", repeats=2, generation={"temperature": 1})
    model = Looker()
    report = ablated(tmp_path / "run", ["no-image"], model=model)
    assert len(model.asked) == 24
    assert score(report, "squares", "no-image")["n"] == 12
    assert score(report, "squares", "no-image")["with"] == 1.0


def test_choices_in_several_orders(tmp_path: Path) -> None:
    file = str(write_colours(tmp_path, "squares", 8, options=True))
    polymeter.evaluate(Looker(), [file], output=tmp_path / "run", mcq="text", permute_choices=3)
    model = Looker()
    report = ablated(tmp_path / "run", ["shuffled-image", "no-question"], model=model)
    assert len(model.asked) == 48
    lent = [one for one in model.asked if "square" in one.text]
    by_question: dict[str, set[str]] = {}
    for one in lent:
        assert one.origin is not None
        by_question.setdefault(one.origin.sample, set()).update(image.content_hash() for image in one.images())
    assert {len(images) for images in by_question.values()} == {1}, "all orders of a question get the same image"
    assert score(report, "squares", "no-question")["n"] == 8


def test_a_group_with_a_member_that_cannot_be_ablated(tmp_path: Path) -> None:
    write_colours(tmp_path, "squares", 12)
    (tmp_path / "spoken.csv").write_text("question,answer\n" + "".join(f"say red {n},red\n" for n in range(6)))
    (tmp_path / "both.yaml").write_text(
        "group: both\ntask: [squares, spoken]\n"
        "aggregate_metric_list: [{metric: exact_match, aggregation: mean, weight_by_size: true}]\n"
    )
    for name, visual in {"squares": "doc_to_visual: image\n", "spoken": ""}.items():
        (tmp_path / f"{name}.yaml").write_text(
            f"task: {name}\ndataset_path: csv\ndataset_kwargs: {{data_files: {{test: {name}.csv}}}}\ntest_split: test\n"
            f"doc_to_text: question\ndoc_to_target: answer\nmetric_list: [{{metric: exact_match}}]\n{visual}"
        )
    polymeter.evaluate(Looker(), ["both"], output=tmp_path / "run", include_paths=[tmp_path])
    report = ablated(tmp_path / "run", ["no-image"], model=Looker())
    assert score(report, "squares", "no-image")["n"] == 12
    assert "no-image: Task 'spoken' cannot be asked without images: its prompts show no images." in repr(report)


def test_tasks_in_python(tmp_path: Path) -> None:
    from PIL import Image as Pictures

    rows = [{"question": f"What colour, {n}?", "answer": "red", "n": n} for n in range(6)]

    @polymeter.task(rows=rows, scorers="exact_match", reference="answer")
    def made(row: dict[str, Any]) -> Any:
        return [polymeter.Image(Pictures.new("RGB", (4, 4 + row["n"]), (200, 30, 30))), row["question"]]

    polymeter.evaluate(Looker(), [made], output=tmp_path / "run")
    report = ablated(tmp_path / "run", ["blank"], tasks=[made], model=Looker())
    assert score(report, "made", "blank")["with"] == 1.0
    with pytest.raises(PlanError, match="was given to a run as a Python object"):
        ablated(tmp_path / "run", ["no-image"])


def refused(run: Path, match: str, how: Any = ("no-image",), **more: Any) -> None:
    model = Looker()
    with pytest.raises(PlanError, match=match):
        ablated(run, how, model=model, **more)
    assert not model.asked, "nothing was sent"
    assert not [*run.parent.glob(f"{run.name}-no-*")]


def test_an_unknown_ablation(tmp_path: Path) -> None:
    run = small(tmp_path)
    refused(run, "There is no ablation 'no-imag'.", ["no-imag"])
    refused(run, "No ablation is named.", [])
    with pytest.raises(PlanError) as error:
        ablated(run, "blnak", model=Looker())
    assert "Did you mean 'blank'?" in str(error.value)


def test_a_run_that_has_not_ended(tmp_path: Path) -> None:
    run = small(tmp_path)
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    refused(run, r"The run has not ended \(status interrupted\)")


def test_no_run_and_an_imported_one(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="run folder"):
        ablated(tmp_path / "none", model=Looker())
    run = small(tmp_path)
    manifest = json.loads((run / "run.json").read_text())
    imported = {"title": "another tool", "version": "1"}
    (run / "run.json").write_text(json.dumps({**manifest, "imported": imported}))
    refused(run, "This run was imported from another tool 1")


def test_an_ablation_is_not_ablated_again(tmp_path: Path) -> None:
    run = small(tmp_path)
    ablated(run, ["no-image"], model=Looker())
    model = Looker()
    with pytest.raises(PlanError, match=r"The run is itself an ablation \(no-image\)"):
        ablated(tmp_path / "run-no-image", ["blank"], model=model)
    assert not model.asked


def test_a_run_whose_plan_has_changed(tmp_path: Path) -> None:
    run = small(tmp_path)
    model = Looker(0.5)
    with pytest.raises(PlanError, match="cannot be run again: its model is another one now"):
        ablated(run, ["no-image"], model=model)
    table = tmp_path / "squares.csv"
    table.write_text(table.read_text().replace("number 3", "number 33"))
    with pytest.raises(PlanError, match=r"cannot be run again: the (files|data) of 'squares' are others now"):
        ablated(run, ["no-image"], model=Looker())
    assert not model.asked
    assert not (tmp_path / "run-no-image").exists()


def test_a_file_stands_where_the_ablation_goes(tmp_path: Path) -> None:
    run = small(tmp_path)
    (tmp_path / "run-no-image").write_text("taken")
    model = Looker()
    with pytest.raises(polymeter.PolymeterError, match="run-no-image"):
        ablated(run, ["no-image"], model=model)
    assert not model.asked


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = small(tmp_path)
    # The tests may run as root, which may write anywhere.
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != tmp_path)
    refused(run, "The folder cannot be written.")


def test_a_damaged_outcome_marks_nothing(tmp_path: Path) -> None:
    run = small(tmp_path)
    ablated(run, ["no-image"], model=Looker())
    assert blind_marks(open_folder(run))["squares"]
    (run / "ablation.json").write_text('{"blind": ')
    assert blind_marks(open_folder(run)) == {}
    assert read_ablation(open_folder(run)) == {}
