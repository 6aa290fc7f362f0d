"""The words of lmms-eval's command line, one rule each."""

from __future__ import annotations

import re

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.identity import fingerprint
from polymeter.core.options import RunOptions, mark_of
from polymeter.interop.lmms_eval import evaluation as terms
from tests.helpers.options import OTHER_VALUES


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        ("a=1,b=0.5,c=true,d=False,e=text", {"a": 1, "b": 0.5, "c": True, "d": False, "e": "text"}),
        ("a=-1", {"a": -1.0}),
        ("a=x=y", {"a": "x=y"}),
        (" a=1 , b=2 ,", {"a": 1, "b": 2}),
        ('a={"x": [1, 2]},b=1', {"a": '{"x": [1, 2]}', "b": 1}),
        ("a='x,y',b=1", {"a": "'x,y'", "b": 1}),
        ("a=None", {"a": "None"}),
    ],
)
def test_arguments_are_read_by_upstreams_rules(text, value):
    assert terms.parse_arguments(text, "--model_args") == value


def test_arguments_need_an_equals_sign():
    with pytest.raises(PlanError, match="'b' is not of the form name=value"):
        terms.parse_arguments("a=1,b", "--model_args")


def test_lists_among_generation_settings_are_lists():
    assert terms.parse_generation('until=["a,b","c"],temperature=0') == {"until": ["a,b", "c"], "temperature": 0}
    with pytest.raises(PlanError, match="not valid JSON"):
        terms.parse_generation("until=[a]")


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("42", (42, 42, 42, 42)),
        ("0,None,8,52", (0, None, 8, 52)),
        ("1,2,3", (1, 2, 3, 1234)),
    ],
)
def test_seeds(text, seeds):
    assert terms.parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["1,2", "1,2,3,4,5", "x", ""])
def test_seeds_that_are_none(text):
    with pytest.raises(PlanError):
        terms.parse_seeds(text)


@pytest.mark.parametrize(("text", "size"), [("4", 4), ("auto", None), ("auto:8", None)])
def test_batch_sizes(text, size):
    assert terms.parse_batch_size(text) == size


@pytest.mark.parametrize("text", ["0", "-1", "many", "autos"])
def test_batch_sizes_that_are_none(text):
    with pytest.raises(PlanError, match="not a batch size"):
        terms.parse_batch_size(text)


def test_a_system_instruction_is_a_text_or_a_file(tmp_path):
    (tmp_path / "system.txt").write_text("From a file.")
    assert terms.read_text(str(tmp_path / "system.txt")) == "From a file."
    assert terms.read_text("Be brief.") == "Be brief."
    assert terms.read_text(None) == ""


def test_stamps_are_local_to_a_zone():
    assert re.fullmatch(r"\d{8}_\d{6}", terms.time_stamp("UTC"))
    with pytest.raises(PlanError, match="no time zone 'Mars/Base'"):
        terms.time_stamp("Mars/Base")


def test_one_of_our_models_goes_by_its_name_and_says_so_when_it_takes_no_device():
    assert terms.model_and_arguments("mock", {"mode": "gold"}, None) == ("mock", {"mode": "gold"}, "")
    _, _, note = terms.model_and_arguments("mock", {}, "cuda:0")
    assert note == "--device cuda:0 has no effect: model 'mock' takes no device."


def test_weights_named_by_pretrained_become_the_models_name(monkeypatch):
    from polymeter.core.names.registries import MODELS
    from polymeter.core.names.registry import Target

    def factory(name, device="cpu"):
        return None

    monkeypatch.setitem(MODELS._builtins, "weighty", Target(factory, "test"))
    found = terms.model_and_arguments("weighty", {"pretrained": "org/x", "dtype": "f"}, "cuda")
    assert found == ("weighty:org/x", {"device": "cuda", "dtype": "f"}, "")


def test_a_folder_among_the_tasks_stands_for_its_tasks(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"task: {name}\ndataset_path: json\n")
    patterns, paths = terms.patterns_and_paths(f"demo, {tmp_path}", None)
    assert sorted(patterns) == ["demo", "one", "two"]
    assert paths == (tmp_path,)
    (tmp_path / "empty").mkdir()
    with pytest.raises(PlanError, match="contains no task"):
        terms.patterns_and_paths(str(tmp_path / "empty"), None)
    with pytest.raises(PlanError, match="No task is named"):
        terms.patterns_and_paths(" , ", None)


def test_the_run_folders_name_depends_on_identity_options_and_the_folders_of_tasks():
    named = terms._options_in_name(OTHER_VALUES)
    identity = {name for name in OTHER_VALUES if mark_of(RunOptions, name) == "identity"}
    assert set(named) == {*identity, "include_paths"}
    assert named["include_paths"] == ["/tasks"]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "e19e45d0"),
        ({"batch_size": "4"}, "e19e45d0"),
        ({"num_fewshot": 2, "limit": 3.0, "repeats": 2}, "3b5d68b7"),
    ],
)
def test_the_names_of_run_folders_stay(settings, name):
    command = terms.LmmsEvalCommand("qwen2_vl", "t,u", **settings)
    options = {**terms._options(command, terms.DEFAULT_SEEDS), **terms._prompts(command, "hf"), "include_paths": ()}
    assert fingerprint(["hf", None, "", ["t", "u"], terms._options_in_name(options)])[:8] == name
