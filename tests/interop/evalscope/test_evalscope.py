"""``polymeter evalscope``, and scripts that were written for EvalScope."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.interop.evalscope import flags
from polymeter.interop.evalscope.config import FIELDS
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS
from tests.conformance.evalscope.facade_kit import TABLE, benchmarks, texts
from tests.conformance.evalscope.mmlu_pro_data import write

KEY = "sk-do-not-tell"
# Every option of EvalScope 0.17's own command line.
UPSTREAM = """
--model --model-id --model-args --model-task --template-type --chat-template --datasets --dataset-args --dataset-dir
--dataset-hub --generation-config --eval-type --eval-backend --eval-config --stage --limit --eval-batch-size --mem-cache
--use-cache --work-dir --ignore-errors --debug --dry-run --seed --api-key --api-url --timeout --stream --judge-strategy
--judge-model-args --judge-worker-num --analysis-report
"""
# The guide's own script, as it is printed.
GUIDE = """\
from evalscope import run_task, TaskConfig
task_cfg = TaskConfig(
    model='Qwen/Qwen2.5-0.5B-Instruct',
    datasets=['mmlu_pro'],
    limit=10,
    dataset_args={'mmlu_pro': {'subset_list': ['computer science', 'math']}},
    debug=True
)
run_task(task_cfg=task_cfg)
"""


# The options that evalscope 1.14.1 has beside these.
UPSTREAM_1X = """
    --repeats --judge --rerun-review --no-timestamp --enable-progress-tracker --collect-perf --no-collect-perf
    --sandbox --use-sandbox --sandbox-type --sandbox-manager-config --agent-config --evalscope-version
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a benchmark in ``benchmarks``."""
    benchmarks(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    given = ["evalscope", "eval", "--model", "mock", "--datasets", "capitals", "--include-path", "benchmarks"]
    return main([*given, "--limit", "2", *words])


def test_every_option_of_upstream_is_known() -> None:
    known = {name for flag in flags.EVAL.flags for name in flag.names}
    assert set(UPSTREAM.split()) <= known
    assert set(UPSTREAM_1X.split()) <= known
    named = {name[2:].replace("-", "_") for name in (UPSTREAM + UPSTREAM_1X).split()} - {"no_collect_perf"}
    assert named | {"outputs"} == set(FIELDS)


def test_the_table_is_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--model-args", "mode=echo", "--work-dir", "out") == 0
    assert capsys.readouterr().out.strip() == TABLE
    assert len(list((here / "out").glob("*/reports/mock/capitals.json"))) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", KEY],
        [f"--api-key={KEY}"],
        [f"--api_key={KEY}"],
        ["--judge-model-args", f'{{"model_id": "mock", "api_key": "{KEY}"}}'],
        [f'--judge-model-args={{"model_id": "mock", "api_key": "{KEY}"}}'],
        ["--judge-model-args", f"model_id=mock,api_key={KEY}"],
    ],
)
def test_a_key_is_in_no_file(words: list[str], here: Path) -> None:
    assert run("--model-args", "mode=echo", "--work-dir", "out", *words) == 0
    assert "polymeter evalscope eval" in texts(here / "out")
    assert KEY not in texts(here / "out")


def test_arguments_are_pairs_or_json_and_never_code(here: Path) -> None:
    words = ["--model-args", "precision=torch.float16,n=2,on=true", "--generation-config", '{"max_tokens": 3}']
    words += ["--dataset-args", '{"a": {"limit": [1]}}', "--datasets", "a", "b", "--eval_batch_size", "3", "--stream"]
    given, places = flags.parse(words)
    assert given["model_args"] == {"precision": "torch.float16", "n": 2, "on": True}
    assert given["generation_config"] == {"max_tokens": 3}
    assert given["dataset_args"] == {"a": {"limit": [1]}}
    assert (given["datasets"], given["eval_batch_size"], given["stream"]) == (["a", "b"], 3, True)
    assert places == {}
    code = "__import__('os').mkdir('x')"
    assert flags.parse(["--model-args", f"a={code}"])[0]["model_args"] == {"a": code}
    assert not (here / "x").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--judge-stratgy", "llm"], "no option '--judge-stratgy'.*--judge-strategy"),
        (["--judge-strategy", "lmm"], "no judge_strategy 'lmm'.*'llm'"),
        (["--dataset-args", "{nope"], "--dataset-args.*JSON"),
        (["--dry-run"], "dry_run cannot be used here"),
        (["--limit", "x"], "--limit"),
    ],
)
def test_what_is_wrong_ends_with_exit_code_2(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    assert run(*words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(message, said), said


def test_failed_samples_count_unless_errors_are_ignored(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = ["--model-args", "mode=echo,failure=permanent,failure_rate=1.0"]
    assert run(*failing) == 1
    assert "4 of 4 samples without a score" in capsys.readouterr().err
    assert run(*failing, "--ignore-errors") == 0


def test_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evalscope"]) == 0
    assert main(["evalscope", "eval", "--help"]) == 0
    assert "--judge-model-args" in capsys.readouterr().out
    assert main(["evalscope", "version"]) == 0
    assert main(["evalscope", "perf"]) == 2
    assert main(["evalscope", "evl"]) == 2
    assert "'eval'" in capsys.readouterr().err


def test_a_script_that_defines_its_benchmark_needs_no_imports_that_are_supplied(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (here / "benchmarks/capitals/capitals_adapter.py").read_text(encoding="utf-8")
    text = text.replace("from evalscope.metrics import exact_match\n", "").replace("'capitals'", "'in_a_script'")
    text += "\n\nfrom evalscope import run_task\n"
    text += "run_task(dict(model='mock', model_args={'mode': 'echo'}, datasets=['in_a_script'], limit=2))\n"
    (here / "script.py").write_text(text, encoding="utf-8")
    try:
        assert main(["python", "script.py"]) == 0
    finally:
        BENCHMARK_MAPPINGS.forget("in_a_script")
    assert "| in_a_script | AverageAccuracy | OVERALL" in capsys.readouterr().out


def test_a_module_is_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "mock", "--model-args", "mode=echo", "--datasets", "capitals", "--limit", "2"]
    assert main(["python", "--include-path", "benchmarks", "-m", "evalscope.run", *words]) == 0
    assert capsys.readouterr().out.strip() == TABLE
    assert "POLYMETER_INCLUDE_PATH" not in os.environ


def test_places_need_an_id(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "script.py").write_text("")
    assert main(["python", "--weights", "nowhere", "script.py"]) == 2
    assert "not of the form ID=PATH" in capsys.readouterr().err


def test_the_guides_script_runs_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")

    from tests.helpers.checkpoints import make_checkpoint

    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data", {"computer science": 2, "math": 1})
    make_checkpoint("qwen2", tmp_path / "weights")
    (tmp_path / "guide.py").write_text(GUIDE)
    words = ["--data", "modelscope/MMLU-Pro=data", "--weights", "Qwen/Qwen2.5-0.5B-Instruct=weights", "guide.py"]
    assert main(["python", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        "| Model                 | Dataset   | Metric          | Subset           |   Num |   Score | Cat.0   |"
    )
    assert lines[3].startswith("| Qwen2.5-0.5B-Instruct | mmlu_pro  | AverageAccuracy | computer science |     2 |")
    assert lines[5].startswith("| Qwen2.5-0.5B-Instruct | mmlu_pro  | AverageAccuracy | math             |     1 |")
    assert lines[7].startswith("| Qwen2.5-0.5B-Instruct | mmlu_pro  | AverageAccuracy | OVERALL          |     3 |")
