"""The mechanism behind other tools' flags: parsing, options, notes, refusals, help."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.cli.foreign import Subcommands
from polymeter.cli.foreign_flags import Flag, FlagTable, as_paths, count_or_share
from polymeter.cli.state import State
from polymeter.core.errors import PlanError

TABLE = FlagTable(
    "polymeter tool",
    "Measure.",
    (
        Flag("model_id", "text", "the model", sets="model", convert=lambda value, spelling: f"{spelling} {value}"),
        Flag("limit", "float", "samples"),
        Flag("tasks", "names", "tasks"),
        Flag("folder", "repeated", "a folder", sets="folders", convert=as_paths, is_ours=True),
        Flag("args", "mapping", "arguments"),
        Flag("judge", "object", "the judge"),
        Flag("size", "text", "100 % of it", choices=("small", "large"), spellings=("--size", "-s")),
        Flag("stream", "switch", "nothing is measured token by token", "noted", False),
        Flag("vllm", "switch", "nothing is loaded into it", "refused", False, hint="Serve the model."),
    ),
)


def test_flags_are_written_in_both_ways_and_become_options() -> None:
    words = ["--model_id", "m", "--limit", "2", "--tasks", "a", "b", "--folder", "x", "--folder=y", "-s", "small"]
    given = TABLE.parse([*words, "--args", "n=1,on=true", "--judge", '{"a": [1]}'])
    assert given["model_id"] == "m"
    assert TABLE.options(given) == {
        "model": "--model-id m",
        "limit": 2.0,
        "tasks": ["a", "b"],
        "folders": (Path("x"), Path("y")),
        "size": "small",
        "args": {"n": 1, "on": True},
        "judge": {"a": [1]},
    }
    assert TABLE.parse(["--args", '{"n": {"m": 1}}']) == {"args": {"n": {"m": 1}}}
    assert TABLE.parse([]) == {}


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["--modelid", "x"], "There is no option '--modelid'.", "Did you mean"),
        (["zzz"], "'zzz' belongs to no option.", "See polymeter tool --help."),
        (["--limit", "x"], "Argument --limit: invalid float value: 'x'.", "See polymeter tool --help."),
        (["--size", "medium"], "Argument --size/-s: invalid choice", "See polymeter tool --help."),
        (["--mod", "x"], "There is no option '--mod'.", ""),
        (["--judge", "[]"], "[] is not a JSON object.", "Write"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], what: str, hint: str) -> None:
    with pytest.raises(PlanError) as raised:
        TABLE.parse(words)
    assert raised.value.what.startswith(what)
    assert hint in raised.value.hint


def test_flags_without_effect_are_noted_and_refused_ones_refused() -> None:
    assert TABLE.notes_on({"stream": False, "vllm": None, "limit": 3}) == []
    assert TABLE.notes_on({"stream": True}) == ["--stream has no effect: nothing is measured token by token."]
    assert TABLE.notes_on({"stream": True}, configuration="Config")[0].startswith("stream has no effect")
    with pytest.raises(PlanError, match="--vllm cannot be used here: nothing is loaded into it") as raised:
        TABLE.notes_on({"vllm": True})
    assert (raised.value.where, raised.value.hint) == ("--vllm", "Serve the model.")
    with pytest.raises(PlanError) as raised:
        TABLE.notes_on({"vllm": True}, configuration="Config")
    assert raised.value.where == "Config vllm"


def test_help_has_every_flag_in_its_section(capsys: pytest.CaptureFixture[str]) -> None:
    TABLE.print_help()
    said = capsys.readouterr().out
    assert all(name in said for flag in TABLE.flags for name in flag.names)
    sections = ["accepted, without effect:", "refused:", "Polymeter's own:"]
    places = [said.index(text) for text in ("100 % of it", sections[0], sections[1], sections[2], "a folder")]
    assert places == sorted(places)


def test_commands_are_found_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[str, list[str]]] = []

    def record(name: str):
        return lambda state, words: calls.append((name, words)) or 3

    commands = {name: record(name) for name in ("eval", "list")}
    tool = Subcommands("polymeter tool", commands, {"serve": "call evaluate()"}, default="eval")
    assert tool.run(State(), ["list", "a"]) == 3
    tool.run(State(), ["--x", "1"])
    tool.run(State(), [])
    assert calls == [("list", ["a"]), ("eval", ["--x", "1"]), ("eval", [])]
    with pytest.raises(PlanError, match="There is no 'serve' here") as raised:
        tool.run(State(), ["serve"])
    assert raised.value.hint == "Call evaluate()."
    with pytest.raises(PlanError, match="There is no command 'lst'") as raised:
        tool.run(State(), ["lst"])
    assert "'list'" in raised.value.hint
    assert Subcommands("polymeter tool", commands, help="Usage").run(State(), ["-h"]) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "value"), [(1.0, 1), (100, 100), (0.1, 0.1)])
def test_a_count_is_whole_and_a_share_is_below_1(number: float, value: float) -> None:
    read = count_or_share(number, "--limit")
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("number", [0.0, -1.0, 1.5, float("inf"), float("nan")])
def test_neither_a_count_nor_a_share(number: float) -> None:
    with pytest.raises(PlanError, match="is neither a number of samples nor a share") as raised:
        count_or_share(number, "--limit")
    assert raised.value.where == "--limit"
