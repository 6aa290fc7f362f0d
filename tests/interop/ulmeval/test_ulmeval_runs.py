"""Whole commands of ULMEvalKit: which answers are asked for, taken over and scored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from polymeter.api.result import RunResult
from polymeter.core.errors import DataError, PlanError
from polymeter.data.formats import load
from polymeter.interop.ulmeval.config import NamedObject, UlmevalConfig
from polymeter.interop.ulmeval.evaluation import PairResult, UlmevalResult, evaluate_ulmeval
from polymeter.interop.ulmeval.pairs import RunPair
from tests.helpers.openai_stub import OpenAIStub, chat
from tests.helpers.painting import PROMPTS, drawn, studio
from tests.helpers.toy_datasets import write_table

JUDGED = """
from .text_base import TextBaseDataset
from .utils import build_judge
from ..smp import *


class PendingRequest(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'WISE_small': ''}
    DATASET_MD5 = {'WISE_small': None}

    def evaluate(self, eval_file, **judge_kwargs):
        judge = build_judge(**judge_kwargs)
        data = load(eval_file)
        said = [judge.generate(['good? ' + prompt]) for prompt in data['prompt']]
        return {'good': np.mean([float(text) for text in said])}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return studio(tmp_path, monkeypatch)


def config(*datasets: str, models: tuple[NamedObject, ...] = (NamedObject("Painter"),), **told: Any) -> UlmevalConfig:
    named = tuple(map(NamedObject, datasets or ("shades",)))
    plain = {"work_dir": Path("out"), "model_path": "painter.py", "include_paths": (Path("bench"),)}
    return UlmevalConfig(models, named, **{**plain, **told})


def run(told: UlmevalConfig, day: str = "20260101") -> UlmevalResult:
    return evaluate_ulmeval(told, day=day)


def only(told: UlmevalConfig, day: str = "20260101") -> PairResult:
    (pair,) = run(told, day).pairs
    return pair


def shade(pair: PairResult) -> Any:
    assert pair.run is not None
    return pair.run.value(pair.run.results["layout"][0][1], "shade")


def linked(name: str) -> Any:
    return load(Path("out/Painter") / name)


def test_a_command_leaves_what_run_py_leaves(here: Path) -> None:
    pair = only(config(judge_args={"nproc": 9}))
    assert (pair.exit_code, pair.returned) == (0, {"shade": 100.0, "images": 4})
    assert shade(pair) == 100
    (day,) = (here / "out" / "Painter").glob("T*")
    assert day.name.startswith("T20260101_G")
    assert len(day.name) == len("T20260101_G01234567")
    table = linked("Painter_shades.pkl")
    assert list(table["index"]) == ["0", "1", "2", "3"]
    assert [len(images) for images in table["prediction"]] == [1] * 4
    assert linked("Painter_shades_told.json") == {"tint": "none", "nproc": 9, "judge": None}
    assert (day / "Painter_shades.pkl").is_symlink()


def test_the_same_command_asks_nothing_twice(here: Path) -> None:
    only(config())
    only(config())
    assert sorted(drawn(here)) == sorted(PROMPTS)


def test_a_pair_takes_nothing_of_a_dataset_whose_name_it_begins(here: Path) -> None:
    result = run(config("shades", "shadesPP"))
    assert [pair.exit_code for pair in result.pairs] == [0, 0]
    assert sorted(drawn(here)) == sorted([*PROMPTS, *PROMPTS])
    for name in ("shades", "shadesPP"):
        assert f"/{name}/" in str((here / f"out/Painter/Painter_{name}.pkl").resolve())


@pytest.mark.parametrize("change", [{"seed": 1}, {"num_generations": 2}, {"limit": 2}])
def test_other_settings_are_another_run(change: dict[str, Any], here: Path) -> None:
    only(config())
    before = len(drawn(here))
    pair = only(config(**change))
    assert len(drawn(here)) > before
    assert len(list((here / "out/Painter").glob("T*"))) == 2
    if "num_generations" in change:
        assert pair.returned == {"shade": 100.0, "images": 8}


def test_a_changed_model_is_another_model(here: Path) -> None:
    only(config())
    (here / "painter.py").write_text((here / "painter.py").read_text().replace("shade=100", "shade=50"))
    assert shade(only(config())) == 50
    assert len(drawn(here)) == 8


