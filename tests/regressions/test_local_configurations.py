"""A local folder in place of a hub's dataset: its configurations are those of the hub, or an error that lists them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

CARD = """
    ---
    license: mit
    configs:
    - config_name: c1
      data_files:
      - split: test
        path: data/c1.jsonl
    - config_name: c2
      data_files:
      - split: test
        path: [data/c2-*.jsonl]
    ---
    # Questions
"""
TASK = """
    task: questions
    dataset_path: {path}
    test_split: test
    output_type: generate_until
    doc_to_text: question
    doc_to_target: answer
    metric_list:
      - metric: exact_match
"""
ADAPTER = """
    from evalscope.benchmarks import Benchmark, DataAdapter
    from evalscope.metrics import exact_match

    @Benchmark.register(name='questions', dataset_id='org/questions', metric_list=['AverageAccuracy'],
                        subset_list=[{subset!r}], eval_split='test', few_shot_num=0, prompt_template='{{query}}')
    class QuestionsAdapter(DataAdapter):
        def gen_prompt(self, input_d, few_shot_list, **kwargs):
            return self.gen_prompt_data(input_d['question'])

        def get_gold_answer(self, input_d):
            return input_d['answer']

        def parse_pred_result(self, result, raw_input_d=None, **kwargs):
            return result

        def match(self, gold, pred):
            return exact_match(gold=gold, pred=pred)
