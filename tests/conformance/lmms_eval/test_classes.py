"""Tasks that are Python classes, registrations, and imports across task folders."""

import os
import shutil
import subprocess
import sys

import pytest

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.core.request import Loglikelihood, Response
from polymeter.core.task import Rollout
from polymeter.tasks.yaml import FORMAT
from tests.conformance.kit import evaluate, gold, likelihoods, model
from tests.tasks.yaml.kit import catalog, logprobs, open_in, opened, score, task_text, write, write_rows

HEAD = "from polymeter.interop.lmms_eval.tasks import ConfigurableTask, Instance, Task\n"


def class_task(folder, code, extra="", *, head=HEAD, base=True):
    write_rows(folder)
    (folder / "utils.py").write_text(head + code)
    text = task_text(extra) if base else "task: t\n" + extra
    (folder / "t.yaml").write_text(text + "class: !function utils.Mine\n")
    return folder


def test_a_class_that_overrides_nothing_is_its_configuration(tmp_path):
    folder = class_task(tmp_path, "class Mine(ConfigurableTask):\n    pass\n")
    run = gold(tmp_path, folder / "t.yaml", "t")
    assert run.value("t", "exact_match") == 1.0


def test_the_class_gets_the_configuration_and_may_drop_its_own_key(tmp_path):
    code = """
class Mine(ConfigurableTask):
    def __init__(self, config=None):
        config.pop("class")
        assert config["task"] == "t" and callable(config["process_results"])
        config["doc_to_text"] = lambda doc: "own " + doc["q"]
        super().__init__(config=config)
def process(doc, results):
    return {"m": float(results[0] == doc["a"])}
"""
    folder = class_task(tmp_path, code, "process_results: !function utils.process\nmetric_list: [m]\n")
    task = open_in(folder)
    assert next(task.rollout(task.samples[0])).text == "own q0"
    assert score(task, 0, "a0").values == {("m", "none"): 1.0}


def test_methods_may_be_overridden_one_by_one(tmp_path):
    code = """
class Mine(ConfigurableTask):
    def doc_to_text(self, doc):
        return super().doc_to_text(doc).upper()
    def doc_to_target(self, doc):
        return doc["a"] + "!"
    def process_results(self, doc, results):
        return {"m": float(results[0] == self.doc_to_target(doc))}
"""
    folder = class_task(tmp_path, code, "metric_list: [{metric: m}]\n")
    task = open_in(folder)
    assert next(task.rollout(task.samples[1])).text == "Q1"
    assert gold(tmp_path, folder / "t.yaml", "t").value("t", "m") == 1.0


OWN = """
class Mine(Task):
    OUTPUT_TYPE = "generate_until"
    def __init__(self):
        super().__init__()
    def download(self, *args):
        self.dataset = {"test": [{"n": i} for i in range(5)]}
    def has_test_docs(self): return True
    def test_docs(self): return self.dataset["test"]
    def doc_to_text(self, doc): return f"double {doc['n']}"
    def doc_to_target(self, doc): return str(2 * doc["n"])
    def construct_requests(self, doc_id, ctx, **kwargs):
        kwargs.setdefault("metadata", {})
        return [Instance("generate_until", (ctx, {"until": ["."], "max_new_tokens": 4}), 0, **kwargs),
                Instance("loglikelihood", (ctx, " yes"), 1, **kwargs),
                Instance("loglikelihood", (ctx, " no"), 2, **kwargs)]
    def process_results(self, doc, results):
        text, (yes, _), (no, is_greedy) = results
        return {"right": float(text == self.doc_to_target(doc)), "sure": yes - no}
    def aggregation(self): return {"right": lambda items: sum(items) / len(items), "sure": max}
    def higher_is_better(self): return {"right": True, "sure": False}
"""


