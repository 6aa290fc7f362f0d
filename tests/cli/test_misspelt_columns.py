"""A word that is nearly a column is refused before anything is asked; a target that never changes is told."""

from __future__ import annotations

import json

import pytest

from polymeter.cli.main import main
from tests.cli.kit import CAPITALS as YAML

ROWS = [("France", "Paris"), ("Japan", "Tokyo"), ("Kenya", "Nairobi"), ("Peru", "Lima")] * 3
UTILS = """\
def score(doc, results):
    return {"right": 1.0}


def target(doc):
    return doc["capital"]


def prompt(doc):
    return doc["country"]
"""
OWN = "process_results: !function utils.score\nmetric_list: [{metric: right, aggregation: mean}]\n"


def task(folder, *lines, rows=ROWS, header="country,capital,Full Name,options"):
    """A task with some of its lines replaced, or added."""
    text = YAML
    for line in lines:
        key = line.partition(":")[0]
        kept = [old for old in text.splitlines(keepends=True) if not old.startswith(f"{key}:")]
        text = "".join(kept) + line.rstrip("\n") + "\n"
    (folder / "t.yaml").write_text(text)
    (folder / "utils.py").write_text(UTILS)
    table = [
        f"{country} {number},{capital},the {country},\"['a', 'b']\"" for number, (country, capital) in enumerate(rows)
    ]
    (folder / "capitals.csv").write_text(header + "\n" + "\n".join(table) + "\n")


def run(folder, *more):
    words = ["run", "--model", "mock", "--tasks", str(folder / "t.yaml"), "--output", str(folder / "out"), *more]
    return main([*words, "--quiet"])


REFUSED = {
    "letters swapped": (["doc_to_target: captial"], "doc_to_target", "'captial'", "'capital'"),
    "a letter missing": (["doc_to_target: capitl"], "doc_to_target", "'capitl'", "'capital'"),
    "another case": (["doc_to_target: Capital"], "doc_to_target", "'Capital'", "'capital'"),
    "another sign": (["doc_to_target: full_name"], "doc_to_target", "'full_name'", "'Full Name'"),
    "prompt": (["doc_to_text: contry"], "doc_to_text", "'contry'", "'country'"),
    "prompt template": (['doc_to_text: "Of {{ contry }}?"'], "doc_to_text", "'contry'", "'country'"),
    "target template": (['doc_to_target: "{{ captial }}"'], "doc_to_target", "'captial'", "'capital'"),
    "visual": (["doc_to_visual: contry"], "doc_to_visual", "'contry'", "'country'"),
    "messages": (["doc_to_messages: contry"], "doc_to_messages", "'contry'", "'country'"),
    "choices": (
        ["doc_to_choice: option", "output_type: multiple_choice"],
        "doc_to_choice",
        "'option'",
        "'options'",
    ),
    "measured text": (
        ["doc_to_target: captial", "output_type: loglikelihood"],
        "doc_to_target",
        "'captial'",
        "'capital'",
    ),
    "cluster": (["cluster_key: contry"], "cluster_key", "'contry'", "'country'"),
    "examples": (
        ["doc_to_target: captial", OWN, "num_fewshot: 1", "fewshot_split: test"],
        "doc_to_target",
        "'captial'",
        "'capital'",
    ),
    "examples of their own form": (
        ["num_fewshot: 1", "fewshot_split: test", "fewshot_config: {doc_to_target: captial}"],
        "fewshot_config",
        "'captial'",
        "'capital'",
    ),
    "target function": (["doc_to_target: utils.target"], "doc_to_target", "'utils.target'", "!function utils.target"),
    "prompt function": (["doc_to_text: utils.prompt"], "doc_to_text", "'utils.prompt'", "!function utils.prompt"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_word_that_is_nearly_a_column_is_refused_with_its_line(tmp_path, capsys, case):
    lines, field, word, meant = REFUSED[case]
    task(tmp_path, *lines)
    assert run(tmp_path) == 2
    said = capsys.readouterr().err
    number = next(
        n for n, line in enumerate((tmp_path / "t.yaml").read_text().splitlines(), 1) if line.startswith(field)
    )
    for words in (field, word, meant, f"t.yaml:{number}"):
        assert words in said
    assert not (tmp_path / "out" / "results.json").exists()


FINE = {
    "a column": [],
    "a constant of its own": ["doc_to_text: \"{{ 'contry' }}\""],
    "a prompt of one word": ["doc_to_text: Capital"],
    "a sentence": ["doc_to_text: Name the capital of a country."],
    "a target that scoring ignores": ["doc_to_target: captial", OWN],
    "a function that scoring ignores": ["doc_to_target: utils.target", OWN],
    "a cluster of its own values": ["cluster_key: contry", OWN],
    "a guarded name": ['doc_to_text: "Of {{ contry | default(country) }}?"'],
}


@pytest.mark.parametrize("case", FINE)
def test_what_is_meant_stays_as_it_is(tmp_path, case):
    task(tmp_path, *FINE[case])
    assert run(tmp_path, "--model-args", "mode=gold") == 0
    assert not any("doc_to_target is" in note for note in notes(tmp_path))


def test_a_run_that_only_predicts_reads_no_target(tmp_path):
    task(tmp_path, "doc_to_target: captial", "metric_list: [{metric: bypass}]")
    assert run(tmp_path) == 0
    assert notes(tmp_path) == []


CONSTANT = {
    "written": (["doc_to_target: something"], ROWS, "The target is 'something' in every sample"),
    "a list": (["doc_to_target: [yes, no]"], ROWS, "in every sample"),
    "in the rows": ([], [(name, "Paris") for name in "abcdefghijkl"], "The target is 'Paris' in every sample"),
    "in many rows": ([], [("France", "Paris")] * 300, "in all 200 samples looked at"),
}


@pytest.mark.parametrize("case", CONSTANT)
def test_a_target_that_is_the_same_for_all_rows_is_told(tmp_path, capsys, case):
    lines, rows, words = CONSTANT[case]
    task(tmp_path, *lines, rows=rows)
    assert run(tmp_path, "--model-args", "mode=gold") == 0
    (note,) = [note for note in notes(tmp_path) if "The target is" in note]
    assert words in note
    assert "t.yaml:" in note
    assert words in capsys.readouterr().out


def test_a_few_rows_with_one_target_are_no_sign_of_anything(tmp_path):
    task(tmp_path, rows=[("France", "yes"), ("Peru", "yes"), ("Kenya", "yes")])
    assert run(tmp_path) == 0
    assert notes(tmp_path) == []


def test_the_first_choice_may_always_be_right(tmp_path):
    task(tmp_path, "doc_to_target: 0", 'doc_to_choice: "{{options}}"', "output_type: multiple_choice")
    assert run(tmp_path) == 0
    assert not any("doc_to_target is" in note for note in notes(tmp_path))


@pytest.mark.parametrize(("lines", "meant"), [(["doc_to_target: utils.target"], "!function utils.target")])
def test_check_finds_a_function_without_its_tag_without_running_code(tmp_path, capsys, lines, meant):
    task(tmp_path, *lines)
    (tmp_path / "utils.py").write_text(UTILS + "raise SystemExit('ran')\n")
    assert main(["check", str(tmp_path / "t.yaml")]) == 2
    assert meant in capsys.readouterr().out


def notes(folder):
    return json.loads((folder / "out" / "results.json").read_text())["notes"]
