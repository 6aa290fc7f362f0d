"""``--log-to`` and ``polymeter log``: what is said, how it exits, and how a run is sent again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from polymeter.core.names.registries import TRACKERS
from tests.cli.kit import CAPITALS, Typing

TRACKER = """
from pathlib import Path
from polymeter.extend import register_tracker

@register_tracker("paper")
class Paper:
    def __init__(self, *, file: str = "paper.txt", api_key: str = "", notes: str = ""):
        self._file = Path(file)

    def send(self, run):
        with self._file.open("a") as file:
            file.write("".join(f"{run.name} {one.name} {one.value}\\n" for one in run.numbers))
        return str(self._file)
"""
RUN = "run --import paper.py --model mock --tasks capitals.yaml -q -o {name} --model-args"
ANSWERS = "answers=answers.json"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(TRACKERS, "_users", {})
    typing = Typing(tmp_path, capsys)
    typing.write(
        {
            "capitals.yaml": CAPITALS,
            "answers.json": '{"0": "Paris"}',
            "capitals.csv": "country,capital\nFrance,Paris\n",
            "paper.py": TRACKER,
        }
    )
    return typing


def run(typing: Typing, more: str = "", name: str = "run"):
    return typing(f"{RUN.format(name=name)} {ANSWERS} {more}")


def test_a_run_is_sent_when_it_ends(typing: Typing) -> None:
    done = run(typing, "--log-to paper:file=a.txt")
    assert done.code == 0
    assert "logged   paper, a.txt" in done.out
    assert Path("a.txt").read_text() == "run capitals/exact_match 1.0\n"


def test_a_finished_run_is_sent_later(typing: Typing) -> None:
    run(typing)
    run(typing, name="other")
    done = typing("log run other --import paper.py --to paper")
    assert (done.code, done.err) == (0, "")
    assert done.out == "logged   run: paper, paper.txt\nlogged   other: paper, paper.txt\n"
    assert len(Path("paper.txt").read_text().splitlines()) == 2


def test_a_failure_says_how_to_send_again(typing: Typing) -> None:
    done = run(typing, "--log-to paper:file=away/a.txt,api_key=sk-secret0123456789,notes='a,b'")
    assert done.code == 0
    assert "Not logged to paper: Sending the run to 'paper' raised FileNotFoundError" in done.err
    (line,) = [line for line in done.err.splitlines() if "Send it again with" in line]
    assert "sk-secret" not in done.said
    Path("away").mkdir()
    words = shlex.split(line.partition("polymeter ")[2])
    assert words[:2] == ["log", "run"]
    assert 'notes="a,b"' in words[3]
    again = typing(f"{words[0]} {words[1]} --import paper.py --to {words[3]}")
    assert again.code == 0
    assert Path("away/a.txt").read_text()


def test_a_run_that_cannot_be_sent_exits_with_1(typing: Typing) -> None:
    run(typing)
    done = typing("log run --import paper.py --to paper:file=away/a.txt")
    assert done.code == 1
    assert "Send it again with: polymeter log run --to paper:file=away/a.txt" in done.err


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("wandbb", "There is no tracker 'wandbb'."),
        ("paper:fil=x", "The tracker 'paper' has no argument 'fil'."),
        ("paper:file", "'file' is not of the form key=value."),
        ("paper --to paper", "The tracker 'paper' is given twice."),
    ],
)
def test_mistakes(typing: Typing, to: str, said: str) -> None:
    run(typing)
    done = typing(f"log run --import paper.py --to {to}")
    assert done.code == 2
    assert said in done.err


def test_a_mistake_costs_no_run(typing: Typing) -> None:
    done = run(typing, "--log-to paper:fil=x")
    assert done.code == 2
    assert not Path("run").exists()


def test_json_names_the_trackers(typing: Typing) -> None:
    document = json.loads(run(typing, "--json --log-to paper").out)
    assert document["logged"] == [{"tracker": "paper", "place": "paper.txt", "error": "", "arguments": {}}]
    assert "logged" not in json.loads(run(typing, "--json", name="other").out)


def test_resume_and_score_send_too(typing: Typing) -> None:
    run(typing)
    assert "logged   paper" in typing("resume run --log-to paper -q").out
    assert "logged   paper" in typing("score run -o again --log-to paper -q").out
    assert [line.split()[0] for line in Path("paper.txt").read_text().splitlines()] == ["run", "again"]
