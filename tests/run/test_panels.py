"""Several judges in a run: each is asked once, its verdicts are kept, and what they come to is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import ModelError, PlanError
from polymeter.report.render import to_text
from polymeter.store.exports.export import read_samples
from tests.helpers.judged import CARELESS, N_ROWS, TASK, judged_folder
from tests.run.test_judging import Judge, evaluate, statuses

IN_REDUCTION = """\
from polymeter.judge import LLMJudge

judge = LLMJudge()


def judged(doc, results):
    return {"judged": results[0]}


def all_judged(items):
    return judge.get_score(judge(judge.build_prompt(items[0], "x")))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged_folder(tmp_path / "tasks")


def panel() -> list[Judge]:
    """Three judges, who say yes to all, to even numbers, and to every third."""
    return [
        Judge(lambda n: "A", "generous"),
        Judge(lambda n: "B" if n % 2 else "A", "even"),
        Judge(lambda n: "B" if n % 3 else "A", "third"),
    ]


def values(found: polymeter.RunResult) -> list[float]:
    return [row["scores"][0]["value"] for row in read_samples(found.folder, TASK)]


def test_a_sample_gets_the_mean_and_each_verdict_is_kept(folder: Path) -> None:
    judges = panel()
    found = evaluate(folder, judges)
    assert values(found) == pytest.approx([(1 + (n % 2 == 0) + (n % 3 == 0)) / 3 for n in range(N_ROWS)])
    assert found.value(TASK, "judged") == pytest.approx((12 + 6 + 4) / 36)
    assert [sorted(judge.asked) for judge in judges] == [[*range(N_ROWS)]] * 3
    row = [*read_samples(found.folder, TASK)][2]
    assert row["log"]["judges"] == {
        "judge": {"judged,none": 1.0},
        "judge_2": {"judged,none": 1.0},
        "judge_3": {"judged,none": 0.0},
    }
    assert [exchange["role"] for exchange in row["exchanges"] if exchange["role"] != "model"] == [
        "judge",
        "judge_2",
        "judge_3",
    ]
    assert row["judge_rules"] == ["the whole answer"] * 3
    assert len(row["judge_calls"]) == 3


def test_the_results_say_what_each_judge_gave_and_how_well_they_agree(folder: Path) -> None:
    found = evaluate(folder, panel())
    judges = found.results["tasks"][TASK]["judges"]
    assert (judges["rule"], judges["quorum"]) == ("mean", 3)
    (metric,) = judges["metrics"]
    assert [(own["role"], own["n"], own["value"]) for own in metric["judges"]] == [
        ("judge", 12, 1.0),
        ("judge_2", 12, 0.5),
        ("judge_3", 12, pytest.approx(1 / 3)),
    ]
    assert metric["pairs"][2]["agreement"]["value"] == 0.5  # 0, 1, 5, 6, 7, 11
    # 36 values, of which 22 are 1: observed disagreement over expected.
    within = sum(2 * k * (3 - k) / 2 for k in (1 + (n % 2 == 0) + (n % 3 == 0) for n in range(N_ROWS)))
    assert metric["alpha"]["value"] == pytest.approx(1 - 35 * within / (36**2 - 22**2 - 14**2))
    text = to_text(found.results)
    assert "judged is the mean of 3 judges: " in text
    assert "Krippendorff's alpha" in text
    assert "judged is the mean of 3 judges" in found.report.read_text()


def test_the_majority(folder: Path) -> None:
    found = evaluate(folder, panel(), panel="majority")
    assert values(found) == [float((1 + (n % 2 == 0) + (n % 3 == 0)) >= 2) for n in range(N_ROWS)]


