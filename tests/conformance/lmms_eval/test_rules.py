"""One case for each rule of spec §1, named after it. Rules with suites of their own stand in ``tests/dialects``."""

import logging

import pytest

from polymeter.core.content import Image
from polymeter.core.errors import DataError, PlanError
from polymeter.core.request import Message
from tests.conformance.kit import evaluate, gold, model, picture
from tests.tasks.yaml.kit import ask, open_in, opened, results, score, task_text, text_of, write, write_rows

ROWS = [{"q": f"q{i}", "a": f"a{i}", "k": i} for i in range(4)]


# --- §1.1 fields -----------------------------------------------------------------------------------------------------


def test_eval_split_is_test_else_validation(tmp_path):
    write_rows(tmp_path, [{"q": "from test", "a": "x"}], "test.jsonl")
    write_rows(tmp_path, [{"q": "from validation", "a": "x"}], "validation.jsonl")
    files = "dataset_kwargs: {data_files: {test: test.jsonl, validation: validation.jsonl}}\n"
    base = "task: t\ndataset_path: json\ndoc_to_text: q\ndoc_to_target: a\nvalidation_split: validation\n" + files
    (tmp_path / "t.yaml").write_text(base)
    assert text_of(ask(open_in(tmp_path))) == "from validation"
    (tmp_path / "t.yaml").write_text(base + "test_split: test\n")
    assert text_of(ask(open_in(tmp_path))) == "from test"


FULL = """
def with_docs(doc, results, full_docs=None):
    return {"m": len(full_docs) if full_docs is not None else -1}
def without(doc, results):
    return {"m": 0}
"""


@pytest.mark.parametrize(
    ("function", "full", "expected"), [("with_docs", "true", 4), ("with_docs", "false", -1), ("without", "true", 0)]
)
def test_full_docs_reach_process_results_that_names_them(tmp_path, function, full, expected):
    write(tmp_path, {"utils.py": FULL})
    extra = f"full_docs: {full}\nprocess_results: !function utils.{function}\nmetric_list: [m]\n"
    assert score(opened(tmp_path, extra), 0, "x").values == {("m", "none"): expected}


def test_process_results_use_image_gives_the_row_with_media(tmp_path):
    import datasets

    code = "def f(doc, results):\n    return {'m': doc['image'].size[0] if 'image' in doc else 0}\n"
    write(tmp_path, {"utils.py": code})
    table = datasets.Dataset.from_dict(
        {"q": ["x"], "a": ["y"], "image": [picture(3)]},
        features=datasets.Features(
            {"q": datasets.Value("string"), "a": datasets.Value("string"), "image": datasets.Image()}
        ),
    )
    table.to_parquet(str(tmp_path / "rows.parquet"))
    extra = "process_results: !function utils.f\nmetric_list: [m]\nprocess_results_use_image: {}\n"
    for use, expected in (("true", 6), ("false", 0)):
        text = task_text(extra.format(use)).replace("json\n", "parquet\n").replace("rows.jsonl", "rows.parquet")
        (tmp_path / "t.yaml").write_text(text)
        assert score(open_in(tmp_path), 0, "x").values == {("m", "none"): expected}


FEWSHOT = """
num_fewshot: 2
fewshot_config:
  sampler: first_n
  samples:
    - {ask: one, say: "1"}
    - {ask: two, say: "2"}
    - {ask: three, say: "3"}
  doc_to_text: "Q {{ask}}"
  doc_to_target: say
"""


def test_fewshot_samples_and_forms_have_their_documented_meaning(tmp_path):
    assert text_of(ask(opened(tmp_path, FEWSHOT))) == "Q one 1\n\nQ two 2\n\nq0"


def test_fewshot_samples_may_come_from_a_function(tmp_path):
    write(tmp_path, {"utils.py": "def shots():\n    return [{'q': 'x', 'a': 'y'}]\n"})
    extra = "num_fewshot: 1\nfewshot_config: {samples: !function utils.shots}\n"
    assert text_of(ask(opened(tmp_path, extra))) == "x y\n\nq0"