def test_a_class_without_a_dataset_constructs_its_requests(tmp_path):
    folder = class_task(tmp_path, OWN, base=False)
    task = open_in(folder)
    asked = next(task.rollout(task.samples[2]))
    assert [request.text for request in asked] == ["double 2", "double 2"]
    assert asked[0].parameters.stop == (".",)
    assert asked[1].parameters == Loglikelihood((" yes", " no"))

    def answer(request):
        if isinstance(request.parameters, Loglikelihood):
            return likelihoods(request, lambda text: -1.0 if text == " yes" else -3.0)
        return str(2 * int(request.text.split()[1]))

    run = evaluate(tmp_path, folder / "t.yaml", "t", model(answer))
    assert run.value("t", "right") == 1.0
    assert run.result("t", "sure").value == 2.0
    assert run.result("t", "sure").higher_is_better is False


def test_the_inherited_request_construction_can_be_called_and_changed(tmp_path):
    code = """
class Mine(ConfigurableTask):
    def construct_requests(self, doc_id, ctx, **kwargs):
        made = super().construct_requests(doc_id, ctx + "?", **kwargs)
        assert made.args[3:] == (doc_id, "t", "train") and made.args[1]["until"] == ["\\n\\n"]
        assert made.task_name == "t" and made.doc_id == doc_id
        return made
"""
    task = open_in(class_task(tmp_path, code))
    (request,) = next(task.rollout(task.samples[0]))
    assert request.text == "q0?"
    assert task.score(task.samples[0], Rollout((Response.of_text(" a0"),))).values == {("exact_match", "none"): 1.0}


SURROUNDED = """
class Mine(ConfigurableTask):
    def __init__(self):
        super().__init__(config={"dataset_path": "json", "dataset_kwargs": {"data_files": "rows.jsonl"},
                                 "test_split": "train", "doc_to_text": "q", "doc_to_target": "a",
                                 "lmms_eval_specific_kwargs": {"mock": {"tail": "?"}}})
        assert len(self.dataset["train"]) == 4
        assert self.task_name == "t" and self.lmms_eval_specific_kwargs == {"tail": "?"}
"""
MADE = """
def Mine(config):
    return ConfigurableTask(config={key: value for key, value in config.items() if key != "class"})
"""


@pytest.mark.parametrize("code", [SURROUNDED, MADE])
def test_a_task_object_finds_the_folder_of_its_yaml_whatever_its_author_passes_on(tmp_path, monkeypatch, code):
    folder = class_task(tmp_path / "tasks", code)
    monkeypatch.chdir(tmp_path)
    task = open_in(folder)
    assert next(task.rollout(task.samples[2])).text == "q2"


def test_without_a_system_that_reads_them_a_class_is_refused_with_its_place(tmp_path, monkeypatch):
    folder = class_task(tmp_path, "class Mine(ConfigurableTask):\n    pass\n")
    monkeypatch.setattr("polymeter.tasks.yaml.extensions.extension", lambda name: None)
    with pytest.raises(PlanError, match=r"Task 't' is a Python class, which .* cannot read") as error:
        open_in(folder)
    assert error.value.where == f"{folder / 't.yaml'}:8"
    assert "fields of a YAML" in error.value.hint


def test_a_class_that_fails_is_blamed_on_its_line(tmp_path):
    folder = class_task(tmp_path, "class Mine(ConfigurableTask):\n    def __init__(self):\n        1 / 0\n")
    with pytest.raises(PlanError, match=r"class of task 't' raised ZeroDivisionError.*utils\.py:4"):
        open_in(folder)


def test_the_foreign_name_is_the_same_class(tmp_path):
    code = "class Mine(ConfigurableTask):\n    pass\n"
    folder = class_task(tmp_path, code, head="from lmms_eval.api.task import ConfigurableTask\n")
    assert gold(tmp_path, folder / "t.yaml", "t").value("t", "exact_match") == 1.0


# --- registrations ---------------------------------------------------------------------------------------------------

