"""Packages that a task's code needs only while answers are scored are asked for before anything is."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.interop.lmms_eval import code_needs, original_prompts
from tests.tasks.yaml.kit import task_text, write_rows

pytestmark = pytest.mark.needs_system("lmms_eval")

SERVER = """\
from lmms_eval.llm_judge import ServerConfig, get_server

server = get_server(server_name="openai", config=ServerConfig(model_name="j"))
OWN = "{question} {answer} {prediction}"
"""
DIRECT = "def score(doc, results):\n    return {'acc': server.evaluate_binary('q', 'a', results[0])['result']}\n"
THROUGH_A_CLASS = """\
class Grader:
    def __init__(self):
        self.server = server

    def grade(self, text):
        return self.server.evaluate_binary(question="q", answer="a", prediction=text, output_format="0/1")

grader = Grader()

def score(doc, results):
    return {"acc": grader.grade(results[0])["result"]}
"""
HANDED_ON = """\
def score(doc, results):
    ask = server.evaluate_comparative
    return {"acc": ask("q", results[0], "b")["scores"][0]}
"""
RUBRIC = (
    "def score(doc, results):\n    return {'acc': server.evaluate_with_rubric('q', 'p', {'a': 'b'})['scores']['a']}\n"
)
BUILDER = """\
from lmms_eval.llm_judge.utils import JudgePromptBuilder as Builder

def score(doc, results):
    return {"acc": len(Builder.build_binary_prompt("q", "a", results[0], custom_prompt=None))}
"""
OWN_PROMPT = """\
def score(doc, results):
    return {"acc": server.evaluate_binary("q", "a", results[0], "0/1", OWN)["result"]}

def unused(doc, results):
    return {"acc": server.evaluate_binary("q", "a", results[0])["result"]}
"""
SETTINGS = "process_results: !function utils.score\nmetric_list: [{metric: acc}]\n"
RUN = ["run", "--model", "mock", "--tasks", "t", "--include-path", ".", "--output", "out", "--judge", "mock"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(original_prompts, "version", lambda name: "0.6.0")
    write_rows(tmp_path)
    (tmp_path / "t.yaml").write_text(task_text(SETTINGS))
    return tmp_path


@pytest.mark.parametrize("code", [DIRECT, THROUGH_A_CLASS, HANDED_ON, RUBRIC, BUILDER])
def test_missing_prompts_are_an_error_before_anything_is_asked(
    folder: Path, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "utils.py").write_text(SERVER + code)
    assert main([*RUN, "--parity", "lmms-eval"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "lmms_eval==0.7.2" in said
    assert "0.6.0 is installed" in said
    assert "utils.py:" in said
    assert not (folder / "out/journal.db").exists()


def test_check_says_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "utils.py").write_text(SERVER + DIRECT)
    assert main(["check", "t.yaml"]) == 0
    capsys.readouterr()
    assert main(["check", "t.yaml", "--parity", "lmms-eval"]) == 2
    assert "lmms_eval==0.7.2" in capsys.readouterr().out


def test_prompts_of_ones_own_need_nothing(folder: Path) -> None:
    (folder / "utils.py").write_text(SERVER + OWN_PROMPT)
    assert main(["check", "t.yaml", "--parity", "lmms-eval"]) == 0
    # The mock says nothing that a judge would: the samples have no score, and yet the run was no mistake.
    assert main([*RUN, "--parity", "lmms-eval", "--limit", "1"]) != 2


def test_a_run_that_only_predicts_needs_nothing(folder: Path) -> None:
    (folder / "utils.py").write_text(SERVER + DIRECT)
    words = ["lmms-eval", "--model", "mock", "--tasks", "t", "--include_path", ".", "--output_path", "out"]
    assert main([*words, "--parity", "lmms-eval", "--predict_only"]) == 0


def test_mathematics_needs_its_package_before_anything_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(code_needs, "find_spec", lambda name: None)
    (folder / "utils.py").write_text(
        "from lmms_eval.tasks._task_utils.reasoning_utils import compute_score as own\n\n"
        "def score(doc, results):\n    return {'acc': own('d', results[0], doc['a'])['acc_score']}\n"
    )
    assert main(RUN) == 2
    assert "'math-verify'" in capsys.readouterr().err
    assert not (folder / "out/journal.db").exists()