@pytest.mark.parametrize(
    ("splits", "first"), [("training_split: train2\nvalidation_split: dev\n", "t"), ("validation_split: dev\n", "d")]
)
def test_examples_are_drawn_from_training_then_validation(tmp_path, splits, first):
    for name in ("test", "train2", "dev"):
        write_rows(tmp_path, [{"q": f"{name[0]}{i}", "a": "x"} for i in range(3)], f"{name}.jsonl")
    files = "dataset_kwargs: {data_files: {test: test.jsonl, train2: train2.jsonl, dev: dev.jsonl}}\n"
    head = "task: t\ndataset_path: json\ndoc_to_text: q\ndoc_to_target: a\ntest_split: test\nnum_fewshot: 1\n"
    (tmp_path / "t.yaml").write_text(head + files + splits.replace("train2", "train2"))
    task = open_in(tmp_path)
    shown = text_of(ask(task)).split("\n\n")[0]
    assert shown.startswith("t" if first == "t" else "d")
    assert task.num_fewshot == 1


def test_the_plans_number_of_examples_wins_unless_the_task_says_zero(tmp_path):
    extra = "fewshot_split: train\n"
    assert opened(tmp_path, extra, num_fewshot=1).num_fewshot == 1
    assert opened(tmp_path, extra + "num_fewshot: 0\n", num_fewshot=1).num_fewshot == 0


def test_fields_that_change_nothing_are_taken(tmp_path):
    extra = "use_prompt: promptsource:x\nshould_decontaminate: true\ndoc_to_decontamination_query: q\ngroup_alias: G\n"
    assert text_of(ask(opened(tmp_path, extra))) == "q0"


def test_a_group_on_a_task_is_a_tag_and_both_are_an_error(tmp_path):
    with pytest.raises(PlanError, match="old name of 'tag'"):
        opened(tmp_path, "group: g\ntag: h\n")


@pytest.mark.parametrize(("written", "expected"), [("4", 4), ('"8"', 8), ("auto", None), ("null", None)])
def test_batch_size_is_the_tasks_batch(tmp_path, written, expected):
    assert opened(tmp_path, f"batch_size: {written}\n").batch_size == expected


def test_an_explicit_batch_size_wins_over_the_tasks(tmp_path):
    opened(tmp_path, "batch_size: 2\n", rows=[{"q": f"q{i}", "a": "x", "k": i} for i in range(12)])
    own, told = model(lambda r: "x"), model(lambda r: "x")
    evaluate(tmp_path / "own", tmp_path / "t.yaml", "t", own)
    assert max(own.batches) == 2
    evaluate(tmp_path / "told", tmp_path / "t.yaml", "t", told, batch_size=5)
    assert max(told.batches) == 5


def test_metadata_num_fewshot_is_printed(tmp_path):
    assert opened(tmp_path, "metadata: {num_fewshot: 5}\n").num_fewshot == 5


def test_a_models_own_prompt_replaces_the_tasks(tmp_path):
    def own(row, dataset):
        if row["k"] == 0:
            return None
        if row["k"] == 1:
            return [{"type": "text", "value": f"{dataset}: {row['q']}"}, {"type": "image", "value": "x.png"}]
        return [{"role": "user", "content": "chat"}]

    task = opened(tmp_path, own_prompt=own)
    assert text_of(ask(task, 0)) == "q0"
    message = ask(task, 1).messages[0]
    assert (message.text, [type(part) for part in message.parts][1]) == ("t: q1", Image)
    assert isinstance(ask(task, 2).messages[0], Message)


# --- §1.2 forms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "expected"),
    [("3", 3), ("[x, y]", ["x", "y"]), ("k", 0), ('"{{a}}!"', "a0!"), ("utils.stare", "utils.stare")],
)
def test_a_target_is_a_number_a_list_a_column_a_template_or_itself(tmp_path, target, expected):
    task = opened(tmp_path, target=target)
    assert task.row_functions.target(0) == expected


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ('["no", "yes"]', ["no", "yes"]),
        ('{A: "no", B: "yes"}', ["no", "yes"]),
        ("c", ["x", "y"]),
        ("\"['{{q}}', 'z']\"", ["q0", "z"]),
    ],
)
def test_choices_are_a_list_a_mapping_a_column_or_a_template(tmp_path, choices, expected):
    extra = f"output_type: multiple_choice\ndoc_to_choice: {choices}\n"
    task = opened(tmp_path, extra, rows=[{"q": "q0", "a": "x", "c": ["x", "y"]}], target="0")
    assert ask(task).parameters.continuations == tuple(f" {text}" for text in expected)


# --- §1.6 mechanics --------------------------------------------------------------------------------------------------


def test_the_first_of_several_includes_wins_and_own_keys_win_last(tmp_path):
    write_rows(tmp_path)
    write(
        tmp_path,
        {
            "one": "description: one\ntarget_delimiter: one\n",
            "two": "description: two\ntarget_delimiter: two\nfewshot_delimiter: two\n",
            "t.yaml": "include: [one, two]\n" + task_text("target_delimiter: own\n"),
        },
    )
    config = open_in(tmp_path).spec.config
    keys = ("description", "target_delimiter", "fewshot_delimiter")
    assert [config[key] for key in keys] == ["one", "own", "two"]


