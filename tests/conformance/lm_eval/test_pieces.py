"""The parts of the suite against lm-eval that need no lm-eval: rows, cases, what is expected, and whose fault it is."""

from __future__ import annotations

import functools
import linecache
from pathlib import Path
from typing import Any

import pytest

from conformance.comparing import check_rows, compare
from conformance.frame import Observation
from conformance.lm_eval import census, published
from conformance.lm_eval.cases import OTHER_WAYS, Case, Way, chosen_tasks
from conformance.lm_eval.expected import DRAWS, EXAMPLES, REASONING, ROWS, expected_of
from conformance.lm_eval.filtering import forms_that_are_kept
from conformance.lm_eval.hints import hints_for
from conformance.lm_eval.observing import observed_here, observed_there
from conformance.made_rows.repair import Repairs
from conformance.made_rows.rows import Shape, make_rows
from conformance.made_rows.schema import Use, columns_of
from conformance.made_rows.templates import read_template


def _columns(template: str) -> Use:
    return columns_of({"doc_to_text": template}, ["doc_to_text"], read_template)


def test_a_template_is_followed_into_items_and_attributes() -> None:
    columns = _columns("{{question|trim}}: {{choices.text[4]}} {{choices.label.index(key)}} {{[1, 2][n - 1]}}")
    assert set(columns.keys) == {"question", "choices", "key", "n"}
    assert columns.keys["choices"].keys["text"].least == 5, "five items are read by position"
    assert columns.keys["n"].literals == [1, 2], "positions are counted from what is taken off"
    assert ".strip" in columns.keys["question"].calls


def test_a_template_tells_which_values_a_column_may_have() -> None:
    assert _columns("{{['no', 'yes'].index(label)}}").keys["label"].literals == ["no", "yes"]
    assert _columns("{{{'A': 0, 'B': 1}[letter]}}").keys["letter"].literals == ["A", "B"]
    assert _columns("{% for one in rows %}{{one.name}}{% endfor %}").keys["rows"].item.keys.keys() == {"name"}
    assert _columns("{% set x = note %}{{x.strip()}}").keys["note"].calls == {".strip"}
    assert _columns("{{ broken").keys == {}, "what Jinja cannot read, reads nothing"


def test_rows_fit_what_a_template_reads() -> None:
    shape = Shape(_columns("{{choices.text[2]}} {{choices.label}} {{['x', 'y', 'z'][n]}}"))
    rows = make_rows(shape, 5, "fits")
    assert all(len(row["choices"]["text"]) == len(row["choices"]["label"]) for row in rows)
    assert {row["n"] for row in rows} <= {0, 1, 2}


def _of_subject(rows: list[dict[str, str]], subject: str) -> list[dict[str, str]]:
    return [row for row in rows if row["subject"] == subject]


def test_the_words_that_a_task_keeps_rows_for_are_found_in_its_code() -> None:
    row = {"question": "?", "subject": "apples"}
    tried = list(forms_that_are_kept(functools.partial(_of_subject, subject="birds"), row))
    assert tried[0] == ("subject", '="birds"'), "the column and the word that the code names come first"
    assert ("question", '="birds"') in tried


def test_a_cell_that_is_sought_in_a_list_gets_what_the_list_holds(tmp_path: Path) -> None:
    code = "def target(doc):\n    return ['near', 'far'].index(doc['where'])\n"
    linecache.cache["<hooks>"] = (len(code), None, code.splitlines(keepends=True), "<hooks>")
    names: dict[str, Any] = {}
    exec(compile(code, "<hooks>", "exec"), names)
    shape = Shape(Use())
    row = {"where": "elsewhere", "n": 1}
    with pytest.raises(ValueError, match="is not in list") as caught:
        names["target"](row)
    assert Repairs(shape, tmp_path).repair(caught.value, row)
    assert shape.kinds == {"where": '|["near", "far"]'}


def test_hints_go_by_glob() -> None:
    assert hints_for("storycloze_2016")["answer_right_ending"] == "|[1, 2]"
    assert hints_for("no_such_task") == {}


def test_the_name_of_a_case_says_how_it_is_asked() -> None:
    names = {Case("birds", way).name for way in (Way(), *OTHER_WAYS)}
    assert {"birds", "birds@3", "birds@2-chat", "birds@2-chat-one-turn-system"} <= names
    assert len(names) == len(OTHER_WAYS) + 1, "no two ways have one name"
    case = Case("birds", OTHER_WAYS[2])
    assert Case.from_data(case.as_data()) == case


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(published, "tasks_folder", lambda: tmp_path)
    return tmp_path


def _published(folder: Path, name: str, **config: Any) -> published.Published:
    config = {"dataset_path": "made/birds", "test_split": "test", **config}
    return published.Published(name, folder / "birds" / f"{name}.yaml", config)


def test_tasks_that_read_alike_share_their_rows(folder: Path) -> None:
    one = _published(folder, "one", doc_to_text="{{question}}", description="About wrens.")
    other = _published(folder, "other", doc_to_text="{{question}}", description="About owls.")
    third = _published(folder, "third", doc_to_text="{{bird}}")
    assert one.rows_key == other.rows_key != third.rows_key
    assert one.splits == ["test"]
    assert _published(folder, "named", dataset_name="wrens").dataset == "made/birds:wrens"


