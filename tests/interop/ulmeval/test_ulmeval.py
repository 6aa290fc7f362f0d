"""``polymeter ulmeval``: its words, what it prints and what it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval import flags
from polymeter.interop.ulmeval.command import shown
from tests.helpers.painting import PROMPTS, WORDS, drawn, studio

# Every option of ULMEvalKit's run.py and evaluate.py.
RUN = """
--data --model --config --work-dir --mode --api-nproc --retry --judge-args --judge --verbose --ignore --reuse
--reuse-aux --use-vllm --num-generations
"""
EVALUATE = """
--data --model --result-file --config --work-dir --api-nproc --retry --judge-args --judge --verbose --ignore --use-vllm
--num-generations
"""
KEY = "sk-do-not-tell"
OPTIONS = """
--data a b --model m --work-dir out --mode infer --api-nproc 2 --retry 1 --judge j --verbose --ignore --reuse
--reuse-aux 0 --num-generations 3 --model-path f.py --include-path x --include-path y --local a=a.tsv --weights i=w
--limit 2 --seed 5 --journal-dir /journals
"""
PAIR = ("--data", "shades", "--model", "Painter", *WORDS)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return studio(tmp_path, monkeypatch)


@pytest.mark.parametrize(("command", "options"), [("run", RUN), ("evaluate", EVALUATE)])
def test_every_option_of_upstream_is_known(command: str, options: str) -> None:
    known = {name for flag in flags.TABLES[command].flags for name in flag.names}
    assert set(options.split()) <= known
    assert "--work_dir" in known


def test_options_reach_the_command() -> None:
    words = shlex.split(OPTIONS)
    config, notes = flags.parse("run", [*words, "--judge-args", '{"temperature": 0}'])
    assert ([item.name for item in config.datasets], [item.name for item in config.models]) == (["a", "b"], ["m"])
    assert (config.work_dir, config.mode, config.api_nproc, config.retry) == (Path("out"), "infer", 2, 1)
    assert (config.judge, config.judge_args, config.verbose, config.ignore) == ("j", {"temperature": 0}, True, True)
    assert (config.reuse, config.reuse_aux, config.num_generations) == (True, False, 3)
    assert (config.model_path, config.include_paths) == ("f.py", (Path("x"), Path("y")))
    assert (config.data, config.weights, config.limit, config.seed) == ({"a": "a.tsv"}, {"i": "w"}, 2, 5)
    assert config.journal_dir == Path("/journals")
    assert not notes


def test_minus_one_generation_is_the_benchmarks_number() -> None:
    config, _ = flags.parse("run", ["--data", "a", "--model", "m", "--num-generations", "-1"])
    assert config.num_generations is None


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("run", ["--dat", "x"], "no option '--dat'"),
        ("run", ["stray", "--data", "x"], "'stray' belongs to no option"),
        ("run", ["--api-nproc", "many"], "invalid int value"),
        ("run", ["--use-vllm"], "does not load models into vLLM"),
        ("run", ["--config", "c.json", "--data", "x"], "The file of --config names models and datasets"),
        ("run", ["--reuse-aux", "2"], "--reuse-aux must be 0 or 1, not 2"),
        ("run", ["--limit", "1.5"], "neither a number of samples nor a share"),
        ("run", ["--judge-args", "[]"], "is not a JSON object"),
        ("run", ["--judge-args", "{"], "Expecting property name"),
        ("run", ["--result-file", "x"], "no option '--result-file'"),
        ("evaluate", ["--data", "x", "--model", "m"], "No prediction file is named"),
        ("evaluate", ["--mode", "all", "--result-file", "x"], "no option '--mode'"),
    ],
)
def test_what_cannot_be_honoured_is_refused(command: str, words: list[str], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        flags.parse(command, words)


@pytest.mark.parametrize(
    ("command", "words", "note"),
    [
        ("run", ["--reuse-aux", "0"], "--reuse-aux has no effect without --reuse"),
        ("run", ["--reuse", "--mode", "eval"], "--reuse has no effect"),
        ("evaluate", ["--result-file", "f", "--num-generations", "4"], "--num-generations has no effect"),
        ("evaluate", ["--result-file", "f", "--ignore"], "--ignore has no effect"),
    ],
)
def test_options_without_effect_are_told(command: str, words: list[str], note: str) -> None:
    _, notes = flags.parse(command, ["--data", "d", "--model", "m", *words])
    assert note in notes[0]


def test_what_evaluate_returned_is_printed_and_our_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ulmeval", *PAIR]) == 0
    printed = capsys.readouterr().out
    assert '{\n    "shade": 100.0,\n    "images": 4\n}' in printed
    assert "scored   4 samples of 1 task" in printed
    assert "Painter_shades.pkl" in printed


def test_a_mode_that_scores_nothing_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ulmeval", "run", *PAIR, "--mode", "infer"]) == 0
    assert "answered 4 of 4 samples; nothing is scored" in capsys.readouterr().out
    assert main(["ulmeval", *PAIR, "--mode", "eval"]) == 0
    captured = capsys.readouterr()
    assert '"shade": 100.0' in captured.out
    assert "are scored" in captured.err
    assert sorted(drawn(here)) == sorted(PROMPTS)


def test_several_pairs_end_with_a_line_for_each(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", "a cat")
    (here / "data" / "shadesPP.tsv").write_text("prompt\nno index\n")
    assert main(["ulmeval", "--data", "shades", "shadesPP", "--model", "Painter", *WORDS]) == 1
    captured = capsys.readouterr()
    assert "1 failure    Painter on shades\nfailed       Painter on shadesPP" in captured.out
    assert "index" in captured.err
    assert "scored   3 of 4 samples" in captured.out


def test_a_file_of_models_and_datasets_is_taken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = {
        "model": {"dark": {"class": "Painter", "shade": 3}},
        "data": {"red": {"class": "Shades", "dataset": "shades"}},
    }
    (here / "config.json").write_text(json.dumps(content))
    assert main(["ulmeval", "--config", "config.json", *WORDS]) == 0
    assert '"shade": 3.0' in capsys.readouterr().out
    assert (here / "outputs/dark/dark_red.pkl").is_file()


def test_a_prediction_file_is_scored(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ulmeval", *PAIR, "--mode", "infer"]) == 0
    words = ["--data", "shades", "--model", "theirs", "--include-path", "bench", "--result-file"]
    assert main(["ulmeval", "evaluate", *words, "outputs/Painter/Painter_shades.pkl"]) == 0
    assert '"shade": 100.0' in capsys.readouterr().out
    assert main(["ulmeval", "evaluate", *words, "none.pkl"]) == 2
    assert "There is no file none.pkl" in capsys.readouterr().err


def test_a_local_file_takes_the_place_of_a_table(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "data" / "shades.tsv").rename(here / "mine.tsv")
    assert main(["ulmeval", *PAIR]) == 2
    assert "--local shades=FILE" in capsys.readouterr().err
    assert main(["ulmeval", "--data", "shades", "shadesPP", *PAIR[2:]]) == 1
    assert "--local shades=FILE" in capsys.readouterr().err
    assert main(["ulmeval", *PAIR, "--local", "shades=mine.tsv"]) == 0
    assert '"images": 4' in capsys.readouterr().out


def test_a_key_is_in_no_file(here: Path) -> None:
    told = json.dumps({"model": "mock", "key": KEY})
    assert main(["ulmeval", *PAIR, "--judge-args", told]) == 0
    files = [path for path in (here / "outputs").rglob("*") if path.is_file()]
    assert any(b"polymeter ulmeval" in path.read_bytes() for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluat"], "Did you mean 'evaluate'"),
        (["circular"], "circular takes one table"),
        (["check"], "polymeter check FILE"),
        (["mlist", "4.37.0"], "mlist does not take '4.37.0'"),
        (["--data", "shades"], "--model names nothing"),
    ],
)
def test_commands_that_are_not_there_say_what_is(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ulmeval", *words]) == 2
    assert message in capsys.readouterr().err


def test_datasets_and_models_are_listed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ulmeval", "dlist", "bench"]) == 0
    assert {"shades", "shadesPP", "demo_t2i"} <= set(capsys.readouterr().out.split())
    assert main(["ulmeval", "mlist"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["gpt-image-1", "openai:gpt-image-1"] for line in lines)
    assert any(line.startswith("T2IR1 ") and "needs" in line for line in lines)


@pytest.mark.parametrize("words", [[], ["--help"], ["run", "--help"], ["evaluate", "-h"]])
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ulmeval", *words]) == 0
    printed = capsys.readouterr().out
    assert ("--work-dir" if words[1:] else "polymeter ulmeval evaluate") in printed


def test_modules_and_scripts_of_ulmevalkit_lead_here(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--data", "shades", "--model", "Painter"]
    assert main(["python", *WORDS, "-m", "ulmeval.run", *words]) == 0
    assert '"shade": 100.0' in capsys.readouterr().out
    assert main(["python", *WORDS, "-m", "ulmeval.evaluate", *words]) == 2
    assert "No prediction file is named" in capsys.readouterr().err
    assert main(["python", "run.py", *words]) == 2
    assert "'polymeter ulmeval' and 'polymeter vlmeval' take the options of run.py" in capsys.readouterr().err


def test_tables_are_printed_as_tables() -> None:
    assert shown({"a": 1, "b": [1]}) == '{\n    "a": 1,\n    "b": [\n        1\n    ]\n}'
    wide = shown({"split": ["none"], "Overall": [0.5], "count": [0.25]})
    assert [line.split() for line in wide.splitlines()[1:-1]] == [
        ["split", "none"],
        ["Overall", "0.5"],
        ["count", "0.25"],
    ]
    tall = shown({"tag": ["colour", "count"], "value": [0.5, 1.0]})
    assert tall.splitlines()[0].split() == ["tag", "value"]
