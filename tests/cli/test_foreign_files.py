"""Files of other tools that Polymeter does not run are named as what they are, by each command that meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kit import Typing

INSPECT_TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import exact
from inspect_ai.solver import generate


@task
def hello_world():
    return Task(
        dataset=[Sample(input="Just reply with Hello World", target="Hello World")],
        solver=[generate()],
        scorer=exact(),
    )
"""
INSPECT_DOTTED = """\
import inspect_ai

@inspect_ai.task
def hello():
    return inspect_ai.Task(dataset=[])
"""
INSPECT_TASK_ARGS = """\
from inspect_ai import Task, task as inspect_task

@inspect_task(name="a")
def hello():
    return Task(dataset=[])
"""
LIGHTEVAL_TASK = """\
from lighteval.metrics.metrics import Metrics
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc


def prompt_fn(line, task_name: str = None):
    return Doc(task_name=task_name, query=line["question"], choices=[" a", " b"], gold_index=0)


task = LightevalTaskConfig(name="mine", prompt_function=prompt_fn, hf_repo="o/d", metrics=[Metrics.exact_match])
TASKS_TABLE = [task]
"""
OPENCOMPASS_CONFIG = """\
from mmengine.config import read_base

with read_base():
    from .datasets.siqa.siqa_gen import siqa_datasets
    from .models.opt.hf_opt_125m import opt125m

datasets = [*siqa_datasets]
models = [opt125m]
"""
OPENCOMPASS_DATASET_CONFIG = """\
from opencompass.datasets import siqaDataset_V2
from opencompass.openicl.icl_evaluator import AccEvaluator
from opencompass.openicl.icl_prompt_template import PromptTemplate

siqa_infer_cfg = dict(prompt_template=dict(type=PromptTemplate))
siqa_datasets = [dict(abbr="siqa", type=siqaDataset_V2, path="opencompass/siqa", infer_cfg=siqa_infer_cfg)]
"""
OPENCOMPASS_DATASET_CLASS = """\
from datasets import Dataset
from opencompass.registry import LOAD_DATASET
from opencompass.datasets.base import BaseDataset


@LOAD_DATASET.register_module()
class MyDataset(BaseDataset):
    @staticmethod
    def load(path):
        return Dataset.from_list([])
"""
HELM_SCENARIO = """\
from typing import List
from helm.benchmark.scenarios.scenario import Scenario, Instance, TEST_SPLIT


class MyScenario(Scenario):
    name = "my"
    description = ""
    tags = []

    def get_instances(self, output_path: str) -> List[Instance]:
        return []
"""
SIMPLE_EVAL = """\
import re
import pandas

from . import common
from .common import ANSWER_PATTERN_MULTICHOICE, HTML_JINJA, format_multichoice_question
from .types import Eval, EvalResult, SamplerBase, SingleEvalResult


class GPQAEval(Eval):
    def __init__(self, n_repeats: int = 4):
        self.examples = []

    def __call__(self, sampler: SamplerBase) -> EvalResult:
        return common.aggregate_results([])
"""
BIGBENCH = """\
import bigbench.api.task as task

class MyTask(task.Task):
    def evaluate_model(self, model, max_examples=-1, random_seed=None):
        pass
"""
EVALS_CLASS = """\
import evals
import evals.metrics


class Arithmetic(evals.Eval):
    def eval_sample(self, test_sample, rng):
        pass
"""
ES_AGENT = """\
from evalscope.api.benchmark import AgentLoopAdapter, BenchmarkMeta
from evalscope.api.registry import register_benchmark

@register_benchmark(BenchmarkMeta(name="geo", dataset_id="geo"))
class GeoAdapter(AgentLoopAdapter):
    pass
"""
LM_EVAL_REGISTERED = """\
from lm_eval.api.registry import register_task
from lm_eval.api.task import Task


@register_task("mine")
class Mine(Task):
    def has_test_docs(self):
        return True
"""
FILES = [
    pytest.param(
        INSPECT_TASK, "a task of Inspect (inspect_ai)", id="inspect_task", marks=pytest.mark.needs_system("inspect_ai")
    ),
    pytest.param(
        INSPECT_DOTTED,
        "a task of Inspect (inspect_ai)",
        id="inspect_dotted",
        marks=pytest.mark.needs_system("inspect_ai"),
    ),
    pytest.param(
        INSPECT_TASK_ARGS,
        "a task of Inspect (inspect_ai)",
        id="inspect_task_args",
        marks=pytest.mark.needs_system("inspect_ai"),
    ),
    pytest.param(LIGHTEVAL_TASK, "a task of lighteval", id="lighteval_task"),
    pytest.param(OPENCOMPASS_CONFIG, "a configuration of OpenCompass", id="opencompass_config"),
    pytest.param(OPENCOMPASS_DATASET_CONFIG, "a dataset or configuration of OpenCompass", id="opencompass_rows"),
    pytest.param(OPENCOMPASS_DATASET_CLASS, "a dataset or configuration of OpenCompass", id="opencompass_class"),
    pytest.param(HELM_SCENARIO, "a scenario or run specification of HELM", id="helm_scenario"),
    pytest.param(SIMPLE_EVAL, "an evaluation of simple-evals", id="simple_eval"),
    pytest.param(BIGBENCH, "a task of BIG-bench", id="bigbench"),
    pytest.param(EVALS_CLASS, "an evaluation of OpenAI Evals", id="evals_class"),
    pytest.param(
        ES_AGENT, "written for EvalScope 1.x's agents", id="es_agent", marks=pytest.mark.needs_system("evalscope")
    ),
]


@pytest.fixture
def typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


@pytest.mark.parametrize(("content", "what"), FILES)
def test_a_file_of_another_tool_is_named(content: str, what: str, typing: Typing) -> None:
    typing.write({"mine/thing.py": content})
    for words in ("check mine/thing.py", "check mine", "run --model mock --tasks mine/thing.py -o out"):
        done = typing(words)
        assert what in " ".join(done.said.split()), words
        assert "no problems found" not in done.said
        assert done.code
    assert not (typing.folder / "out").exists()
    assert what in " ".join(typing("tasks --include-path mine").said.split())


@pytest.mark.needs_system("lm_eval")
def test_a_class_without_its_yaml_is_named_alone_and_not_in_a_folder(typing: Typing) -> None:
    typing.write({"mine/task.py": LM_EVAL_REGISTERED})
    for words in ("check mine/task.py", "run --model mock --tasks mine/task.py"):
        assert "the YAML that names it" in " ".join(typing(words).said.split())
    assert "the YAML that names it" not in " ".join(typing("tasks --include-path mine").said.split())