def test_a_merge_is_shallow(tmp_path):
    write_rows(tmp_path)
    base = "generation_kwargs: {max_new_tokens: 5, temperature: 1}\n"
    write(tmp_path, {"base": base, "t.yaml": "include: base\n" + task_text("generation_kwargs: {top_p: 0.5}\n")})
    found = ask(open_in(tmp_path)).parameters
    assert (found.max_new_tokens, found.temperature, found.top_p) == (None, None, 0.5)


def test_a_tag_in_a_template_resolves_in_the_templates_folder(tmp_path):
    write_rows(tmp_path / "task")
    write(
        tmp_path,
        {
            "base/template": "process_docs: !function utils.f\n",
            "base/utils.py": "def f(data):\n    return data.select([2])\n",
            "task/utils.py": "def f(data):\n    raise AssertionError\n",
            "task/t.yaml": "include: ../base/template\n" + task_text(),
        },
    )
    assert text_of(ask(open_in(tmp_path / "task"))) == "q2"


def test_task_code_may_read_its_own_template_again(tmp_path):
    code = """
    import yaml
    from pathlib import Path
    text = (Path(__file__).parent / "_default_template_yaml").read_text()
    CONFIG = yaml.safe_load("\\n".join(line for line in text.splitlines() if "!function" not in line))
    def f(doc):
        return CONFIG["metadata"]["word"] + doc["q"]
    """
    write_rows(tmp_path)
    template = "doc_to_visual: !function utils.none\nmetadata: {word: hi-}\n"
    (tmp_path / "t.yaml").write_text("include: _default_template_yaml\n" + task_text(text="!function utils.f"))
    write(
        tmp_path, {"_default_template_yaml": template, "utils.py": code + "\n    def none(doc):\n        return []\n"}
    )
    assert text_of(ask(open_in(tmp_path))) == "hi-q0"


def test_a_file_with_a_dot_in_its_name_and_a_nested_module(tmp_path):
    write_rows(tmp_path)
    write(
        tmp_path,
        {"utils.sub.py": "def f(doc):\n    return 'dotted'\n", "deep/er.py": "def f(doc):\n    return 'nested'\n"},
    )
    (tmp_path / "t.yaml").write_text(task_text(text="!function utils.sub.f"))
    assert text_of(ask(open_in(tmp_path))) == "dotted"
    (tmp_path / "t.yaml").write_text(task_text(text="!function deep.er.f"))
    assert text_of(ask(open_in(tmp_path))) == "nested"


def test_functions_of_a_task_share_one_module(tmp_path):
    code = "SEEN = []\ndef f(doc):\n    SEEN.append(doc['q'])\n    return 'x'\n"
    code += "def g(doc, results):\n    return {'m': len(SEEN) > 0}\n"
    write(tmp_path, {"utils.py": code})
    task = opened(tmp_path, "process_results: !function utils.g\nmetric_list: [m]\n", text="!function utils.f")
    ask(task)
    assert score(task, 0, "x").values == {("m", "none"): True}


# --- §1.7 filters ----------------------------------------------------------------------------------------------------

OWN_FILTER = """
import re
from lmms_eval.filters.extraction import ExtendedRegexFilter
from lmms_eval.filters.transformation import MapFilter

class Letter(ExtendedRegexFilter):
    def apply(self, resps, docs):
        found = []
        for texts, doc in zip(resps, docs):
            table = {self.filter_ignores(choice): letter for letter, choice in zip("AB", doc["choices"])}
            by_text = re.compile("|".join(map(re.escape, table)))
            found.append([
                self.find_match(self.regex, text)
                or self.find_match(by_text, self.filter_ignores(text), table)
                or self.fallback
                for text in texts
            ])
        return found

class Number(MapFilter):
    def __init__(self):
        super().__init__({"A": 1, "B": 2}, default_value=0)
"""


@pytest.mark.parametrize(("answer", "expected"), [("(B) it is", 2), ("It is the CAT.", 1), ("neither", 0)])
def test_filter_classes_of_the_task_extend_ours(tmp_path, answer, expected):
    write(tmp_path, {"utils.py": OWN_FILTER})
    extra = r"""
    filter_list:
      - name: letter
        filter:
          - function: !function utils.Letter
            regex_pattern: "\\(([AB])\\)"
            ignore_case: true
            ignore_punctuation: true
          - {function: !function utils.Number}
          - {function: take_first}
    process_results: !function hooks.f
    metric_list: [m]
    """
    write(tmp_path, {"hooks.py": "def f(doc, results):\n    return {'m': results[0]}\n"})
    task = opened(tmp_path, extra, rows=[{"q": "x", "a": "A", "choices": ["cat", "dog"]}])
    assert score(task, 0, answer).values == {("m", "letter"): expected}


