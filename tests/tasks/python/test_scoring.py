"""Scorers, repeats and rounds: what functions get, what they may return, and the results."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import polymeter
from polymeter import Scored
from tests.tasks.python.kit import Recorder, results_of, shown

_ROWS = [{"q": "one", "answer": "1"}, {"q": "two", "answer": "2"}]


def _run(task: polymeter.PythonTask, answer: Any = "1", **options: Any) -> polymeter.RunResult:
    make = answer if callable(answer) else lambda request: answer
    return polymeter.evaluate(Recorder(make), tasks=task, **options)


def _of(scorers: Any, answer: Any = "1", **fields: Any) -> dict[str, Any]:
    fields = {"rows": _ROWS, "reference": "answer", **fields}
    return results_of(_run(polymeter.PythonTask("{q}", name="t", scorers=scorers, **fields), answer), "t")


def _samples(run: polymeter.RunResult, task: str = "t") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.folder.path / "samples" / f"{task}.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (True, {"s": 1.0}),
        (0.25, {"s": 0.25}),
        ({"a": 1, "b": False}, {"s/a": 1.0, "s/b": 0.0}),
        (Scored(0.5, answer="half", explanation="because", log={"length": 3}), {"s": 0.5}),
        (Scored({"a": 1.0}), {"s/a": 1.0}),
        (math.nan, {"s": None}),
    ],
)
def test_what_a_scorer_may_return(returned: Any, expected: dict[str, Any]) -> None:
    @polymeter.scorer
    def s(answer: str) -> Any:
        return returned

    assert _of(s) == expected


def test_a_number_of_numpy_counts() -> None:
    numpy = pytest.importorskip("numpy")

    def s(answer: str) -> Any:
        return numpy.float32(0.5)

    assert _of(s) == {"s": 0.5}


@pytest.mark.parametrize("returned", [None, "yes", [1]])
def test_what_is_no_number_is_an_error_of_its_sample(returned: Any) -> None:
    def s(answer: str) -> Any:
        return returned

    run = _run(polymeter.PythonTask("{q}", name="t", rows=_ROWS, scorers=s))
    assert run.n_failed == 2
    assert (
        f"Scorer 's' of task 't' returned {returned!r}, which is not a number." in _samples(run)[0]["error"]["message"]
    )


def test_a_scorer_gets_what_it_names() -> None:
    seen: dict[str, Any] = {}

    def everything(reference: str, row: polymeter.Row, answer: str) -> bool:
        seen.update(answer=answer, reference=reference, row=row)
        return True

    _of(everything, "  1\n", rows=_ROWS[:1])
    assert seen == {"answer": "1", "reference": "1", "row": _ROWS[0]}


def test_a_scorer_that_fails_names_its_line() -> None:
    def broken(answer: str, row: polymeter.Row) -> float:
        return float(row["nothing"])

    run = _run(polymeter.PythonTask("{q}", name="t", rows=_ROWS, scorers=broken))
    message = _samples(run)[0]["error"]["message"]
    assert "Scorer 'broken' of task 't' raised KeyError: 'nothing'" in message
    assert f"{__file__}:" in message
    assert "The rows have: q, answer." in message


def test_an_explanation_stands_with_its_sample() -> None:
    def s(answer: str) -> Scored:
        return Scored(1.0, answer="one", explanation="It says one.", log={"words": 1})

    sample = _samples(_run(polymeter.PythonTask("{q}", name="t", rows=_ROWS, scorers=s)))[0]
    assert (sample["answer"], sample["explanation"], sample["log"]) == ("one", "It says one.", {"words": 1})


def test_direction_bounds_and_aggregation_are_the_scorers() -> None:
    @polymeter.scorer(higher_is_better=False, aggregation="median")
    def distance(answer: str, reference: str) -> float:
        return abs(int(answer) - int(reference))

    @polymeter.scorer(aggregation=lambda scores: float(max(scores)), name="largest")
    def own(answer: str, reference: str) -> float:
        return int(reference)

    rows = [{"q": str(n), "answer": str(n)} for n in (1, 2, 9)]
    run = _run(polymeter.PythonTask("{q}", name="t", rows=rows, reference="answer", scorers=[distance, own]))
    assert results_of(run, "t") == {"distance": 1.0, "largest": 9.0}
    assert run.results["tasks"]["t"]["results"][0]["higher_is_better"] is False


def test_an_aggregation_may_take_any_values() -> None:
    @polymeter.scorer(aggregation=lambda pairs: sum(a == b for a, b in pairs) / len(pairs))
    def agreement(answer: str, reference: str) -> tuple[str, str]:
        return answer, reference

    assert _of(agreement) == {"agreement": 0.5}


def test_several_references_are_all_right() -> None:
    rows = [{"q": "a", "answer": ["0", "1"]}, {"q": "b", "answer": 1}]
    assert _of("exact_match", rows=rows) == {"exact_match": 1.0}


def test_metrics_take_settings_and_stand_in_the_order_of_the_task() -> None:
    found = _of([{"metric": "exact_match", "ignore_case": True}, "anls", len_of], "ONE", reference=lambda row: row["q"])
    assert found == {"exact_match": 0.5, "anls": pytest.approx(0.5), "len_of": 3.0}


def len_of(answer: str) -> int:
    """The length of an answer."""
    return len(answer)


def test_reasoning_is_removed_before_an_answer_is_scored() -> None:
    assert _of("exact_match", "<think>1 or 2</think>\n1") == {"exact_match": 0.5}


def test_a_plain_function_needs_no_decorator_and_a_scorer_can_be_called() -> None:
    near = polymeter.scorer(name="near")(lambda answer, reference: answer == reference)
    assert near("a", "a") is True
    assert _of(near) == {"near": 0.5}


def _in_turn(request: polymeter.Request) -> str:
    return "1" if request.parameters.repeat % 4 == 0 else "3"


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        ("mean", {"exact_match": 0.25}),
        (("mean", "max"), {"exact_match mean": 0.25, "exact_match max": 1.0}),
        (["min", "first"], {"exact_match min": 0.0, "exact_match first": 1.0}),
        ("majority", {"exact_match majority": 0.0}),
        (["pass@1", "pass@2"], {"exact_match pass@1": 0.25, "exact_match pass@2": 0.5}),
        ("pass@4", {"exact_match pass@4": 1.0}),
        (["pass^1", "pass^2"], {"exact_match pass^1": 0.25, "exact_match pass^2": 0.0}),
    ],
)  # fmt: skip
def test_the_ways_over_repeats(ways: Any, expected: dict[str, float]) -> None:
    found = _of("exact_match", _in_turn, rows=_ROWS[:1], repeats=4, over_repeats=ways)
    assert found == pytest.approx(expected)


def test_pass_at_k_needs_passes() -> None:
    def s(answer: str) -> float:
        return 0.5

    run = _run(polymeter.PythonTask("{q}", name="t", rows=_ROWS, scorers=s, repeats=2, over_repeats="pass@2"))
    assert "pass@K counts answers that pass, and a score is 0.5" in _samples(run)[0]["error"]["message"]


def test_a_scorer_may_get_all_answers_at_once() -> None:
    calls: list[list[str]] = []

    def spread(answers: list[str], reference: str) -> int:
        calls.append(answers)
        return len(set(answers))

    assert _of(spread, _in_turn, rows=_ROWS[:1], repeats=4) == {"spread": 2.0}
    assert calls == [["1", "3", "3", "3"]]


def test_a_run_may_ask_for_repeats_and_for_no_scores() -> None:
    task = polymeter.PythonTask("{q}", name="t", rows=_ROWS, reference="answer")
    model = Recorder()
    polymeter.evaluate(model, tasks=task, dialect_options={"python": {"repeats": 3}})
    assert len(model.requests) == 6
    run = _run(task, dialect_options={"python": {"predict_only": True}}, output="answers")
    assert results_of(run, "t") == {}
    assert [sample["status"] for sample in _samples(run)] == ["ok", "ok"]
    assert results_of(polymeter.score("answers", tasks=[task]), "t") == {"exact_match": 0.5}


def _counting(row: polymeter.Row) -> polymeter.Rounds:
    answer = yield f"{row['q']}?"
    if answer != row["answer"]:
        answer = yield "Sure?"
    return f"final {answer}"


def test_a_generator_goes_on_with_the_conversation() -> None:
    model = Recorder(lambda request: "1" if len(request.messages) < 3 else "2")
    task = polymeter.PythonTask(_counting, rows=_ROWS, scorers=lambda_of_answer, name="t", system="Be brief.")
    run = polymeter.evaluate(model, tasks=task)
    assert results_of(run, "t") == {"lambda_of_answer": 7.0}
    assert shown(model.requests[-1]) == ["Be brief.", "two?", "1", "Sure?"]
    assert [message.role for message in model.requests[-1].messages] == ["system", "user", "assistant", "user"]
    assert [sample["answer"] for sample in _samples(run)] == ["final 1", "final 2"]


def lambda_of_answer(answer: str) -> int:
    """The length of what a generator returned."""
    return len(answer)


def test_a_generator_that_yields_messages_says_everything_itself() -> None:
    def fresh(row: polymeter.Row) -> polymeter.Rounds:
        first = yield "a"
        yield [{"role": "user", "content": f"all anew: {first}"}]

    model = Recorder()
    polymeter.evaluate(model, tasks=polymeter.PythonTask(fresh, rows=_ROWS[:1], reference="answer"))
    assert [shown(request) for request in model.requests] == [["a"], ["all anew: ok"]]


def test_a_generator_that_does_not_end_is_stopped() -> None:
    def endless(row: polymeter.Row) -> polymeter.Rounds:
        while True:
            yield "more"

    model = Recorder()
    run = polymeter.evaluate(model, tasks=polymeter.PythonTask(endless, rows=_ROWS, reference="answer", max_rounds=3))
    assert (run.n_failed, len(model.requests)) == (2, 6)
    assert "was not done after 3 rounds" in _samples(run, "endless")[0]["error"]["message"]


def test_repeats_of_rounds_are_conversations_of_their_own() -> None:
    task = polymeter.PythonTask(_counting, rows=_ROWS[:1], scorers=lambda_of_answer, name="t", repeats=2)
    model = Recorder(lambda request: "1" if request.parameters.seed % 2 else "xx")
    run = polymeter.evaluate(model, tasks=task)
    assert run.n_failed == 0
    assert len({request.parameters.seed for request in model.requests}) == len(model.requests)
    assert _samples(run)[0]["answer"].startswith("1. final ")


def test_rounds_of_images_show_what_was_drawn() -> None:
    from PIL import Image

    def sketch(row: polymeter.Row) -> polymeter.Rounds:
        first = yield "Draw a dot."
        yield [first, "Make it blue."]

    model = Recorder(
        lambda request: Image.new("RGB", (4, 4), "blue" if request.media() and list(request.media()) else "red")
    )

    def is_blue(answer: Image.Image) -> bool:
        return answer.getpixel((0, 0)) == (0, 0, 255)

    run = polymeter.evaluate(model, tasks=polymeter.PythonTask(sketch, rows=_ROWS[:1], scorers=is_blue, output="image"))
    assert results_of(run, "sketch") == {"is_blue": 1.0}
    assert [shown(request) for request in model.requests] == [["Draw a dot."], ["image", "Make it blue."]]


def test_choices_are_compared_or_shown_with_letters() -> None:
    rows = [
        {"q": "A fruit?", "options": ["pear", "iron"], "answer": 0},
        {"q": "A metal?", "options": ["pear", "iron"], "answer": "B"},
    ]
    task = polymeter.PythonTask("{q}", name="t", rows=rows, choices="options", reference="answer")
    gold = polymeter.evaluate("mock", tasks=task, model_args={"mode": "gold"})
    assert results_of(gold, "t") == {"acc": 1.0, "acc_norm": 1.0}
    model = Recorder(lambda request: "B")
    lettered = polymeter.evaluate(model, tasks=task, mcq="text")
    assert results_of(lettered, "t") == {"acc": 0.5, "unparsed": 0.0}
    assert "A. pear" in shown(model.requests[0])[0]


def test_a_judge_that_is_missing_is_named_before() -> None:
    from polymeter.judge import LLMJudge

    judge = LLMJudge()

    def graded(answer: str, reference: str) -> float:
        return judge.get_score(judge(judge.build_prompt(answer, reference)))

    task = polymeter.PythonTask("{q}", name="t", rows=_ROWS, reference="answer", scorers=graded)
    assert results_of(_run(task, roles=None), "t") == {"graded": None}
    judged = polymeter.evaluate("mock", tasks=task, roles={"judge": polymeter.ModelSpec("mock", args={"answer": "A"})})
    assert results_of(judged, "t") == {"graded": 1.0}


def test_code_that_the_model_writes_runs_only_if_the_run_allows_it() -> None:
    rows = [{"q": "Write f.", "tests": "assert f(1) == 2"}]
    task = polymeter.PythonTask("{q}", name="t", rows=rows, reference="tests", scorers="pass@1")
    with pytest.raises(polymeter.PlanError, match="code"):
        _run(task)
    found = results_of(_run(task, "def f(x):\n    return x + 1", allow_generated_code=True), "t")
    assert found == {"pass@1": 1.0}

    def runs(answer: str) -> bool:
        return True

    with pytest.raises(polymeter.PlanError):
        _run(polymeter.PythonTask("{q}", name="t", rows=rows, scorers=runs, runs_code=True))