def test_infer_then_eval_needs_no_model(here: Path) -> None:
    asked = only(config(mode="infer"))
    assert asked.exit_code == 0
    assert asked.returned is None
    assert not asked.is_scored
    assert len(linked("Painter_shades.pkl")) == 4
    (here / "painter.py").unlink()
    (here / "out").rename(here / "moved")
    (here / "bench").rename(here / "benchmarks")
    elsewhere = {"work_dir": Path("moved"), "include_paths": (Path("benchmarks"),), "model_path": ""}
    scored = only(config(mode="eval", **elsewhere), day="20260105")
    assert shade(scored) == 100
    assert any("runs/shades/infer" in note for note in scored.notes)
    assert load(here / "moved/Painter/Painter_shades_told.json")["nproc"] == 4
    assert shade(only(config(mode="eval", judge_args={"nproc": 2}, **elsewhere))) == 100
    assert load(here / "moved/Painter/Painter_shades_told.json")["nproc"] == 2
    assert sorted(drawn(here)) == sorted(PROMPTS)


def test_eval_scores_no_answers_of_a_dataset_that_was_made_with_other_arguments(here: Path) -> None:
    def red(tint: str, **told: Any) -> UlmevalConfig:
        return replace(config(**told), datasets=(NamedObject("red", "Shades", {"dataset": "shades", "tint": tint}),))

    only(red("red", mode="infer"))
    with pytest.raises(PlanError, match="no answers of 'Painter' on 'red'"):
        run(red("blue", mode="eval"))
    assert only(red("red", mode="eval")).exit_code == 0
    assert linked("Painter_red_told.json")["tint"] == "red"


def test_any_whole_number_is_a_seed(here: Path) -> None:
    assert only(config(seed=-1)).exit_code == only(config(seed=2**40)).exit_code == 0


def test_a_prediction_file_for_several_datasets_is_told_of(here: Path) -> None:
    only(config(work_dir=Path("before")))
    file = here / "before/Painter/Painter_shades.pkl"
    result = run(config("shades", "shadesPP", models=(NamedObject("theirs"),), model_path="", result_files=(file,)))
    assert [len(pair.notes) for pair in result.pairs] == [1, 1]
    assert "for each of 2 datasets" in result.pairs[0].notes[0]


def test_infer_then_all_asks_nothing_again(here: Path) -> None:
    only(config(mode="infer"))
    assert shade(only(config())) == 100
    assert sorted(drawn(here)) == sorted(PROMPTS)


def test_journals_may_lie_elsewhere(here: Path) -> None:
    told = config(journal_dir=here / "journals")
    only(replace(told, mode="infer"))
    assert shade(only(told)) == 100
    assert shade(only(replace(told, mode="eval", model_path=""))) == 100
    assert sorted(drawn(here)) == sorted(PROMPTS)
    assert not list((here / "out").rglob("journal.db"))


def test_eval_of_nothing_is_refused(here: Path) -> None:
    with pytest.raises(PlanError, match="no answers of 'Painter' on 'shades'"):
        run(config(mode="eval"))
    only(config(mode="infer"))
    with pytest.raises(PlanError, match="no answers of 'Painter'"):
        run(config(mode="eval", num_generations=3))


def test_a_new_day_asks_anew_unless_told_to_reuse(here: Path) -> None:
    only(config(), day="20260101")
    second = only(config(), day="20260102")
    assert len(drawn(here)) == 8
    assert any("--reuse would reuse those of" in note for note in second.notes)
    third = only(config(reuse=True), day="20260103")
    assert len(drawn(here)) == 8
    assert any("T20260102_G" in note and "are reused" in note for note in third.notes)
    assert shade(third) == 100


def test_reuse_takes_only_answers_to_the_same_question(here: Path) -> None:
    only(config(), day="20260101")
    prompts = ["a cat", "two dogs", "a blue ball", "five green cubes"]
    write_table(here / "data" / "shades.tsv", {"index": range(4), "prompt": prompts})
    pair = only(config(reuse=True), day="20260102")
    assert drawn(here)[4:] == ["a blue ball"]
    assert pair.exit_code == 0
    other = only(config(reuse=True, seed=5), day="20260103")
    assert len(drawn(here)) == 9
    assert any("There is nothing to reuse" in note for note in other.notes)


