"""The rows of a task, its fields, and a run from the command line to the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError
from polymeter.core.request import Response
from polymeter.core.task import Rollout
from tests.interop.lm_eval.tasks.folders import ROWS, ask, context_of, open_in, opened, task_text, write

COUNTING = """\
    import random
    calls = []
    def docs(data):
        calls.append(len(data))
        return data
    def drawn(data):
        order = list(range(len(data)))
        random.shuffle(order)
        return data.select(order)
"""


def test_process_docs_is_called_once_for_each_split(tmp_path: Path) -> None:
    text = task_text("process_docs: !function utils.docs\nfewshot_split: 'train[:3]'\nnum_fewshot: 1\n")
    write(tmp_path, {"t.yaml": text, "utils.py": COUNTING})
    task = open_in(tmp_path)
    context_of(task, 1)
    calls = task.spec.config["process_docs"].__class__  # the reference; its module is looked up below
    assert calls.__name__ == "FunctionRef"
    from polymeter.guests import resolve

    assert resolve(task.spec.config["process_docs"]).__globals__["calls"] == [3, 6]


def test_what_process_docs_draws_rests_on_the_seed_alone(tmp_path: Path) -> None:
    import random

    write(tmp_path, {"t.yaml": task_text("process_docs: !function utils.drawn\n"), "utils.py": COUNTING})
    order = list(range(len(ROWS)))
    random.Random(0).shuffle(order)
    # The split of examples, the same one here, is processed once; lm-eval finds it in the cache of its library.
    task = open_in(tmp_path)
    assert [sample.doc["q"] for sample in task.samples[:]] == [f"q{number}" for number in order]
    state = random.getstate()
    assert [s.doc for s in open_in(tmp_path).samples[:]] == [s.doc for s in task.samples[:]]
    assert random.getstate() == state
    assert [s.doc for s in open_in(tmp_path, seed=1).samples[:]] != [s.doc for s in task.samples[:]]


def test_examples_are_processed_before_the_measured_rows_where_they_draw(tmp_path: Path) -> None:
    import random

    text = task_text("process_docs: !function utils.drawn\nfewshot_split: 'train[:3]'\n")
    write(tmp_path, {"t.yaml": text, "utils.py": COUNTING})
    stream = random.Random(0)
    stream.shuffle(list(range(3)))
    order = list(range(len(ROWS)))
    stream.shuffle(order)
    for n in (0, 1):
        found = [sample.doc["q"] for sample in open_in(tmp_path, num_fewshot=n).samples[:]]
        assert found == [f"q{number}" for number in order], n


def test_datasets_that_code_makes(tmp_path: Path) -> None:
    code = """\
        import datasets
        def make(**kwargs):
            rows = [{"q": f"{name}={kwargs[name]}", "a": "x"} for name in ("version", "size", "told", "kind")]
            assert kwargs["config_source"].endswith("t.yaml")
            return {"test": datasets.Dataset.from_list(rows)}
    """
    text = """\
        task: t
        custom_dataset: !function utils.make
        dataset_kwargs: {kind: k}
        test_split: test
        doc_to_text: q
        doc_to_target: a
        metadata: {version: 2, size: 3}
    """
    write(tmp_path, {"t.yaml": text, "utils.py": code})
    task = open_in(tmp_path, options={"metadata": {"told": 4}})
    assert [sample.doc["q"] for sample in task.samples[:]] == ["version=2", "size=3", "told=4", "kind=k"]
    write(tmp_path, {"t.yaml": text.replace("test_split: test", "test_split: tset")})
    with pytest.raises(DataError, match="gives no split 'tset'") as caught:
        open_in(tmp_path, options={"metadata": {"told": 4}})
    assert "'test'" in caught.value.hint
    with pytest.raises(PlanError, match="custom_dataset of task 't' raised KeyError"):
        open_in(tmp_path)


def test_a_missing_split_is_told_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, {"t.yaml": task_text().replace("test_split: train", "test_split: trian")})
    with pytest.raises(DataError) as caught:
        open_in(tmp_path)
    assert caught.value.where == f"{tmp_path / 't.yaml'}:4"


def test_scoring_reads_the_row_anew(tmp_path: Path) -> None:
    code = """\
        def text(doc):
            doc["q"] = "changed"
            doc["list"].append(1)
            return doc["q"]
        def results(doc, answers):
            return {"acc": float(doc["q"] == "q0" and doc["list"] == [])}
    """
    extra = "process_results: !function utils.results\nmetric_list: [{metric: acc, aggregation: mean}]\n"
    write(
        tmp_path,
        {"t.yaml": task_text(extra, text="!function utils.text"), "utils.py": code},
        [{"q": "q0", "a": "a", "list": []}],
    )
    task = open_in(tmp_path)
    sample = task.samples[0]
    steps = task.rollout(sample)
    (request,) = next(steps)  # type: ignore[misc]
    assert request.messages[0].text == "changed"  # type: ignore[union-attr]
    with pytest.raises(StopIteration) as end:
        steps.send((Response.of_text("x"),))
    (instance,) = end.value.value
    assert instance.doc == {"q": "changed", "a": "a", "list": [1]}
    assert task.score(sample, Rollout((), [instance])).values == {("acc", "none"): 1.0}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q", "q0"),
        ('"{{q}}\\n"', "q0\n"),
        ("\"{{q | regex_replace('q', 'Q')}}\"", "Q0"),
        ('"  {{q}} "', "  q0 "),
        ("plain words", "plain words"),
    ],
)
def test_texts(tmp_path: Path, text: str, expected: str) -> None:
    assert context_of(opened(tmp_path, text=text)) == expected


def test_a_template_with_a_column_that_no_row_has(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="The template of doc_to_text uses 'qq', which the row does not have") as caught:
        opened(tmp_path, text='"{{qq}}"')
    assert "It has the columns: q, a, k" in caught.value.hint
    with pytest.raises(PlanError, match="doc_to_text failed: 'qq' is undefined"):
        opened(tmp_path, text='"{{qq.x}} {% if q %}{{qq}}{% endif %}"')


def test_digits_are_the_number_of_a_choice_only_where_there_are_choices(tmp_path: Path) -> None:
    choice = "output_type: multiple_choice\ndoc_to_choice: [x, y, z]\n"
    assert len(ask(opened(tmp_path, choice, text='"{{k}}"', target="a"))) == 3
    assert context_of(opened(tmp_path, text='"{{k}}"')) == "0"
    with pytest.raises(PlanError, match="doc_to_text of task 't' gives '007', which is not a Python value"):
        opened(tmp_path, choice, text='"007"', target="a")


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("[1, true]", (" 1", " True")),
        ("{a: x, b: y}", (" x", " y")),
        ("'{{[q, a]}}'", (" q0", " a0")),
        ("both", (" m", " n")),
    ],
)
def test_choices(tmp_path: Path, choice: str, expected: tuple[str, ...]) -> None:
    rows = [{**row, "both": ["m", "n"]} for row in ROWS]
    extra = f"output_type: multiple_choice\ndoc_to_choice: {choice}\n"
    (request,) = ask(opened(tmp_path, extra, rows, target="0"))
    assert request.parameters.continuations == expected  # type: ignore[union-attr]


def test_choices_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="doc_to_choice of task 't' must give a list of texts, not 'q0'"):
        opened(tmp_path, "output_type: multiple_choice\ndoc_to_choice: q\n", target="0")


@pytest.mark.parametrize(("name", "expected"), [("qa-basic:q-newline-a", "Q: q0\nA:"), ("prompts.yaml:mine", "ASK q0")])
def test_prompts_by_name(tmp_path: Path, name: str, expected: str) -> None:
    prompts = "prompts:\n  mine: {doc_to_text: 'ASK {{question}}', doc_to_target: '{{answer}}'}\n"
    rows = [{"question": "q0", "answer": "a0"}]
    write(tmp_path, {"prompts.yaml": prompts}, rows=None)
    assert context_of(opened(tmp_path, f"use_prompt: '{name}'\n", rows)) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("qa-basic:q-newline", "There is no prompt 'qa-basic:q-newline'"),
        ("plain", "use_prompt must be 'category:name'"),
        ("promptsource:some", "needs the package 'promptsource'"),
    ],
)
def test_prompts_that_cannot_be_had(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        opened(tmp_path, f"use_prompt: '{name}'\n")


def run(folder: Path, *names: str, **options: Any) -> Any:
    return polymeter.evaluate(
        "mock",
        list(names),
        include_paths=[f"lm-eval:{folder}"],
        output=folder / "run",
        cache_dir=folder / "cache",
        **options,
    )


def results_of(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text("utf-8"))["tasks"]


def test_a_run(tmp_path: Path) -> None:
    mc = "output_type: multiple_choice\ndoc_to_choice: [x, y, z]\nnum_fewshot: 1\nfewshot_split: train\n"
    write(
        tmp_path,
        {
            "mc.yaml": task_text(mc, name="mc", target="k"),
            "roll.yaml": task_text("output_type: loglikelihood_rolling\n", name="roll", text="''"),
            "gen.yaml": task_text("repeats: 2\n", name="gen"),
            "g.yaml": "group: g\ntask: [mc, gen]\naggregate_metric_list: {metric: acc}\n",
        },
    )
    done = run(tmp_path, "g", "roll", limit=4)
    assert done.status == "complete"
    manifest = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    assert {entry["dialect"] for entry in manifest["tasks"]} == {"lm_eval"}
    (included,) = manifest["include_paths"]
    assert included["path"] == f"lm_eval:{tmp_path}"
    assert set(results_of(tmp_path / "run")) >= {"mc", "gen", "roll"}
    resumed = polymeter.resume(tmp_path / "run")
    assert resumed.status == "complete", "the folder is named with its system, from anywhere"


def test_answers_alone_and_their_scores_later(tmp_path: Path) -> None:
    write(tmp_path, {"gen.yaml": task_text("metric_list: [{metric: exact_match}]\n", name="gen", target="'mock'")})
    done = run(tmp_path, "gen", dialect_options={"lm_eval": {"predict_only": True}})
    assert done.status == "complete"
    lines = (tmp_path / "run" / "samples" / "gen.jsonl").read_text("utf-8").splitlines()
    assert all('"mock"' in line for line in lines), "the answers are there"
    assert not results_of(tmp_path / "run")["gen"]["results"]
    polymeter.score(tmp_path / "run", output=tmp_path / "scored")
    (result,) = results_of(tmp_path / "scored")["gen"]["results"]
    assert (result["metric"], result["value"], result["n"]) == ("exact_match", 1.0, len(ROWS))


def test_answers_alone_need_nothing_that_metrics_need(tmp_path: Path) -> None:
    extra = "metric_list: [{metric: made_up_metric, aggregation: mean}]\n"
    write(tmp_path, {"t.yaml": task_text(extra)})
    assert open_in(tmp_path, options={"predict_only": True}).keeps_answers_only
    with pytest.raises(PlanError, match="made_up_metric"):
        open_in(tmp_path)