def test_a_judge_that_was_cut_off_leaves_the_panel_for_that_sample(folder: Path) -> None:
    cut_off = "<think>Surely this is Verdict: B"
    judges = [Judge(lambda n: "A", "one"), Judge(lambda n: cut_off if n == 3 else "B", "two")]
    found = evaluate(folder, judges, panel_quorum=1)
    assert values(found) == [1.0 if n == 3 else 0.5 for n in range(N_ROWS)]
    row = [*read_samples(found.folder, TASK)][3]
    assert "ended inside its reasoning (token limit)" in row["log"]["judges_without_verdict"]["judge_2"]
    alone = evaluate(folder, judges, output="all")
    assert statuses(alone) == {"ok": N_ROWS - 1, "unscored": 1}
    assert "judge_2: The judge's answer ended inside its reasoning" in str(
        [*read_samples(alone.folder, TASK)][3]["error"]
    )


@pytest.mark.parametrize("careless", [False, True])
def test_a_judge_that_fails_leaves_the_sample_unscored(tmp_path: Path, careless: bool) -> None:
    folder = judged_folder(tmp_path / "tasks", **({"code": CARELESS} if careless else {}))

    def fails(number: int) -> str:
        if number == 4:
            raise ModelError("Gone.")
        return "well" if number == 5 else "A"

    judges = [Judge(lambda n: "A", "one"), Judge(fails, "two")]
    found = evaluate(folder, judges)
    assert statuses(found) == {"ok": N_ROWS - 2, "unscored": 2}
    rows = [*read_samples(found.folder, TASK)]
    assert "1 of 2 judges gave a verdict, but 2 are needed. judge_2:" in rows[4]["error"]["message"]
    assert "does not show a verdict" in rows[5]["error"]["message"]
    assert found.exit_code == 1


def test_with_a_quorum_the_others_count(folder: Path) -> None:
    judges = [
        Judge(lambda n: "A", "one"),
        Judge(lambda n: "well" if n == 5 else "B", "two"),
        Judge(lambda n: "B", "three"),
    ]
    found = evaluate(folder, judges, panel_quorum=2)
    assert statuses(found) == {"ok": N_ROWS}
    assert values(found)[5] == 0.5
    assert values(found)[6] == pytest.approx(1 / 3)
    row = [*read_samples(found.folder, TASK)][5]
    assert row["log"]["judges"].keys() == {"judge", "judge_3"}
    assert "does not show a verdict" in row["log"]["judges_without_verdict"]["judge_2"]
    (metric,) = found.results["tasks"][TASK]["judges"]["metrics"]
    assert [own["n"] for own in metric["judges"]] == [12, 11, 12]


def test_resuming_asks_only_the_judge_whose_verdict_is_missing(folder: Path) -> None:
    first = [Judge(lambda n: "A", "one"), Judge(lambda n: "well" if n == 5 else "B", "two")]
    evaluate(folder, first)

    def never(number: int) -> str:
        raise AssertionError(number)

    # The journal holds the useless answer too, and asks for it no second time: another judge has to.
    again = [Judge(never, "one"), Judge(never, "two")]
    found = evaluate(folder, again)
    assert [judge.asked for judge in again] == [[], []]
    assert statuses(found) == {"ok": N_ROWS - 1, "unscored": 1}


def test_a_run_that_was_interrupted_asks_nobody_twice(folder: Path) -> None:
    def stops(number: int) -> str:
        if number == 6:
            raise KeyboardInterrupt
        return "A"

    first = [Judge(lambda n: "A", "one"), Judge(stops, "two")]
    early = evaluate(folder, first)
    assert early.status == "interrupted"
    second = [Judge(lambda n: "A", "one"), Judge(lambda n: "A", "two")]
    late = evaluate(folder, second)
    assert statuses(late) == {"ok": N_ROWS}
    assert late.value(TASK, "judged") == 1.0
    assert sorted([*first[0].asked, *second[0].asked]) == [*range(N_ROWS)]
    assert late.results["tasks"][TASK]["judges"]["metrics"][0]["judges"][0]["n"] == N_ROWS