REGISTERS = """
from lmms_eval.api.registry import register_aggregation, register_filter, register_metric
from lmms_eval.api.filter import Filter

@register_metric(metric="{name}", higher_is_better=False, output_type=["generate_until"], aggregation="{name}_agg")
def fn(references, predictions, bonus=0):
    return len(predictions[0]) + bonus

@register_aggregation("{name}_agg")
def agg(items):
    return {{"{name}": items}}

@register_filter("shout")
class Shout(Filter):
    def apply(self, resps, docs):
        return [[r.upper() + "!" for r in rs] for rs in resps]

def hook(doc):
    return doc["q"]
"""


def test_registered_names_count_for_their_own_folder_only(tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / name
        write_rows(folder)
        (folder / "utils.py").write_text(
            REGISTERS.format(name="size") if name == "one" else REGISTERS.format(name="acc")
        )
        metric = "size" if name == "one" else "acc"
        extra = f"metric_list: [{{metric: {metric}, bonus: 1}}]\n"
        extra += "filter_list: [{name: f, filter: [{function: shout}, {function: take_first}]}]\n"
        (folder / "t.yaml").write_text(task_text(extra, text="!function utils.hook"))
    one, two = open_in(tmp_path / "one"), open_in(tmp_path / "two")
    assert score(one, 0, "abc").values == {("size", "f"): 5}
    assert score(one, 0, "abc").answer == "ABC!"
    assert score(two, 0, "abc").values == {("acc", "f"): 5}
    plain = opened(tmp_path / "plain", "metric_list: [acc]\n")
    assert score(plain, 0, "a0").values == {("acc", "none"): 1.0}
    with pytest.raises(PlanError, match="no metric 'size'"):
        opened(tmp_path / "other", "metric_list: [size]\n")


def test_loading_the_same_file_again_is_no_clash(tmp_path):
    write_rows(tmp_path)
    for bonus in (0, 10):
        (tmp_path / "metrics.py").write_text(REGISTERS.format(name="size").replace("+ bonus", f"+ {bonus}"))
        (tmp_path / "t.yaml").write_text(task_text("metric_list: [size]\n"))
        assert score(open_in(tmp_path), 0, "abc").values == {("size", "none"): 3 + bonus}


def test_a_metrics_file_that_registers_nothing_is_left_alone(tmp_path):
    write(tmp_path, {"metrics.py": "raise SystemExit\n"})
    assert score(opened(tmp_path), 0, "a0").values == {("exact_match", "none"): 1.0}


def test_a_metric_that_takes_one_list_of_items_is_called_with_gold_and_answer(tmp_path):
    code = "from lmms_eval.api.registry import register_metric\n"
    code += "@register_metric(metric='items')\ndef fn(items):\n    return items[0] == items[1]\n"
    write(tmp_path, {"metrics.py": code})
    task = opened(tmp_path, "metric_list: [items]\n", rows=[{"q": "x", "a": ["one", "two"]}])
    assert score(task, 0, "two").values == {("items", "none"): 1.0}


def test_an_unknown_metric_of_multiple_choice_gets_gold_and_prediction(tmp_path):
    code = "from lmms_eval.api.registry import register_metric\n"
    code += "@register_metric(metric='mine', output_type='multiple_choice')\ndef fn(items):\n    raise AssertionError\n"
    write(tmp_path, {"metrics.py": code})
    extra = "output_type: multiple_choice\ndoc_to_choice: [a, b, c, d]\nmetric_list: [mine]\n"
    task = opened(tmp_path, extra, target="k")
    made = task.score(task.samples[1], Rollout((logprobs(-1.0, -2.0, -3.0, 0.0),)))
    assert made.values == {("mine", "none"): (1, 3)}


# --- imports across folders ------------------------------------------------------------------------------------------

IMPORTS = {
    "from_name": "from lmms_eval.tasks.other.helper import NAME",
    "from_package": "from lmms_eval.tasks.other import helper\nNAME = helper.NAME",
    "import_as": "import lmms_eval.tasks.other.helper as helper\nNAME = helper.NAME",
    "plain": "import lmms_eval.tasks.other.helper\nNAME = lmms_eval.tasks.other.helper.NAME",
    "late": "def late():\n    from lmms_eval.tasks.other.helper import NAME\n    return NAME\nNAME = late()",
    "deep": "from lmms_eval.tasks.other.sub.deep import NAME",
}


@pytest.mark.parametrize("how", IMPORTS)
def test_imports_of_the_task_tree_find_the_include_paths_files_first(tmp_path, how):
    for root in ("one", "two"):
        code = IMPORTS[how] + "\ndef hook(doc):\n    return NAME\n"
        folder = write(
            tmp_path / root,
            {
                "mine/t.yaml": task_text(text="!function utils.hook"),
                "other/helper.py": f"NAME = '{root}'\n",
                "other/sub/deep.py": "from ..helper import NAME\n",
            },
        )
        (folder / "mine/utils.py").write_text(code)
        write_rows(folder / "mine")
        task = open_in(folder / "mine")
        assert next(task.rollout(task.samples[0])).text == root
        assert folder / "other/helper.py" in task.spec.sources


def test_a_full_dotted_tag_names_a_file_of_the_include_path(tmp_path):
    write(tmp_path, {"other/utils.py": "def fn(doc):\n    return 'found'\n"})
    write_rows(tmp_path / "mine")
    (tmp_path / "mine/t.yaml").write_text(task_text(text="!function lmms_eval.tasks.other.utils.fn"))
    task = open_in(tmp_path / "mine")
    assert next(task.rollout(task.samples[0])).text == "found"
    assert tmp_path / "other/utils.py" in task.spec.sources


def test_an_imported_file_may_import_foreign_names_in_a_fresh_process(tmp_path):
    (tmp_path / "mine.py").write_text("from lmms_eval.api.registry import register_metric\n")
    code = "from pathlib import Path\nfrom polymeter.api.imports import import_file\n"
    code += f"import_file(Path({str(tmp_path / 'mine.py')!r}))"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ}, timeout=60)


