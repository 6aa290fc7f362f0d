"""``polymeter pairwise``: two answers to one prompt, judged in both orders."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.analysis.preferences.collecting import _prompt
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.models.mock import MockBatch
from polymeter.store.exports.export import read_samples
from tests.cli.kit import Typing

ROWS = 40
TASK = """\
task: essays
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "Write. {{topic}}"
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""
QUALITIES = {"bad": 0, "good": 1, "best": 2}


def answer(name: str, row: int) -> str:
    """Quality 0 to 9; each model's is its level plus what the row adds, and in every fifth row all are equal."""
    return f"quality {(5 if row % 5 == 0 else (row * 7) % 7 + QUALITIES[name])}"


@pytest.fixture
def type_in(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> Typing:
    """Runs of three models."""
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    rows = [json.dumps({"topic": f"t{i}", "answer": "x"}) for i in range(ROWS)]
    typing.write({"rows.jsonl": "\n".join(rows), "essays.yaml": TASK})
    for name in QUALITIES:
        typing.write({f"{name}.json": json.dumps({str(i): answer(name, i) for i in range(ROWS)})})
        assert main(f"run -m mock -a answers={name}.json -t essays.yaml -o {name} -q".split(" ")) == 0
    return typing


class Judge:
    """Prefers the higher quality; counts what it is asked, and may prefer the first or fail."""

    def __init__(self, bias: float = 0.0, silent: str = "") -> None:
        self.asked: list[str] = []
        self._bias, self._silent = bias, silent

    def model(self) -> MockBatch:
        return MockBatch(self._verdict, identity={"backend": "judge", "bias": self._bias})

    def _verdict(self, request: Any) -> str:
        self.asked.append(request.text)
        if self._silent and self._silent in request.text:
            return "I would rather not say."
        a, b = (
            float(found) + self._bias * (not place)
            for place, found in enumerate(re.findall(r"quality (\d)", request.text))
        )
        return f"Verdict: {'A' if a > b else 'B' if b > a else 'TIE'}"


def test_the_better_one_wins(type_in: Typing, tmp_path: Path) -> None:
    judge = Judge()
    found = polymeter.pairwise("bad", "good", judge=judge.model(), output="verdicts").standings
    (pair,) = found["pairs"]
    assert (pair["n"], pair["wins"], pair["ties"], pair["losses"]) == (ROWS, 0, 8, 32)
    assert pair["win_rate"]["value"] == 4 / ROWS
    assert found["n_equal_answers"] == 8
    assert len(judge.asked) == 2 * 32  # equal answers are not sent
    assert len(set(judge.asked)) == 64
    assert found["position"]["n_contradictory"] == 0
    assert found["position"]["first_shown"]["value"] == 0.5
    scores = {run["name"]: run["score"] for run in found["runs"]}
    assert scores["good"] == pytest.approx(-scores["bad"])
    assert scores["good"] == pytest.approx(1.0986, abs=1e-3)  # half of log(36 / 4)


def test_a_preference_for_a_place_is_a_tie_and_is_reported(type_in: Typing) -> None:
    found = polymeter.pairwise("bad", "good", judge=Judge(bias=5).model(), output="verdicts").standings
    (pair,) = found["pairs"]
    assert pair["ties"] == ROWS
    assert pair["win_rate"]["interval"] is None
    assert found["position"]["n_contradictory"] == 32
    assert found["position"]["first_shown"]["value"] == 1.0


def test_nothing_is_asked_twice(type_in: Typing) -> None:
    first, second = Judge(), Judge()
    once = polymeter.pairwise("bad", "good", "best", judge=first.model(), output="verdicts")
    again = polymeter.pairwise("bad", "good", "best", judge=second.model(), output="verdicts")
    assert len(first.asked) == 2 * 3 * 32
    assert second.asked == []
    assert again.standings == once.standings
    assert again.result.exit_code == 0


def test_a_run_that_was_stopped_goes_on(type_in: Typing) -> None:
    class Stopped(Judge):
        def _verdict(self, request: Any) -> str:
            if len(self.asked) == 30:
                raise KeyboardInterrupt
            return super()._verdict(request)

    stopped, rest = Stopped(), Judge()
    model = MockBatch(stopped._verdict, identity={"backend": "judge", "bias": 0.0}, batch_size=10)
    early = polymeter.pairwise("bad", "good", judge=model, output="verdicts")
    assert early.result.status == "interrupted"
    assert early.standings["n_scored"] < ROWS
    late = polymeter.pairwise("bad", "good", judge=rest.model(), output="verdicts")
    assert late.result.status == "complete"
    assert late.standings["n_scored"] == ROWS
    assert not set(rest.asked) & set(stopped.asked[:20])  # a batch that was answered is never sent again
    assert len({*rest.asked, *stopped.asked}) == 64


def test_a_verdict_that_is_none_leaves_its_pair_out(type_in: Typing) -> None:
    found = polymeter.pairwise("bad", "good", judge=Judge(silent="t3\n").model(), output="verdicts")
    assert found.result.exit_code == 1
    assert found.standings["n_scored"] == ROWS - 1
    assert found.standings["n_pairs"] == ROWS


def test_a_judge_that_was_cut_off_in_its_reasoning_leaves_its_pair_unscored(type_in: Typing) -> None:
    def verdict(request: Any) -> str:
        return "<think>B is longer.\nVerdict: B" if "t3\n" in request.text else "Verdict: TIE"

    judge = MockBatch(verdict, identity={"backend": "thinker"})
    found = polymeter.pairwise("bad", "good", judge=judge, output="verdicts")
    assert (found.standings["n_scored"], found.standings["n_pairs"]) == (ROWS - 1, ROWS)
    assert found.result.exit_code == 1
    lost = [row for row in read_samples(found.result.folder, "pairwise") if row["status"] == "unscored"]
    assert ["ended inside its reasoning (token limit)" in row["error"]["message"] for row in lost] == [True]


def test_a_judge_sees_earlier_rounds_without_their_reasoning(tmp_path: Path) -> None:
    sent = [("user", "<think>?"), ("assistant", "<think>a dog</think> A cat. "), ("user", "Sure?")]
    messages = [{"role": role, "parts": [{"text": text}]} for role, text in sent]
    parts, is_whole = _prompt(messages, tmp_path, {})
    assert is_whole
    shown = "".join(part["text"] for part in parts)
    assert shown == "[user]\n<think>?\n[assistant]\nA cat.\n[user]\nSure?"  # what a user wrote is no reasoning


def test_a_judge_sees_answers_without_their_reasoning(type_in: Typing) -> None:
    for name, thought in (("one", "[THINK]quality 9[/THINK]"), ("two", "<|channel|>analysis<|message|>quality 8")):
        rows = {str(i): f"{thought}\n\nquality {i % 2}" if name == "one" else thought for i in range(ROWS)}
        type_in.write({f"{name}.json": json.dumps(rows)})
        assert main(["run", *f"-m mock -a answers={name}.json -t essays.yaml -o {name} -q".split()]) == 0
    seen: list[str] = []

    def verdict(request: Any) -> str:
        seen.append(request.text)
        return "Verdict: A"

    polymeter.pairwise("one", "two", judge=MockBatch(verdict), output="verdicts")
    assert seen
    assert not any("quality 9" in text or "quality 8" in text for text in seen)
    assert all(re.search(r"<answer_[AB]_\w+>\n\n?</answer_[AB]_\w+>", text) for text in seen)  # cut off: empty


def test_a_model_that_never_loses_has_no_score(type_in: Typing) -> None:
    for name in ("bad", "best"):
        rows = {str(i): f"quality {QUALITIES[name]}" for i in range(ROWS)}
        type_in.write({f"{name}.json": json.dumps(rows)})
        assert main(["run", *f"-m mock -a answers={name}.json -t essays.yaml -o always_{name} -q".split()]) == 0
    found = polymeter.pairwise("always_bad", "always_best", judge=Judge().model(), output="v").standings
    assert [run["score"] for run in found["runs"]] == [None, None]
    assert "infinite" in found["no_scores"]
    assert found["tiers"] == [["always_best"], ["always_bad"]]
    assert found["pairs"][0]["win_rate"]["interval"][1] > 0


def test_a_limited_number_of_pairs_connects_all_runs(type_in: Typing) -> None:
    for most in (2, 7, 30):
        judge = Judge()
        found = polymeter.pairwise(
            "bad", "good", "best", judge=judge.model(), max_pairs=most, output=f"v{most}"
        ).standings
        assert found["n_pairs"] == most
        counts = {(pair["first"], pair["second"]): pair["n"] for pair in found["pairs"]}
        assert {("bad", "good"), ("good", "best")} <= counts.keys()
        assert max(counts.values()) - min(counts.values()) <= 1
    with pytest.raises(PlanError, match="cannot connect 3 runs"):
        polymeter.pairwise("bad", "good", "best", judge=Judge().model(), max_pairs=1, output="v1")
    few = polymeter.pairwise("bad", "good", judge=Judge().model(), limit=6, output="limited").standings
    assert few["n_pairs"] == 6
    with pytest.raises(PlanError, match="0 leaves nothing"):
        polymeter.pairwise("bad", "good", judge="mock", limit=0)


def test_the_command_says_what_it_costs_and_what_was_found(type_in: Typing) -> None:
    type_in.write({"rubric.txt": "The longer one is better."})
    done = type_in("pairwise bad good --judge mock --judge-args answer=TIE --rubric rubric.txt -q")
    assert done.code == 0
    assert "40 pairs of answers by bad and good: at most 64 requests to mock" in done.err
    assert "8 pairs of equal answers count as ties, unjudged." in done.out
    folder = Path("pairwise-bad-good-by-mock")
    assert json.loads((folder / "pairs" / "pairwise.pairs").read_text().splitlines()[0])["rubric"] == (
        "The longer one is better."
    )
    assert "The longer one is better." in (folder / "samples" / "pairwise.jsonl").read_text()
    document = json.loads(
        type_in("pairwise bad good --judge mock --judge-args answer=TIE --rubric rubric.txt --json").out
    )
    assert (document["kind"], document["judge"], document["exit_code"]) == ("pairwise", "mock", 0)
    table = type_in("pairwise bad good --judge mock --judge-args answer=TIE --rubric rubric.txt --format markdown").out
    assert "| good | mock | 40 | 0 | 40 | 0 | 0.000 | – |" in table
    rows = type_in("pairwise bad good --judge mock --judge-args answer=TIE --rubric rubric.txt --format csv").out
    assert "win rate,bad,good,40,0,40,0,0.5" in rows
    assert type_in("resume pairwise-bad-good-by-mock").code == 0


def test_other_pairs_need_another_folder(type_in: Typing) -> None:
    assert type_in("pairwise bad good --judge mock --judge-args answer=TIE -o v -q").code == 0
    done = type_in("pairwise bad best --judge mock --judge-args answer=TIE -o v -q")
    assert done.code == 2
    assert "contains verdicts on other pairs" in done.err
    assert type_in("pairwise bad best --judge mock --judge-args answer=TIE -o v -q --restart").code == 0


def test_what_would_mislead_is_refused_and_leaves_nothing(type_in: Typing) -> None:
    type_in.write({"essays.yaml": TASK.replace("Write.", "Paint.")})
    assert main(["run", "-m", "mock", "-a", "answers=good.json", "-t", "essays.yaml", "-o", "painted", "-q"]) == 0
    done = type_in("pairwise bad painted --judge mock -o v")
    assert done.code == 2
    assert "were sent different prompts" in done.err
    assert not Path("v").exists()
    assert type_in("pairwise bad painted --judge mock --judge-args answer=A -o v -q --allow prompts,task").code == 0
    nobody = type_in("pairwise bad good --judge nobody -o w")
    assert (nobody.code, Path("w/pairs").exists()) == (2, False)
    assert "at --judge" in nobody.err
    assert "A run is named twice." in type_in("pairwise bad bad --judge mock").err
    assert "Name a second run folder." in type_in("pairwise bad --judge mock").err
    assert "have no task 'none' in common" in type_in("pairwise bad good --judge mock --tasks none").err
    assert "There is no such file with a rubric." in type_in("pairwise bad good --judge mock --rubric no.txt").err


def test_generated_images_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        polymeter.evaluate(
            "shapes", "demo_t2i", limit=4, seed=seed, output=f"drawn{seed}", model_args={"error_rate": 0.9}
        )
    seen: list[list[tuple[int, int]]] = []

    def verdict(request: Any) -> str:
        seen.append([image.open().size for image in request.images()])
        return "Verdict: A"

    found = polymeter.pairwise("drawn1", "drawn2", judge=MockBatch(verdict), output="v")
    n = found.standings["position"]["n"]
    assert n > 0
    assert len(seen) == 2 * n
    assert all(len(sizes) == 2 for sizes in seen)
    assert found.standings["position"]["n_contradictory"] == n
    stored = [*(tmp_path / "v" / "pairs" / "media").iterdir()]
    assert stored
    # The folder stands alone: what was compared may be gone.
    (tmp_path / "drawn1").rename(tmp_path / "away")
    assert polymeter.resume("v", model=MockBatch(verdict)).exit_code == 0
