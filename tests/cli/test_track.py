"""``polymeter track`` as a user types it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.kit import Typing
from tests.helpers.checkpoint_folders import save, values, write_task

WORDS = "track out --tasks sums.yaml --model mock --model-args answers={checkpoint}/answers.json --settle 0 -q"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    write_task(tmp_path)
    save(tmp_path / "out", 100, 20)
    save(tmp_path / "out", 200, 45)
    return Typing(tmp_path, capsys)


def test_it_prints_the_curve_and_writes_page_and_table(typing: Typing) -> None:
    done = typing(WORDS)
    assert done.code == 0
    assert "sums: step 200 is better, by 0.417 (95 % interval" in done.out
    assert "It is the best value so far." in done.out
    assert max(map(len, (line for line in done.out.splitlines() if line.startswith(" ")))) <= 130
    rows = list(csv.DictReader(io.StringIO(Path("runs/track/out/curve.csv").read_text())))
    assert [(row["step"], float(row["value"]), row["against"]) for row in rows] == [
        ("100", pytest.approx(1 / 3), ""),
        ("200", 0.75, "100"),
    ]
    assert float(rows[1]["difference"]) == pytest.approx(25 / 60)
    assert (rows[1]["verdict"], rows[1]["wins"], rows[1]["n_pairs"]) == ("better", "25", "60")
    page = Path("runs/track/out/curve.html").read_text()
    assert "sums: step 200 is better, by 0.417" in page


def test_json_is_the_curve_of_python_and_nothing_else(typing: Typing) -> None:
    document = json.loads(typing(f"{WORDS} --json").out)
    assert document["kind"] == "curve"
    assert values(document) == pytest.approx({100: 1 / 3, 200: 0.75})
    assert [point["status"] for point in document["checkpoints"]] == ["measured", "measured"]


def test_a_regression_exits_with_3(typing: Typing) -> None:
    save(typing.folder / "out", 300, 20)
    done = typing(f"{WORDS} --max-regression 0.1")
    assert done.code == 3
    assert "REGRESSION: sums (exact_match): step 300 is 0.4167 worse than step 200" in done.out
    done = typing(f"{WORDS} --max-regression 0.1 --against 100")
    assert (done.code, "No loss of more than 0.1 is shown." in done.out) == (0, True)
    assert typing(f"{WORDS} --max-regression -1").code == 2


def test_a_gate_that_cannot_be_decided_exits_with_4_and_says_so(typing: Typing) -> None:
    save(typing.folder / "out", 300, 44)
    done = typing(f"{WORDS} --max-regression 0.01")
    said = "Exit code 4: such a loss is not excluded either. --allow-undecided accepts that."
    assert (done.code, said in done.out) == (4, True), done.said
    done = typing(f"{WORDS} --max-regression 0.01 --allow-undecided")
    assert (done.code, "Exit code" in done.out) == (0, False)


def test_options_of_run_reach_every_run(typing: Typing) -> None:
    typing(f"{WORDS} --limit 12 --seed 7 -o curve")
    for step in ("100", "200"):
        manifest = json.loads(Path(f"curve/{step}/run.json").read_text())
        assert (manifest["options"]["identity"]["limit"], manifest["options"]["identity"]["seed"]) == (12, 7)
        assert manifest["command"].startswith("polymeter track out")
    done = typing(f"{WORDS} --limit 13 -o curve")
    assert (done.code, "limit was 12, is 13" in done.err) == (2, True)


def test_a_failure_exits_with_1_and_is_told(typing: Typing) -> None:
    (typing.folder / "out/checkpoint-100/answers.json").write_text("{")
    done = typing(WORDS)
    assert done.code == 1
    assert "Note: checkpoint-100 failed: The answers file cannot be read" in done.out


def test_a_mistake_is_told_before_anything_is_measured(typing: Typing) -> None:
    done = typing(WORDS.replace("sums.yaml", "summs"))
    assert (done.code, "no task, group or tag 'summs'" in done.err) == (2, True)
    done = typing("track out --model mock --model-args answer={step} --tasks ,")
    assert (done.code, "No task is named." in done.err) == (2, True)
    assert not Path("runs").exists()


def test_it_waits_until_a_step(typing: Typing) -> None:
    done = typing(f"{WORDS} --watch --until 200 --poll 1")
    assert done.code == 0
    assert "step 200" in done.out
