"""``polymeter lmms-eval``: what becomes of each option of lmms-eval's command line."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from polymeter.cli.main import main
from polymeter.interop.lmms_eval import evaluation as api
from polymeter.interop.lmms_eval import flags

# Every option of lmms-eval's __main__ at the version described in the specification.
UPSTREAM = """
--config --model --tasks --model_args --launcher_args --num_fewshot --batch_size -b --max_batch_size --device
--output_path --limit --offset --use_cache -c --cache_requests --check_integrity --write_out -w --log_samples
--wandb_log_samples --swanlab_log_samples --log_samples_suffix --system_instruction --apply_chat_template
--fewshot_as_multiturn --show_config --include_path --gen_kwargs --reasoning_tags --verbosity --wandb_args
--swanlab_args --timezone --hf_hub_log_args --predict_only -x --seed --trust_remote_code --process_with_media
--agentic_trace_mode --force_simple --tui -n --repeats --num_samples --baseline --max_tokens --power-analysis
--effect-size --alpha --power --correlation --std-a --std-b
"""


@dataclass
class Recorder:
    commands: list[api.LmmsEvalCommand] = field(default_factory=list)
    environments: list[str | None] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def evaluate(self, command, *, progress, typed):
        self.commands.append(command)
        self.environments.append(os.environ.get("POLYMETER_TEST_VALUE"))
        self.typed = typed
        code = self.codes.pop(0) if self.codes else 0
        folder = SimpleNamespace(read_manifest=lambda: {"tasks": [{"name": "t", "config": {"a": 1}}]})
        run = SimpleNamespace(
            results={},
            status="complete",
            exit_code=code,
            is_strict=False,
            missed=(),
            published=None,
            logged=(),
            folder=folder,
        )
        facts = api.LmmsEvalFacts(command.model, command.model_args, "x")
        return api.LmmsEvalResult(run, (Path("out/x_results.json"),), ("one note",), facts)


@pytest.fixture
def recorder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made = Recorder()
    monkeypatch.setattr(api, "evaluate_lmms_eval", made.evaluate)
    return made


def run(*words):
    return main(["lmms-eval", "--model", "mock", "--tasks", "t", *words])


def test_every_option_of_upstream_is_known_and_one_of_ours():
    ours = ["--model_path", "--model-path", "--strict_resume", "--strict-resume", "--parity"]
    assert sorted(name for flag in flags.EVAL.flags for name in flag.names) == sorted([*UPSTREAM.split(), *ours])


def test_every_option_that_is_not_done_says_why():
    assert all(len(flag.text) > 20 for flag in flags.EVAL.flags if flag.fate != "done")


def test_options_reach_the_command(recorder):
    words = [
        *("--model_args", "pretrained=a/b,x=1", "--num_fewshot", "2", "-b", "8", "--device", "cpu", "--limit", "0.5"),
        *("--output_path", "out", "--offset", "3", "-c", "cache", "--log_samples", "--system_instruction", "Be brief."),
        *("--include_path", "tasks", "--gen_kwargs", "temperature=0", "--reasoning_tags", "none", "-x"),
        *("--seed", "7", "--process_with_media", "--force_simple", "-n", "4", "--baseline", "old.jsonl"),
        *("--timezone", "UTC"),
    ]
    assert run(*words) == 0
    (command,) = recorder.commands
    expected = {
        "model": "mock",
        "tasks": "t",
        "model_args": "pretrained=a/b,x=1",
        "num_fewshot": 2,
        "batch_size": "8",
        "device": "cpu",
        "output_path": "out",
        "limit": 0.5,
        "offset": 3,
        "use_cache": "cache",
        "log_samples": True,
        "system_instruction": "Be brief.",
        "include_path": "tasks",
        "gen_kwargs": "temperature=0",
        "reasoning_tags": "none",
        "timezone": "UTC",
        "predict_only": True,
        "seed": "7",
        "process_with_media": True,
        "force_simple": True,
        "repeats": 4,
        "baseline": "old.jsonl",
    }
    assert {name: getattr(command, name) for name in expected} == expected
    assert command.arguments["batch_size"] == "8"
    assert recorder.typed.startswith("polymeter lmms-eval --model mock")


def test_eval_is_the_flat_form(recorder):
    assert main(["lmms-eval", "eval", "--model=mock", "--tasks=t"]) == 0
    assert recorder.commands[0].tasks == "t"


def test_a_batch_size_that_is_not_given_is_left_to_the_model(recorder):
    run()
    assert recorder.commands[0].batch_size is None
    assert recorder.commands[0].arguments["batch_size"] == "1"


@pytest.mark.parametrize("flag", [flag for flag in flags.EVAL.flags if flag.fate != "done"], ids=lambda flag: flag.key)
def test_an_option_that_is_not_done_is_noted_or_refused(flag, recorder, capsys):
    words = [flag.names[0]] if flag.kind == "switch" else [flag.names[0], (flag.choices or ("7",))[-1]]
    code = run(*words)
    said = capsys.readouterr().err
    assert flag.text in said
    assert code == (2 if flag.fate == "refused" else 0)
    assert len(recorder.commands) == (0 if flag.fate == "refused" else 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--log_sample_suffix", "x"], "Did you mean '--log_samples_suffix'?"),
        (["--fewshots", "3"], "Did you mean '--num_fewshot'?"),
        (["stray"], "'stray' belongs to no option."),
        (["--limit", "many"], "Argument --limit: invalid float value: 'many'."),
        (["--cache_requests", "maybe"], "invalid choice"),
        (["--verbosity", "WARN"], "Did you mean 'WARNING'?"),
    ],
)
def test_what_is_unknown_ends_with_the_nearest_known(words, message, recorder, capsys):
    assert run(*words) == 2
    assert message in capsys.readouterr().err
    assert not recorder.commands


@pytest.mark.parametrize("command", ["ui", "serve", "mcp", "tui"])
def test_commands_that_are_not_here_say_what_to_do(command, capsys):
    assert main(["lmms-eval", command]) == 2
    said = capsys.readouterr().err
    assert f"There is no {command!r} here." in said
    assert "polymeter" in said


def test_an_unknown_command_names_the_nearest(capsys):
    assert main(["lmms-eval", "task"]) == 2
    assert "Did you mean 'tasks'?" in capsys.readouterr().err


def test_help_shows_every_option(capsys):
    assert main(["lmms-eval", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(flag.names[0] in said for flag in flags.EVAL.flags)


def test_a_run_without_tasks_is_refused(capsys):
    assert main(["lmms-eval", "--model", "mock"]) == 2
    assert "No task is named." in capsys.readouterr().err


def test_exit_codes_are_ours(recorder):
    recorder.codes = [1]
    assert run() == 1


def test_a_configuration_gives_options_and_the_line_wins(recorder, tmp_path):
    (tmp_path / "run.yaml").write_text(
        "model: ocr\ntasks: [a, b]\nmodel_args: {x: 1, y: z}\nlimit: 8\nbatch_size: 2\nlog_samples: true\n"
    )
    assert main(["lmms-eval", "--config", "run.yaml", "--limit", "4"]) == 0
    (command,) = recorder.commands
    assert (command.model, command.tasks, command.model_args) == ("ocr", "a,b", "x=1,y=z")
    assert (command.limit, command.batch_size, command.log_samples) == (4.0, "2", True)


def test_a_list_of_configurations_is_several_runs_each_with_its_environment(recorder, tmp_path, monkeypatch):
    monkeypatch.delenv("POLYMETER_TEST_VALUE", raising=False)
    (tmp_path / "runs.yaml").write_text(
        "- {model: mock, tasks: a, env: {POLYMETER_TEST_VALUE: 1}}\n- {model: mock, tasks: b}\n"
    )
    recorder.codes = [1, 0]
    assert main(["lmms-eval", "--config", "runs.yaml"]) == 1
    assert [command.tasks for command in recorder.commands] == ["a", "b"]
    assert recorder.environments == ["1", None]
    assert "POLYMETER_TEST_VALUE" not in os.environ


def test_an_interrupted_run_ends_the_list(recorder, tmp_path):
    (tmp_path / "runs.yaml").write_text("- {model: mock, tasks: a}\n- {model: mock, tasks: b}\n")
    recorder.codes = [130]
    assert main(["lmms-eval", "--config", "runs.yaml"]) == 130
    assert len(recorder.commands) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle: mock", "Did you mean 'model'?"),
        ("limit: many", "'limit' must be a float, not 'many'."),
        ("log_samples: yes please", "'log_samples' must be true or false"),
        ("swanlab_args: project=x", "--swanlab_args cannot be used here"),
        ("- 7", "must be a mapping of options"),
        ("a: [", "not valid YAML"),
        ("env: 7", "'env' must be a mapping"),
    ],
)
def test_a_broken_configuration_says_what_and_where(text, message, recorder, tmp_path, capsys):
    (tmp_path / "run.yaml").write_text(text)
    assert main(["lmms-eval", "--model", "mock", "--tasks", "t", "--config", "run.yaml"]) == 2
    assert message in capsys.readouterr().err
    assert not recorder.commands


def test_show_config_shows_the_tasks(recorder, capsys):
    run("--show_config")
    said = capsys.readouterr()
    assert '\nt:\n{\n  "a": 1\n}' in said.out
    assert "written  out/x_results.json" in said.out
    assert "one note" in said.err


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        (["tasks"], "demo"),
        (["tasks", "list"], "demo"),
        (["tasks", "subtasks"], "demo_edit"),
        (["tasks", "list_groups"], "demo"),
        (["--tasks", "list_groups"], "demo"),
        (["--tasks", "list"], "demo"),
    ],
)
def test_listings_name_tasks_and_groups(words, listed, capsys):
    assert main(["lmms-eval", *words]) == 0
    names = capsys.readouterr().out.splitlines()
    assert listed in names
    assert names == sorted(names)


def test_listing_tags_of_a_folder(tmp_path, capsys):
    (tmp_path / "t.yaml").write_text("task: t\ndataset_path: json\ntag: [two, one]\n")
    assert main(["lmms-eval", "tasks", "tags", "--include-path", str(tmp_path)]) == 0
    assert {"one", "two"} <= set(capsys.readouterr().out.split())


def test_models_and_version(capsys):
    assert main(["lmms-eval", "models"]) == 0
    assert "mock" in capsys.readouterr().out
    assert main(["lmms-eval", "version"]) == 0
    assert "polymeter" in capsys.readouterr().out


def test_power_analysis_measures_nothing(recorder, capsys):
    assert run("--power-analysis", "--tasks", "", "--effect-size", "0.05") == 0
    assert "785 samples" in capsys.readouterr().out
    assert main(["lmms-eval", "power", "--alpha", "2"]) == 2
    assert "alpha and power must be between 0 and 1." in capsys.readouterr().err
    assert not recorder.commands
