"""Multiple choice of VLMEvalKit with a judge: what it is asked, how often, and what is made of its answers."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from polymeter.core.guest_context import answering_through
from polymeter.core.request import Error, Output, Request, Response
from polymeter.guests.shims.finder import switch_on_shims

UNCLEAR = "It has four legs."
LETTERS = ("dog", "cat", "cow", "pig")


class Judge:
    def __init__(self, answer: Callable[[str], str | None]) -> None:
        self.asked: list[str] = []
        self.refused: list[str] = []
        self.roles = {"judge"}
        self._answer = answer

    def __call__(self, role: str, request: Request) -> Response:
        self.asked.append(request.text)
        said = self._answer(request.text)
        return Response(error=Error("permanent", "away")) if said is None else Response((Output(text=said),))

    def refuse(self, why: str) -> None:
        self.refused.append(why)


def choice() -> Any:
    switch_on_shims()
    return importlib.import_module("vlmeval.dataset.utils.multiple_choice")


def row(index: int = 1, prediction: str = UNCLEAR, answer: str = "A", **cells: Any) -> dict[str, Any]:
    options = dict(zip("ABCD", LETTERS, strict=True))
    return {"index": index, "question": "Which?", **options, "answer": answer, "prediction": prediction, **cells}


def rotations(*predictions: str) -> pd.DataFrame:
    """A question with a prediction for each rotation of its options."""
    rows = []
    for turn, prediction in enumerate(predictions):
        moved = LETTERS[-turn:] + LETTERS[:-turn] if turn else LETTERS
        options = dict(zip("ABCD", moved, strict=True))
        rows.append({**row(1 + turn * 1_000_000, prediction, "ABCD"[turn]), **options})
    return pd.DataFrame(rows)


def judged(answer: Callable[[str], str | None], function: Callable[[Any], Any]) -> tuple[Any, Judge]:
    judge = Judge(answer)
    with answering_through(judge):
        return function(importlib.import_module("vlmeval.dataset").build_judge(model="gpt-4o-mini")), judge


@pytest.mark.parametrize(
    ("dataset", "cells", "said", "opt", "part", "why"),
    [
        ("MMStar", {}, "B", "B", "(if they are valid options), and Z. \nExample 1", "the usual question"),
        (
            None,
            {},
            "Z",
            "Z",
            "Example 3: \nQuestion: Which??\nOptions: There are several options: \nA. dog\n",
            "as there",
        ),
        ("BLINK", {}, "(C)", "C", "\n(Z) Failed\nAnswer: It has four legs.\nYour output: ", "BLINK's"),
        ("WeMath", {}, "D", "D", "A, B, C, D, E, F, G", "WeMath's"),
        ("MMBench_CN", {"question": "什么?"}, "答案 A", "A", "选项: There are several options", "Chinese"),
        ("LEGO", {"question_type": "sort"}, "BADC", "BADC", "permutation of ABCD", "an order"),
        ("LEGO_circular", {"question_type": "mc"}, "B", "B", "single-choice question", "a letter of LEGO's"),
    ],
)
def test_a_judge_is_asked_as_there(
    dataset: str | None, cells: dict[str, Any], said: str, opt: str, part: str, why: str
) -> None:
    item = row(**cells)
    extract = choice().extract_answer_from_item
    found, judge = judged(lambda _: said, lambda model: extract(model, item, dataset_name=dataset))
    assert found == {"opt": opt, "log": said}, why
    assert len(judge.asked) == 1
    assert part in judge.asked[0]


def test_an_order_is_read_by_rules_first() -> None:
    item = row(prediction="First C, second A, third D, fourth B", question_type="sort")
    assert choice().extract_answer_from_item(None, item, "LEGO")["opt"] == "CADB"


@pytest.mark.parametrize(
    ("predictions", "says", "hit", "n_asked", "why"),
    [
        (("A", "B", "C", "D"), "A", 1, 0, "the rules find all"),
        (("A", UNCLEAR, "A", UNCLEAR), "A", 0, 0, "one is wrong by the rules, so nobody is asked"),
        (("A", UNCLEAR, UNCLEAR, UNCLEAR), "A", 0, 1, "the first that the judge reads is wrong"),
        (("A", UNCLEAR, "C", "D"), "B", 1, 1, "only what is open is asked"),
        (
            ("A", UNCLEAR, UNCLEAR, UNCLEAR),
            "hm",
            math.nan,
            3,
            "no verdict in three tries: no score, and no further one",
        ),
        (("A", UNCLEAR, "C", "D"), None, math.nan, 3, "the judge is away"),
    ],
)
def test_a_judge_reads_no_more_rotations_than_needed(
    predictions: tuple[str, ...], says: str | None, hit: float, n_asked: int, why: str, tmp_path: Path
) -> None:
    table, module = rotations(*predictions), choice()
    file = str(tmp_path / "x.pkl")
    found, judge = judged(
        lambda _: says, lambda model: module.mcq_circular_eval(model, table, table, 2, file, "MMBench")
    )
    assert list(found["index"]) == [1]
    assert list(found["hit"]) == pytest.approx([hit], nan_ok=True), why
    assert len(judge.asked) == n_asked
    again, judge = judged(
        lambda _: says, lambda model: module.mcq_circular_eval(model, table, table, 2, file, "MMBench")
    )
    assert list(again["hit"]) == pytest.approx([hit], nan_ok=True)
    assert len(judge.asked) == (n_asked if math.isnan(hit) else 0), "verdicts that are kept are not asked for again"


def test_a_question_without_all_its_rotations_has_no_score(tmp_path: Path) -> None:
    table = rotations("A", "B", "C", "D")
    found = choice().mcq_circular_eval(None, table[:3], table, 1, str(tmp_path / "x.pkl"), "MMBench")
    assert found["hit"].isna().all()


def test_one_odd_row_is_one_row_without_a_score(tmp_path: Path) -> None:
    rows = [row(0, "A"), row(1, "A", "zebra"), row(2, UNCLEAR), row(3, "B", "B"), row(4, "A", "")]
    table, module = pd.DataFrame(rows), choice()
    said = {"calls": 0}

    def nonsense(_: str) -> str:
        said["calls"] += 1
        return "no idea at all"

    found, judge = judged(
        nonsense, lambda model: module.mcq_vanilla_eval(model, table, table, 2, str(tmp_path / "x.pkl"), "X")
    )
    assert list(found["hit"]) == pytest.approx([1, math.nan, math.nan, 1, math.nan], nan_ok=True)
    assert said["calls"] == 3
    assert len(judge.refused) == 1
    assert "row 2" in judge.refused[0]
    assert module.report_acc(found)["Overall"].tolist() == [1.0]
    opt, _ = judged(nonsense, lambda model: module.extract_answer_from_item(model, rows[2])["opt"])
    assert opt == "Z", "never a random option"


def test_open_questions_of_mmmu(tmp_path: Path) -> None:
    rows = [{"index": 1, "question": "q", "A": None, "B": None, "answer": "42", "prediction": "It is 42"}]
    table = pd.DataFrame(rows)
    found = choice().mcq_vanilla_eval(None, table, table, 1, str(tmp_path / "x.pkl"), "MMMU_DEV_VAL")
    assert found[["A", "B", "hit"]].to_dict("list") == {"A": ["42"], "B": ["Other Answers"], "hit": [1]}