def test_a_moved_task_folder_keeps_its_source_hash(tmp_path):
    folder = class_task(tmp_path / "one", "class Mine(ConfigurableTask):\n    pass\n")
    shutil.copytree(folder, tmp_path / "two")
    one, two = open_in(folder), open_in(tmp_path / "two")
    assert one.spec.source_hash == two.spec.source_hash


def test_rows_that_cannot_be_read_and_values_that_are_none(tmp_path):
    folder = class_task(tmp_path, OWN.replace("return self.dataset", "return 1 / 0 or self.dataset"), base=False)
    with pytest.raises(DataError, match="ZeroDivisionError"):
        open_in(folder)
    folder = class_task(tmp_path / "b", OWN.replace('return {"right"', 'return 5 or {"right"', 1), base=False)
    task = open_in(folder)
    given = Rollout((), [["x"], [(0.0, True)], [(0.0, True)]])
    with pytest.raises(ScoreError, match="must return a dict"):
        task.score(task.samples[0], given)


CHAT = """
class Mine(ConfigurableMessagesTask):
    def doc_to_messages(self, doc):
        made = super().doc_to_messages(doc)
        return [{"role": "system", "content": "sys"}, *made]
"""


def test_a_class_for_chat_models_makes_messages(tmp_path):
    head = "from lmms_eval.api.task import ConfigurableMessagesTask\n"
    folder = class_task(tmp_path, CHAT, head=head)
    task = open_in(folder)
    assert [(m.role, m.text) for m in next(task.rollout(task.samples[0])).messages] == [
        ("system", "sys"),
        ("user", "q0"),
    ]


def test_a_check_without_running_code_knows_what_the_code_registers(tmp_path):
    write_rows(tmp_path)
    (tmp_path / "metrics.py").write_text(REGISTERS.format(name="size"))
    (tmp_path / "t.yaml").write_text(task_text("metric_list: [{metric: size, aggregation: size_agg}, sise]\n"))
    found = catalog(tmp_path)
    problems = [problem.message for problem in FORMAT.check(found.get("t"), found)]
    assert len(problems) == 1
    assert "no metric 'sise'" in problems[0]
