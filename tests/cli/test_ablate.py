"""``polymeter ablate`` as a user types it: what it prints, in every form, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.kit import Typing
from tests.helpers.ablated import write_colours

MODEL = """\
import polymeter
from tests.helpers.ablated import Looker


@polymeter.register_model("looker")
class Seeing(Looker):
    def __init__(self, slips: float = 0.1) -> None:
        super().__init__(slips)
"""
N = 60


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write({"looker.py": MODEL})
    write_colours(tmp_path, "honest", N)
    write_colours(tmp_path, "leaky", N, leaks=True)
    assert typing("run --import looker.py --model looker --tasks honest.csv,leaky.csv -o runs/one -q").code == 0
    return typing


def test_it_prints_what_the_image_is_worth_and_continues(typing: Typing) -> None:
    done = typing("ablate runs/one --how no-image,no-question -q")
    assert done.code == 0
    assert "honest: exact_match is 0." in done.out
    assert "without images: the gain is +0." in done.out
    assert "leaky: exact_match is" in done.out
    assert "No difference is shown." in done.out
    assert f"of {N} samples" in done.out
    assert "page     runs/one/ablation.html" in done.out
    assert max(map(len, (line for line in done.out.splitlines() if line.startswith(" ")))) <= 100
    again = typing("ablate runs/one --how no-image,no-question -q")
    assert (again.code, again.out) == (0, done.out)
    assert "Ablation" in (typing.folder / "runs/one-no-image/report.html").read_text()
    assert "Left out: runs/one-no-image: it is an ablation (no-image)" in typing("leaderboard runs").out


def test_every_form(typing: Typing) -> None:
    done = typing("ablate runs/one --how no-image --json")
    document = json.loads(done.out)
    assert (document["kind"], document["schema_version"], document["exit_code"]) == ("ablation", 1, 0)
    assert {one["how"]: one["status"] for one in document["runs"]} == {"no-image": "complete"}
    found = {score["name"]: score for score in document["scores"] if score["is_main"]}
    assert set(found) == {"honest", "leaky"}
    assert found["honest"]["gain"] == pytest.approx(found["honest"]["with"] - found["honest"]["without"])
    assert set(document["blind"]) == {"honest", "leaky"}
    assert json.loads((typing.folder / "runs/one/ablation.json").read_text())["scores"] == document["scores"]
    markdown = typing("ablate runs/one --how no-image --format markdown -q").out
    assert markdown.startswith("| task | metric | n | with | ablation |")
    table = [*csv.DictReader(io.StringIO(typing("ablate runs/one --how no-image --format csv -q").out))]
    assert {row["name"] for row in table} == {"honest", "leaky"}
    assert "\\begin{tabular}" in typing("ablate runs/one --how no-image --format latex -q").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ablate runs/one --how no-imge", "Did you mean 'no-image'?"),
        ("ablate runs/none", "There is no run folder at runs/none"),
        ("ablate runs/one --how no-audio", "its prompts show no audio"),
        ("ablate runs/one --how blank --llm runs/one", "no ablation leaves them out"),
        ("ablate runs/one --how no-image --llm runs/none", "runs/none"),
        ("run --import looker.py --model looker --tasks honest.csv --ablation grey", "There is no ablation 'grey'."),
    ],
)
def test_what_is_refused(typing: Typing, words: str, said: str) -> None:
    done = typing(words)
    assert done.code == 2
    assert said in done.err
    assert not (typing.folder / "runs/one-no-image").exists()


def test_a_cap_stops_an_ablation_and_a_higher_one_continues_it(typing: Typing) -> None:
    stopped = typing("ablate runs/one --how no-image --max-time 0.000001s -q")
    assert stopped.code == 1
    told = " ".join(stopped.out.split())
    assert "no-image has not ended (status stopped)" in told
    assert "The same command with a higher cap continues it." in told
    assert "page" not in stopped.out
    assert typing("ablate runs/one --how no-image --max-time 1h -q").code == 0


def test_a_report_and_a_viewer_mark_what_was_answered_blind(typing: Typing) -> None:
    results = (typing.folder / "runs/one/results.json").read_bytes()
    samples = (typing.folder / "runs/one/samples/leaky.jsonl").read_bytes()
    assert '"blind":' not in (typing.folder / "runs/one/report.html").read_text()
    typing("ablate runs/one --how no-image -q")
    assert typing("report runs/one").code == 0
    page = (typing.folder / "runs/one/report.html").read_text()
    blind = json.loads((typing.folder / "runs/one/ablation.json").read_text())["blind"]
    assert page.count('"blind":"no-image"') == sum(len(own["no-image"]) for own in blind.values())
    assert (typing.folder / "runs/one/results.json").read_bytes() == results
    assert (typing.folder / "runs/one/samples/leaky.jsonl").read_bytes() == samples
    assert typing("verify runs/one").code == 0


def test_an_ablation_is_a_run_like_any_other(typing: Typing) -> None:
    typing("ablate runs/one --how shuffled-image -q")
    before = json.loads((typing.folder / "runs/one-shuffled-image/results.json").read_text())["tasks"]
    assert typing("resume runs/one-shuffled-image -q").code == 0
    assert typing("score runs/one-shuffled-image -q").code == 0
    after = json.loads((typing.folder / "runs/one-shuffled-image/results.json").read_text())["tasks"]
    assert after == before, "scoring again makes the same requests, and finds their answers"
    assert typing("compare runs/one runs/one-shuffled-image").code == 2, (
        "other prompts are refused until they are allowed"
    )
    assert typing("rerun runs/one-shuffled-image -q").out.strip() == "no difference"