def test_failed_samples_are_tried_again_unless_ignored(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROKEN", "two dogs")
    pair = only(config())
    assert (pair.exit_code, pair.returned) == (1, {"shade": 100.0, "images": 3})
    monkeypatch.delenv("BROKEN")
    assert only(config(ignore=True)).exit_code == 1
    assert len(drawn(here)) == 4
    assert only(config()).exit_code == 0
    assert drawn(here)[4:] == ["two dogs"]


def test_one_pair_that_fails_does_not_stop_the_others(here: Path) -> None:
    (here / "data" / "shades.tsv").write_text("prompt\nno index\n")
    seen: list[str] = []
    result = evaluate_ulmeval(config("shades", "shadesPP"), on_end=lambda pair: seen.append(pair.dataset))
    first, second = result.pairs
    assert first.error is not None
    assert (first.exit_code, second.exit_code, result.exit_code) == (1, 0, 1)
    assert seen == ["shades", "shadesPP"]
    with pytest.raises(DataError):
        run(config("shades"))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (config("shades", "shads"), "no task, group or tag 'shads'"),
        (config(models=(NamedObject("Painter"), NamedObject("Nobody"))), "no model 'Nobody'"),
        (config(models=(NamedObject("mock:"), NamedObject("openai:mock"))), "the name 'mock' in file names"),
        (config("shades", "bench/shades.py"), "'shades' is named twice"),
        (config(judge="gpt-4o"), "'gpt-4o' needs a key"),
    ],
)
def test_names_are_checked_before_anything_is_spent(told: UlmevalConfig, message: str, here: Path) -> None:
    with pytest.raises(PlanError, match=message):
        run(told)
    assert not drawn(here)
    assert not (here / "out").exists()