# --- results ---------------------------------------------------------------------------------------------------------

AGGREGATE = """
CALLS = []
def process(doc, results):
    return {"good": float(doc["k"]), "bad": 1.0, "scored": {"score": float(doc["k"]), "id": doc["q"]}}
def good(items):
    CALLS.append(len(items))
    return sum(items) / len(items)
def bad(items):
    raise RuntimeError("no")
def scored(items):
    return sum(item["score"] for item in items) / len(items)
"""
METRICS = """
process_results: !function utils.process
metric_list:
  - {metric: good, aggregation: !function utils.good}
  - {metric: bad, aggregation: !function utils.bad}
  - {metric: scored, aggregation: !function utils.scored}
"""


def test_an_aggregation_that_fails_takes_no_other_metric_with_it(tmp_path):
    write(tmp_path, {"utils.py": AGGREGATE})
    opened(tmp_path, METRICS)
    run = evaluate(tmp_path, tmp_path / "t.yaml", "t")
    assert run.value("t", "good") == 1.5
    assert run.value("t", "bad") is None
    assert run.n_failed == 1
    assert any("metric 'bad'" in note and "utils.py" in note for note in run.results["notes"])


def test_dictionaries_with_a_score_key_have_the_uncertainty_of_that_number(tmp_path):
    write(tmp_path, {"utils.py": AGGREGATE})
    extra = METRICS.replace("  - {metric: bad, aggregation: !function utils.bad}\n", "")
    found = results(opened(tmp_path, extra), ["x"] * 4)
    plain, scored = found["good", "none"], found["scored", "none"]
    assert scored.value == 1.5
    assert scored.stderr == pytest.approx(plain.stderr) == pytest.approx((5 / 3) ** 0.5 / 2)


def test_broken_yaml_of_one_task_does_not_stop_another(tmp_path, caplog):
    opened(tmp_path)
    (tmp_path / "broken.yaml").write_text("task: [\n")
    with caplog.at_level(logging.WARNING):
        assert gold(tmp_path, tmp_path, "t").value("t", "exact_match") == 1.0


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("{{a if a is defined else other}}", ""),
        ("{{other if a is not defined else a}}", ""),
        ("{% if other is defined %}{{other}} {{more}}{% else %}{{a}}{% endif %}", ""),
        ("{% if a is defined %}{{a}}{% elif k is defined %}{{other}}{% endif %}", ""),
        ("{{a if a is defined else other}}{{other}}", "other"),
        ("{{b if b is defined else other}}", "other"),
        ("{{a if k else other}}", "other"),
    ],
)
def test_a_column_that_a_template_uses_only_where_another_is_missing_may_be_missing(tmp_path, text, missing):
    if missing:
        with pytest.raises(DataError, match=f"uses '{missing}', which the dataset does not have"):
            opened(tmp_path, text=f'"{text}"')
        return
    assert text_of(ask(opened(tmp_path, text=f'"{text}"'))) == "a0"


def test_what_one_run_leaves_in_a_module_s_globals_does_not_count_in_the_next(tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "rows.csv").write_text("q,a\nx,yes\ny,yes\n")
    (folder / "helper.py").write_text("seen = []\n")
    (folder / "utils.py").write_text(
        "total = {'hits': 0}\n"
        "def scored(doc, results):\n    return {'hits': int(results[0] == doc['a'])}\n"
        "def summed(values):\n"
        "    from helper import seen\n"
        "    seen.append(1)\n"
        "    total['hits'] += sum(values)\n"
        "    return total['hits'] * len(seen)\n"
    )
    (folder / "t.yaml").write_text(
        "task: t\ndataset_path: csv\ndataset_kwargs: {data_files: rows.csv}\ntest_split: train\n"
        "doc_to_text: q\ndoc_to_target: a\nprocess_results: !function utils.scored\n"
        "metric_list:\n  - metric: hits\n    aggregation: !function utils.summed\n"
    )
    for number, (answer, hits) in enumerate([("yes", 2), ("no", 0), ("yes", 2)]):
        run = evaluate(tmp_path / str(number), folder, "t", "mock", model_args={"answer": answer})
        assert run.value("t", "hits") == hits