"""


def jsonl(file: Path, *questions: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps({"question": text, "answer": "x"}) + "\n" for text in questions))


def clone(folder: Path, card: str = CARD) -> Path:
    """A clone of a repository with two configurations."""
    jsonl(folder / "data" / "c1.jsonl", "of c1")
    jsonl(folder / "data" / "c2-0.jsonl", "of c2, first")
    jsonl(folder / "data" / "c2-1.jsonl", "of c2, second")
    if card:
        (folder / "README.md").write_text(textwrap.dedent(card).lstrip())
    return folder


def run(here: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polymeter", "run", "--model", "mock", "--tasks", "questions"]
    command += ["--include-path", "task", "--output", "out", "--cache-dir", "cache", *words]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "400"}
    return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)


def asked(here: Path) -> list[str]:
    lines = (here / "out" / "samples" / "questions.jsonl").read_text().splitlines()
    return [json.loads(line)["doc"]["question"] for line in lines]


def write_task(here: Path, path: str, name: str | None = None, more: str = "") -> None:
    (here / "task").mkdir(exist_ok=True)
    text = textwrap.dedent(TASK.format(path=path)) + (f"dataset_name: {name}\n" if name else "") + more
    (here / "task" / "questions.yaml").write_text(text)


WAYS = ["path", "data", pytest.param("adapter", marks=pytest.mark.needs_system("evalscope"))]


def measure(here: Path, way: str, config: str | None) -> subprocess.CompletedProcess[str]:
    """Run over the folder ``clone``: as the task's own path, in place of an id, or for an adapter's subset."""
    if way == "adapter":
        (here / "task").mkdir(exist_ok=True)
        code = textwrap.dedent(ADAPTER.format(subset=config or "default"))
        (here / "task" / "questions_adapter.py").write_text(code)
        return run(here, "--data", "org/questions=clone")
    write_task(here, str(here / "clone") if way == "path" else "org/questions", config)
    return run(here, *(("--data", "org/questions=clone") if way == "data" else ()))


@pytest.mark.parametrize("way", WAYS)
def test_a_configuration_of_the_card_is_measured_by_its_own_rows(tmp_path: Path, way: str) -> None:
    clone(tmp_path / "clone")
    done = measure(tmp_path, way, "c2")
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path) == ["of c2, first", "of c2, second"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_split_files", [False, True])
def test_a_configuration_that_is_not_there_is_an_error_that_lists_those_that_are(
    tmp_path: Path, way: str, is_split_files: bool
) -> None:
    card = CARD.replace("data/c1.jsonl", "test.jsonl") if is_split_files else CARD
    jsonl(clone(tmp_path / "clone", card) / "test.jsonl", "of c1")
    done = measure(tmp_path, way, "nosuch")
    assert done.returncode == 2, done.stdout
    assert "nosuch" in done.stderr
    assert "c1, c2" in done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_without_a_name_the_default_configuration_is_measured(tmp_path: Path, way: str) -> None:
    clone(tmp_path / "clone", CARD.replace("- config_name: c2", "- config_name: c2\n      default: true"))
    jsonl(tmp_path / "clone" / "test.jsonl", "of none")
    done = measure(tmp_path, way, None)
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path) == ["of c2, first", "of c2, second"]


@pytest.mark.parametrize("way", WAYS)
def test_several_configurations_without_a_name_or_a_default_are_an_error(tmp_path: Path, way: str) -> None:
    jsonl(clone(tmp_path / "clone") / "test.jsonl", "of none")
    done = measure(tmp_path, way, None)
    assert done.returncode == 2, done.stdout
    assert "c1, c2" in done.stderr


@pytest.mark.parametrize(
    "files",
    [
        "  data_files: data/c2-*.jsonl",
        "  data_files: [data/c2-0.jsonl, data/c2-1.jsonl]",
        "  data_files:\n  - split: test\n    path: data/c2-*.jsonl",
        "  data_dir: second",
    ],
)
def test_each_form_of_data_files_in_a_card_is_understood(tmp_path: Path, files: str) -> None:
    clone(tmp_path / "clone", "")
    jsonl(tmp_path / "clone" / "second" / "test.jsonl", "of c2, first", "of c2, second")
    head = "---\nconfigs:\n- config_name: c1\n  data_files: data/c1.jsonl\n- config_name: c2\n"
    (tmp_path / "clone" / "README.md").write_text(f"{head}{files}\n---\n")
    write_task(tmp_path, str(tmp_path / "clone"), "c2")
    if "split" not in files and "data_dir" not in files:  # then all files are of the split "train", as on the hub
        text = (tmp_path / "task" / "questions.yaml").read_text()
        (tmp_path / "task" / "questions.yaml").write_text(text.replace("test_split: test", "test_split: train"))
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path) == ["of c2, first", "of c2, second"]


def test_a_folder_that_stands_for_one_configuration_needs_no_card(tmp_path: Path) -> None:
    jsonl(tmp_path / "one" / "test.jsonl", "of c2")
    write_task(tmp_path, "org/questions", "c2")
    refused = run(tmp_path, "--data", "org/questions=one")
    assert refused.returncode == 2
    assert "--data ID:c2=PATH" in refused.stderr
    done = run(tmp_path, "--data", "org/questions:c2=one")
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path) == ["of c2"]


@pytest.mark.parametrize("key", ["data_dir: second", "data_files: {test: second/*.jsonl}"])
def test_files_within_a_repository_that_a_task_names_are_taken_from_its_clone(tmp_path: Path, key: str) -> None:
    jsonl(tmp_path / "clone" / "test.jsonl", "of the first")
    jsonl(tmp_path / "clone" / "second" / "test.jsonl", "of the second")
    write_task(tmp_path, "org/questions", None, f"dataset_kwargs:\n  {key}\n")
    done = run(tmp_path, "--data", "org/questions=clone")
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path) == ["of the second"]


@pytest.mark.parametrize(("name", "split"), [("questions_test.jsonl", "test"), ("all.jsonl", "train")])
def test_splits_are_found_in_names_of_files_as_on_the_hub(tmp_path: Path, name: str, split: str) -> None:
    jsonl(tmp_path / "clone" / name, "of the file")
    write_task(tmp_path, str(tmp_path / "clone"))
    text = (tmp_path / "task" / "questions.yaml").read_text()
    (tmp_path / "task" / "questions.yaml").write_text(text.replace("test_split: test", f"test_split: {split}"))
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert asked(tmp_path) == ["of the file"]
