"""The parts of the suite against lm-eval that need no lm-eval: rows, cases, what is expected, and whose fault it is."""

from __future__ import annotations

import functools
import itertools
import linecache
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance import contained
from conformance.comparing import check_rows, compare
from conformance.frame import Observation
from conformance.groups import copy_rows
from conformance.lm_eval import census, groups, prepare, published
from conformance.lm_eval.cases import OTHER_WAYS, Case, Way, chosen_tasks
from conformance.lm_eval.expected import EXAMPLES, KEPT, REASONING, ROWS, expected_of
from conformance.lm_eval.filtering import forms_that_are_kept
from conformance.lm_eval.hints import hints_for
from conformance.lm_eval.observing import observed_here, observed_there
from conformance.made_rows.repair import Repairs
from conformance.made_rows.rows import ABSENT, Shape, make_rows, write_rows
from conformance.made_rows.schema import FunctionName, Use, columns_of
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


def test_a_letter_that_is_sought_in_a_text_is_one_of_its_letters() -> None:
    template = "{{'ABCD'[key|int - 1] if key|string in '1234' else key}}"
    assert _columns(template).keys["key"].literals == ["1", "2", "3", "4"]


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


def _of_code(rows: list[dict[str, str]], *, code: str) -> list[dict[str, str]]:
    return [row for row in rows if row["task"] == f"birds.{code}"]


def test_words_that_an_f_string_joins_are_tried_joined() -> None:
    tried = list(forms_that_are_kept(functools.partial(_of_code, code="owl"), {"question": "?", "task": "apples"}))
    assert ("task", '="birds.owl"') in tried
    assert ("question", '="birds.owl"') not in tried, "only in columns that the code names"


def test_a_column_that_code_makes_where_it_is_missing_is_left_out() -> None:
    shape = Shape(_columns("{{question}} {{prompt}}"), {"prompt": ABSENT})
    assert list(make_rows(shape, 1, "absent")[0]) == ["question"]


def test_made_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    from PIL import Image

    plain = [{"text": f"bird {number}", "choices": {"label": ["A"]}, "n": number} for number in range(3)]
    write_rows(plain, tmp_path / "plain", ["test", "train"])
    read = contained.read_rows(tmp_path / "plain" / "train.parquet")
    assert list(read) == plain
    assert read.filter(lambda row: row["n"] == 1)["text"] == ["bird 1"], "functions of datasets work on it"
    picture = Image.new("RGB", (4, 5))
    write_rows([{**row, "image": picture} for row in plain], tmp_path / "shown", ["test"])
    assert contained.read_rows(tmp_path / "shown" / "test.parquet")[0]["image"].size == (4, 5)


def test_only_the_time_of_the_processor_counts() -> None:
    with contained.time_limit(0.2):
        time.sleep(0.25)
    with pytest.raises(contained.OutOfTime), contained.time_limit(0.05):
        for _ in itertools.count():  # in Python: no signal is handled while C counts
            pass


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


def test_tasks_with_copies_of_one_function_share_their_rows(folder: Path) -> None:
    sources = {"en": "def ask(doc): ...", "de": "def ask(doc): ...", "other": "def ask(row): return row['q']"}
    keys = {}
    for language, source in sources.items():
        (folder / "birds" / language).mkdir(parents=True)
        file = folder / "birds" / language / "utils.py"
        file.write_text(source, encoding="utf-8")
        keys[language] = _published(folder, language, doc_to_text=FunctionName(file, "ask")).rows_key
    assert keys["en"] == keys["de"] != keys["other"]


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


@pytest.mark.parametrize(
    ("config", "few_shot", "is_drawn"),
    [
        ({"test_split": "test"}, {}, True),
        ({"test_split": "train", "training_split": "train", "validation_split": "train"}, {}, True),
        ({"test_split": "test", "validation_split": "dev"}, {}, False),
        ({"validation_split": "dev"}, {}, False),
        ({"test_split": "test", "fewshot_split": "test"}, {}, False),
        ({"test_split": "test"}, {"samples": [{"q": "?"}]}, False),
    ],
)
def test_a_row_may_be_its_own_example_where_no_split_is_named(
    config: dict[str, Any], few_shot: dict[str, Any], is_drawn: bool
) -> None:
    assert prepare.draws_from_measured(config, few_shot) is is_drawn


def test_what_is_expected_depends_on_the_case(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    thinking = {"answers": {"messy": {"0": ["<think>\nhm</think>\nowl"]}}}
    closed = {"answers": {"messy": {"0": ["<think>hm</think>owl"]}}}
    (tmp_path / "repeats").mkdir()
    for split in ("train", "test"):
        pq.write_table(pa.table({"question": [split, "Which?"]}), tmp_path / "repeats" / f"{split}.parquet")
    book = {
        "plain": _entry(),
        "leaky": _entry(draws_from_measured=True),
        "zero": _entry(draws_from_measured=True, shots=0),
        "repeats": _entry(),
        "thinks": _entry(**thinking),
        "ends": _entry(**closed),
    }
    cases = [Case(name, way) for name in book for way in (Way(), Way(2))]
    names = {case.name for case in cases}
    rules = [(rule.row, rule.tasks) for rule in expected_of(cases, book, tmp_path) if rule.tasks in names]
    assert rules == [
        (EXAMPLES, "leaky@2"),
        *((EXAMPLES, name) for name in ("repeats", "repeats@2")),
        *((REASONING, name) for name in ("thinks", "thinks@2")),
        *((KEPT, name) for name in ("ends", "ends@2")),
    ]


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
        ("DataError: … cannot be reached on the Hub", None, "ValueError: 'B' is not in list", census.ROWS),
        ("PlanError: The results of a group are means.", None, None, census.REFUSED),
        ("DataError: no rows", None, "FileNotFoundError: … on the Hugging Face Hub either", census.NETWORK),
    ],
)
def test_whose_fault_it_is(here: str, there: str | None, made: str, kind: str) -> None:
    assert census.classify(here, there, made) == kind


def test_groups_that_are_unlike_are_chosen() -> None:
    def group(count: int, *kinds: str) -> Any:
        aggregates = [{"metric": kind} for kind in kinds]
        return SimpleNamespace(tasks=range(count), groups=[SimpleNamespace(aggregates=aggregates)])

    found = [
        ("few", "mmlu", group(2, "acc")),
        ("many", "mmlu", group(9, "acc")),
        ("other", "mmlu", group(2, "f1")),
        ("third", "mmlu", group(1, "em")),
        ("without", "arc", group(5)),
        ("huge", "arc", group(5000, "acc")),
    ]
    assert groups.chosen_groups(found) == ["many", "other"], "those with most members first, two of a folder"


def test_what_members_read_of_one_dataset_stands_together(tmp_path: Path) -> None:
    for name in ("owls", "wrens"):
        write_rows([{"subject": name, "n": number} for number in range(8)], tmp_path / name, ["test"])
    copy_rows([tmp_path / "owls", tmp_path / "wrens"], tmp_path / "both", 6)
    read = contained.read_rows(tmp_path / "both" / "test.parquet")
    assert read["subject"] == ["owls"] * 6 + ["wrens"] * 6


def test_a_share_of_the_names_is_the_same_each_time() -> None:
    names = [f"task{number}" for number in range(100)]
    assert census.sampled(names, 1) == set(names)
    assert len(census.sampled(names, 20)) == 5
    assert census.sampled(names, 20) == census.sampled(list(reversed(names)), 20)