def test_scoring_again_with_a_panel_and_with_one_judge(folder: Path) -> None:
    first = evaluate(folder, Judge(lambda n: "A", "generous"))
    assert "judges" not in first.results["tasks"][TASK]
    judges = panel()
    many = polymeter.score(first.folder.path, roles={"judge": judges}, output=folder.parent / "many", panel="majority")
    assert judges[0].asked == []  # its verdicts are in the run already
    assert len(judges[1].asked) == N_ROWS
    assert many.value(TASK, "judged") == pytest.approx(8 / 12)
    alone = Judge(lambda n: "B", "strict")
    one = polymeter.score(many.folder.path, roles={"judge": alone}, output=folder.parent / "one")
    assert one.value(TASK, "judged") == 0.0
    assert "judges" not in one.results["tasks"][TASK]
    same = polymeter.score(many.folder.path, output=folder.parent / "same")
    assert same.results["tasks"] == many.results["tasks"]


def test_a_task_that_asks_no_judge_is_scored_once(tmp_path: Path) -> None:
    code = "seen = []\n\n\ndef judged(doc, results):\n    seen.append(1)\n    return {'judged': float(len(seen))}\n"
    folder = judged_folder(tmp_path / "tasks", code=code)
    found = evaluate(folder, panel())
    assert sorted(values(found)) == [float(n) for n in range(1, N_ROWS + 1)]
    assert "judges" not in found.results["tasks"][TASK]


def test_a_judge_that_is_asked_by_an_aggregation_is_refused(tmp_path: Path) -> None:
    folder = judged_folder(tmp_path / "tasks", code=IN_REDUCTION)
    text = (folder / "facts.yaml").read_text().replace("aggregation: mean", "aggregation: !function utils.all_judged")
    (folder / "facts.yaml").write_text(text)
    judges = panel()
    found = evaluate(folder, judges)
    assert found.exit_code == 1
    assert any("A judge is asked while results are computed" in note for note in found.results["notes"])
    assert [judge.asked for judge in judges] == [[], [], []]


def test_what_cannot_be_a_panel_is_refused_before_anything_is_asked(folder: Path) -> None:
    judges: Any
    for judges, options, message in (
        ([Judge(lambda n: "A"), Judge(lambda n: "A")], {}, "is named twice"),
        (panel(), {"panel_quorum": 4}, "A quorum of 4 needs as many judges, and the run has 3"),
        (Judge(lambda n: "A"), {"panel_quorum": 2}, "the run has 1"),
        ([], {}, "A panel needs judges"),
        (panel(), {"panel": "median"}, "panel"),
        (panel(), {"panel_quorum": 0}, "panel_quorum"),
    ):
        with pytest.raises(PlanError, match=message):
            evaluate(folder, judges, output="none", **options)
    assert not (folder.parent / "none" / "run.json").exists()
    with pytest.raises(PlanError, match="The role 'helper' takes one model"):
        polymeter.evaluate("mock", TASK, include_paths=[folder], roles={"helper": ["mock", "ocr"]})


def test_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    run = ["run", "--model", "mock", "--tasks", TASK, "--include-path", "tasks", "--cache-dir", "cache", "-q"]
    two = ["--judge", "mock", "--judge", "mock", "--judge-args", "answer=A", "--judge-args", "answer=B"]
    assert main([*run, *two, "-o", "two"]) == 0
    assert "judged is the mean of 2 judges: mock (judge) 1.000 and mock (judge_2) 0.000" in capsys.readouterr().out
    options = json.loads((folder.parent / "two" / "run.json").read_text())["identity"]["options"]
    assert "panel" not in options  # the default is not part of what a run is, so that older ones go on
    assert main(["resume", "two"]) == 0
    assert main(["verify", "two"]) == 0
    capsys.readouterr()
    assert main([*run, *two[:6], "-o", "none"]) == 2
    assert "There are 2 judges, and arguments for 1." in capsys.readouterr().err
    assert main([*run, *two, "--panel", "majority", "--panel-quorum", "1", "-o", "one"]) == 0
    assert main(["score", "one", "--judge", "mock", "--judge-args", "answer=B", "-o", "again", "-q"]) == 0
    assert polymeter.open_run("again").value(TASK, "judged") == 0.0
    assert polymeter.open_run("one").value(TASK, "judged") == 0.5