def test_an_interruption_ends_the_command(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(pair: RunPair, progress: Any) -> RunResult:
        return RunResult(pair.outputs.run("all"), "interrupted", {}, 0)

    monkeypatch.setattr(RunPair, "run", interrupted)
    result = run(config("shades", "shadesPP"))
    assert ([pair.dataset for pair in result.pairs], result.exit_code) == (["shades"], 130)


def test_a_dataset_that_is_not_there_is_told_at_its_option(here: Path) -> None:
    with pytest.raises(PlanError) as caught:
        run(config("shads"))
    assert caught.value.where == "--data"
    assert "shades" in caught.value.hint


def test_a_file_names_variants_of_one_class(here: Path) -> None:
    models = (NamedObject("dark", "Painter", {"shade": 3}), NamedObject("light", "Painter", {"shade": 250}))
    told = config(models=models)
    red = NamedObject("red", "Shades", {"dataset": "shades", "tint": "red"})
    result = run(replace(told, datasets=(red, NamedObject("shadesPP"))))
    assert [shade(pair) for pair in result.pairs] == [3, 3, 250, 250]
    assert json.loads((here / "out/light/light_red_told.json").read_text())["tint"] == "red"
    assert len(load(here / "out/dark/dark_red.pkl")) == 4


def test_models_are_checked_before_anything_is_spent(here: Path) -> None:
    for named, message in (
        (NamedObject("T2IR1"), "needs the code of"),
        (NamedObject("x", "Painter", {"shde": 1}), "shde"),
    ):
        told = config(models=(NamedObject("Painter"), named))
        if named.class_name:
            (here / "painter.py").write_text((here / "painter.py").read_text().replace(", **kwargs", ""))
        with pytest.raises(PlanError, match=message):
            run(told)
    assert not drawn(here)


def test_a_table_is_named_by_its_file(here: Path) -> None:
    write_table(here / "drawings.tsv", {"index": range(2), "prompt": PROMPTS[:2]})
    pair = only(config("drawings.tsv", include_paths=(), mode="infer"))
    assert (pair.exit_code, pair.dataset) == (0, "drawings")
    assert len(linked("Painter_drawings.pkl")) == 2


@pytest.mark.parametrize(
    ("told", "message", "hint"),
    [
        ({"dataset": "shades", "tnt": 1}, "no argument 'tnt'", "tint"),
        ({"dataset": "shads"}, "no task, group or tag 'shads'", "shades"),
    ],
)
def test_what_a_dataset_does_not_take_is_refused(told: dict[str, Any], message: str, hint: str, here: Path) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        run(replace(config(), datasets=(NamedObject("red", "Shades", told),)))
    assert hint in caught.value.hint
    assert not drawn(here)


def test_another_class_than_the_datasets_is_refused(here: Path) -> None:
    with pytest.raises(PlanError, match="'shades' is not a dataset of the class 'Shadows'") as caught:
        run(replace(config(), datasets=(NamedObject("shades", "Shadows"),)))
    assert "Shades" in caught.value.hint


def test_somebodys_prediction_file_is_scored(here: Path) -> None:
    only(config(work_dir=Path("before")))
    table = load(here / "before/Painter/Painter_shades.pkl")
    table["prediction"] = [[Image.new("RGB", (4, 4), (7, 0, 0))] * 2 for _ in range(4)]
    table.to_pickle(here / "theirs.pkl")
    told = config(models=(NamedObject("theirs"),), model_path="", result_files=(Path("theirs.pkl"),))
    pair = only(told)
    assert pair.returned == {"shade": 7.0, "images": 8}
    assert (pair.exit_code, len(drawn(here))) == (0, 4)
    table["prediction"] = [*table["prediction"][:3], "Failed to obtain answer"]
    table.to_pickle(here / "theirs.pkl")
    again = only(told)
    assert (again.exit_code, again.returned) == (1, {"shade": 7.0, "images": 6})


@pytest.fixture
def judge() -> Iterator[OpenAIStub]:
    with OpenAIStub(lambda received: chat("0.5" if "cat" in received.raw.decode() else "1")) as stub:
        yield stub


def test_a_judge_is_asked_through_the_run(here: Path, judge: OpenAIStub) -> None:
    (here / "bench" / "wise.py").write_text(JUDGED)
    write_table(here / "data" / "WISE_small.tsv", {"index": range(4), "prompt": PROMPTS})
    with pytest.raises(PlanError, match="'WISE_small' is scored by 'gpt-4o', which needs a key"):
        run(config("WISE_small"))
    assert not drawn(here)
    assert only(config("WISE_small", mode="infer")).exit_code == 0
    told = config("WISE_small", judge_args={"api_base": judge.base_url + "/chat/completions", "key": "sk-secret"})
    pair = only(replace(told, mode="eval"))
    assert pair.returned == {"good": 0.875}
    assert {body["model"] for body in judge.bodies} == {"gpt-4o"}
    assert {one.headers["Authorization"] for one in judge.received} == {"Bearer sk-secret"}
    files = [path for path in (here / "out").rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-secret" in path.read_bytes()]


@pytest.mark.parametrize(("reuse_aux", "n_more"), [(True, 0), (False, 4)])
def test_the_judges_answers_are_reused_or_not(reuse_aux: bool, n_more: int, here: Path, judge: OpenAIStub) -> None:
    def n_judged() -> int:
        return sum("good?" in str(body) for body in judge.bodies)

    (here / "bench" / "wise.py").write_text(JUDGED)
    write_table(here / "data" / "WISE_small.tsv", {"index": range(4), "prompt": PROMPTS})
    told = config("WISE_small", judge_args={"api_base": judge.base_url, "key": "sk-secret"})
    only(told, day="20260101")
    assert n_judged() == 4
    pair = only(replace(told, reuse=True, reuse_aux=reuse_aux), day="20260102")
    assert (n_judged(), len(drawn(here))) == (4 + n_more, 4)
    assert pair.returned == {"good": 0.875}


def test_benchmarks_of_other_dialects_and_models_of_other_interfaces_run_too(here: Path) -> None:
    (here / "bench" / "words.tsv").write_text("index\tquestion\tanswer\n0\tsay mock\tmock\n1\tsay other\tother\n")
    told = config("words", models=(NamedObject("mock"),), model_path="")
    pair = only(told)
    assert pair.exit_code == 0
    assert list(load(here / "out/mock/mock_words.pkl")["prediction"]) == ["mock", "mock"]