def test_unlike_tasks_of_a_folder_are_chosen(folder: Path) -> None:
    tasks = [
        _published(folder, "a", doc_to_text="{{question}}"),
        _published(folder, "b", doc_to_text="{{bird}}"),
        _published(folder, "c", doc_to_text="{{bird}}", repeats=4),
        _published(folder, "d", doc_to_text="{{bird}}", output_type="loglikelihood_rolling"),
        published.Published("made_by_code", folder / "birds" / "e.yaml", {"custom_dataset": "f"}),
    ]
    assert [task.name for task in chosen_tasks(tasks)] == ["a", "c", "d"], "a and b are alike; e has no dataset"


def _entry(**told: Any) -> dict[str, Any]:
    return {"shots": None, "draws_from_measured": False, "until": ["\n"], **told}


def test_what_is_expected_depends_on_the_case() -> None:
    thinking = {"answers": {"messy": {"0": ["<think>\nhm</think>\nowl"]}}}
    book = {
        "plain": _entry(),
        "leaky": _entry(draws_from_measured=True),
        "zero": _entry(draws_from_measured=True, shots=0),
        "thinks": _entry(**thinking),
    }
    cases = [Case(name, way) for name in book for way in (Way(), Way(2))]
    rules = [(rule.row, rule.tasks) for rule in expected_of(cases, book) if rule.row != DRAWS]
    assert rules == [(EXAMPLES, "leaky@2"), (REASONING, "thinks"), (REASONING, "thinks@2")]


def test_every_expected_difference_has_a_row() -> None:
    from conformance.comparing import Expected

    assert check_rows([Expected(row) for row in ROWS]) == []


def test_a_rule_for_one_model_leaves_others_alone() -> None:
    from conformance.comparing import Expected

    theirs = {("birds", model): Observation("birds", model, samples={"0": {"acc": 1.0}}) for model in ("a", "b")}
    ours = {("birds", model): Observation("birds", model, samples={"0": {"acc": 0.0}}) for model in ("a", "b")}
    made = compare(theirs, ours, [Expected("a row", models="a")], models_of=lambda _: ["a", "b"])
    assert [one.model for one in made.differences] == ["b"]
    assert made.expected == {"a row": 1}


def test_both_sides_are_observed_in_one_form() -> None:
    about = {name: {"birds": 1} for name in ("versions", "n-shot", "higher_is_better", "n-samples")}
    row = {"acc,none": 0.5, "acc_stderr,none": 0.1, "alias": "birds", "sample_len": 2}
    there = {
        "results": {"birds": row},
        **about,
        "samples": {
            "birds": [
                {
                    "doc_id": 0,
                    "target": 1,
                    "filter": "none",
                    "arguments": [("Q", {"until": "\n", "max_gen_toks": 9, "do_sample": False})],
                    "resps": [["an owl", "a wren"]],
                    "filtered_resps": ["an owl"],
                    "acc": 1.0,
                }
            ]
        },
    }
    exchange = {
        "request": {
            "messages": [{"role": "user", "parts": [{"text": "Q"}]}],
            "ask": {"kind": "generate", "max_new_tokens": 9, "stop": ["\n"], "temperature": 0.0},
        }
    }
    exchanges = [{**exchange, "response": {"outputs": [{"text": text}]}} for text in ("an owl", "a wren")]
    sample = {"index": 0, "error": None, "exchanges": exchanges}
    sample["scores"] = [{"metric": "acc", "filter": "none", "value": 1.0}]
    ours = observed_here("birds", "birds", "m", there, [sample], lambda messages: messages[0]["content"])
    theirs = observed_there("birds", "birds", "m", there)
    made = compare({("birds", "m"): theirs}, {("birds", "m"): ours}, models_of=lambda _: ["m"])
    assert [str(one) for one in made.differences] == []
    assert (made.n_prompts, made.n_sample_values) == (2, 2), "a prompt with its settings; a score and the answers"


@pytest.mark.parametrize(
    ("here", "there", "made", "kind"),
    [
        ("KeyError: 'x'", "", "", census.OURS),
        ("PlanError: pip install spacy", "", "", census.PACKAGE),
        ("PlanError: no such field", "TypeError: unexpected keyword argument 'x'", "", census.THEIRS),
        ("DataError: no rows", None, "ValueError: 'B' is not in list", census.ROWS),
        ("DataError: no rows", None, "FileNotFoundError: … on the Hugging Face Hub either", census.NETWORK),
    ],
)
def test_whose_fault_it_is(here: str, there: str | None, made: str, kind: str) -> None:
    assert census.classify(here, there, made) == kind


def test_a_share_of_the_names_is_the_same_each_time() -> None:
    names = [f"task{number}" for number in range(100)]
    assert census.sampled(names, 1) == set(names)
    assert len(census.sampled(names, 20)) == 5
    assert census.sampled(names, 20) == census.sampled(list(reversed(names)), 20)
