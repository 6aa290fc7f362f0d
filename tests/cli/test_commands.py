"""The commands: what they tell the API, what they print, and how they exit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from polymeter import __version__
from polymeter.cli.main import build_app, main
from polymeter.core.errors import PlanError, Problem
from polymeter.core.options import RunOptions

HEAVY = ("torch", "transformers", "datasets", "pandas", "onnxruntime")


def test_run_tells_the_api_what_it_was_told(api):
    Path("w").mkdir()
    command = [
        *("run", "-m", "hf:org/name", "-t", "ocr_a,ocr_b", "-t", "mm*", "--model-path", "m.py"),
        *("--model-args", "dtype=bfloat16,layers=[1,2]", "--model-args", "use_cache=false"),
        *("--judge", "mock", "--include-path", "a", "--include-path", "b", "--import", "extra.py"),
        *("--data", "org/set:en=./x", "--weights", "org/name=./w", "--limit", "0.1", "--seed", "7"),
        *(
            "--gen-kwargs",
            "temperature=0,until=['a,b']".replace("'", '"'),
            "--num-fewshot",
            "2",
            "--prompt-key",
            "qwen",
        ),
        *("--system-prompt", "Be brief.", "--batch-size", "8", "--concurrency", "4", "--window", "64"),
        *("--executor", "local", "--replicas", "auto", "--gpus-per-replica", "0.5", "--cpus-per-replica", "2"),
        *("--address", "auto", "--lease-timeout", "60"),
        *(
            "--score-workers",
            "2",
            "--decode-workers",
            "3",
            "--timeout",
            "30",
            "--max-retries",
            "1",
            "--max-wait",
            "9",
            "--max-errors",
            "5",
        ),
        *("--output", "out", "--restart", "--media", "none", "--journal-dir", "j", "--cache-dir", "c", "--quiet"),
        *("--publish", "memory://runs/a"),
    ]
    assert main(command) == 0
    (call,) = api.calls
    names = ("model", "tasks", "model_path", "model_args", "roles", "command")
    told = {name: call.pop(name) for name in names}
    assert told["model"] == "hf:org/name"
    assert told["tasks"] == ["ocr_a", "ocr_b", "mm*"]
    assert told["model_path"] == "m.py"
    assert told["model_args"] == {"dtype": "bfloat16", "layers": [1, 2], "use_cache": False}
    assert told["roles"] == {"judge": "mock"}
    assert told["command"].startswith("polymeter run -m hf:org/name -t ocr_a,ocr_b")
    assert call == {
        "limit": 0.1,
        "seed": 7,
        "generation": {"temperature": 0, "until": ["a,b"]},
        "num_fewshot": 2,
        "prompt_key": "qwen",
        "system_prompt": "Be brief.",
        "data": {"org/set:en": "./x"},
        "weights": {"org/name": "./w"},
        "include_paths": (Path("a"), Path("b")),
        "imports": (Path("extra.py"),),
        "output": Path("out"),
        "batch_size": 8,
        "concurrency": 4,
        "executor": "local",
        "replicas": "auto",
        "gpus_per_replica": 0.5,
        "cpus_per_replica": 2,
        "address": "auto",
        "lease_timeout_s": 60.0,
        "window": 64,
        "score_workers": 2,
        "decode_workers": 3,
        "timeout_s": 30.0,
        "max_retries": 1,
        "max_wait_s": 9.0,
        "max_errors": 5,
        "media": "none",
        "journal_dir": Path("j"),
        "cache_dir": Path("c"),
        "publish": "memory://runs/a",
        "is_restart": True,
    }
    assert RunOptions.make(call).limit == 0.1


def test_what_is_not_said_is_left_to_the_options(api):
    assert main(["run", "--model", "mock", "--tasks", "t", "--seed", "0"]) == 0
    assert set(api.calls[0]) == {"model", "tasks", "model_path", "model_args", "roles", "command", "seed"}


def test_keys_do_not_reach_the_recorded_command(api):
    main(["run", "-m", "mock", "-t", "t", "-a", "api_key=sk-1,hf_token=t2,max_new_tokens=5"])
    assert api.calls[0]["command"] == "polymeter run -m mock -t t -a 'api_key=***,hf_token=***,max_new_tokens=5'"


def test_run_prints_table_counts_and_paths(api, capsys):
    assert main(["run", "-m", "mock", "-t", "t", "-q"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "0.7500" in out
    assert "3 of 4" in out
    assert "Title: 1 of 4 samples without a score (1 error)." in out
    scored, results, report, samples = out.splitlines()[-4:]
    assert scored == "scored   3 of 4 samples of 1 task"
    assert (results, report) == ("results  runs/results.json", "report   runs/report.html")
    assert samples == "samples  polymeter view runs, or polymeter show runs --sample ID"


def test_progress_is_told_on_stderr_line_by_line(api, capsys):
    main(["run", "-m", "mock", "-t", "t"])
    err = capsys.readouterr().err.splitlines()
    assert err[:2] == ["planning", "4 samples"]
    assert "note: one note" in err
    assert err[-1].startswith("4/4 samples (100 %)")


def test_failed_samples_make_exit_code_1(api):
    api.exit_code = 1
    assert main(["run", "-m", "mock", "-t", "t"]) == 1


@pytest.mark.parametrize(
    ("status", "code", "why"),
    [("interrupted", 130, "Interrupted."), ("stopped", 1, "Stopped: it is gone.")],
)
def test_a_run_that_ended_early_says_how_to_go_on(api, capsys, status, code, why):
    api.status, api.exit_code, api.has_results, api.reason = status, code, False, "it is gone."
    assert main(["run", "-m", "mock", "-t", "t", "-q"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{why} All answers so far are kept. Continue with:\n  polymeter resume runs\n"


def test_resume_goes_on_with_a_folder(api, capsys):
    assert main(["resume", "runs/x"]) == 0
    assert api.calls == [{"path": Path("runs/x"), "command": "polymeter resume runs/x"}]
    assert "report   runs/report.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flag", "option"),
    [
        ("--retry-errors", {"retry_errors": True}),
        ("--no-retry-errors", {"retry_errors": False}),
        ("--strict", {"is_strict": True}),
        ("--strict-resume", {"is_strict_resume": True}),
        ("--replicas=4", {"replicas": 4}),
        ("--executor=ray", {"executor": "ray"}),
    ],
)
def test_resume_passes_on_what_was_decided(api, flag, option):
    assert main(["resume", "runs/x", flag]) == 0
    assert api.calls == [{"path": Path("runs/x"), "command": f"polymeter resume runs/x {flag}", **option}]


def test_errors_say_what_where_and_what_to_do(api, capsys):
    api.error = PlanError("There is no task 'orc'.", where="--tasks", hint="Did you mean 'ocr'?")
    assert main(["run", "-m", "mock", "-t", "orc", "-q"]) == 2
    assert capsys.readouterr().err == "Error: There is no task 'orc'.\n  at --tasks\n  Did you mean 'ocr'?\n"


@pytest.mark.parametrize("place", [["--debug", "run"], ["run", "--debug"]])
def test_tracebacks_come_with_debug_only(api, capsys, place):
    api.error = PlanError("No.")
    assert main([*place, "-m", "mock", "-t", "t", "-q"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith("Error: No.\n")


def test_an_interrupt_outside_the_engine_exits_130(api, capsys):
    api.error = KeyboardInterrupt()
    assert main(["run", "-m", "mock", "-t", "t", "-q"]) == 130


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["run", "--modle", "x"], "--model"),
        (["rnu"], "run"),
        (["run", "-m", "mock"], "--tasks"),
        (["run", "-m", "mock", "-t", "t", "--media", "all"], "previews"),
        (["run", "-m", "mock", "-t", "t", "--batch-size", "many"], "--batch-size"),
        (["run", "-m", "mock", "-t", " , "], "No task is named."),
        (["run", "-m", "mock", "-t", "t", "--limit", "1.5"], "1.5 is neither a number of samples nor a share."),
        (["run", "-m", "mock", "-t", "t", "--limit", "nan"], "nan is neither"),
        (["run", "-m", "mock", "-t", "t", "--limit", "0"], "0 is neither"),
        (["run", "-m", "mock", "-t", "t", "--model-args", "dtype"], "'dtype' is not of the form key=value."),
        (["run", "-m", "mock", "-t", "t", "--data", "org/name"], "'org/name' is not of the form ID=PATH."),
        (["check", "no/such/file.yaml"], "There is no file or folder 'no/such/file.yaml'."),
    ],
)
def test_what_cannot_be_meant_exits_2_and_says_why(api, capsys, command, said):
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert err.startswith("Error: ")
    assert out == ""
    assert not api.calls


def test_a_whole_limit_stays_a_number_of_samples(api):
    main(["run", "-m", "mock", "-t", "t", "--limit", "1"])
    assert api.calls[0]["limit"] == 1


def test_tasks_lists_groups_with_their_members(api, capsys):
    assert main(["tasks", "--include-path", "mine"]) == 0
    assert api.calls == [{"include_paths": (Path("mine"),)}]
    assert capsys.readouterr().out.splitlines() == [
        "3 tasks; tags: fast",
        "",
        "reading  Reading",
        "  ocr_a  First",
        "  ocr_b",
        "mine     yours",
    ]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["ocr_*"], ["ocr_a", "ocr_b"]),
        (["mine", "ocr_a"], ["mine", "ocr_a"]),
        (["--tag", "fast"], ["ocr_a", "mine"]),
        (["fast"], ["ocr_a", "mine"]),
        (["reading"], ["reading", "ocr_a", "ocr_b"]),
    ],
)
def test_tasks_can_be_chosen(api, capsys, arguments, names):
    assert main(["tasks", *arguments]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]] == names


def test_one_task_shows_where_each_value_comes_from(api, capsys):
    assert main(["tasks", "ocr_a"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ocr_a  /lib/ocr.yaml",
        "  task         ocr_a",
        "  output_type  generate_until  from _base.yaml",
    ]


def test_one_task_as_yaml(api, capsys):
    assert main(["tasks", "ocr_a", "--yaml"]) == 0
    assert capsys.readouterr().out == "task: ocr_a\n"
    assert main(["tasks", "--yaml"]) == 2
    assert "exactly one task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ocr_x"], "Did you mean 'ocr_b' or 'ocr_a'?"),
        (["zz*"], "matches 'zz*'"),
        (["--tag", "fats"], "Did you mean 'fast'?"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(api, capsys, arguments, said):
    assert main(["tasks", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_broken_files_are_listed_and_never_skipped_silently(api, capsys):
    api.catalog.problems.append(Problem("/lib/x.yaml:3", "Not valid YAML."))
    api.catalog.clashes["twice"] = (Path("/a.yaml"), Path("/b.yaml"))
    assert main(["tasks"]) == 0
    assert capsys.readouterr().err == "/lib/x.yaml:3: Not valid YAML.\nTwo files define 'twice': /a.yaml and /b.yaml\n"


def test_groups_that_contain_each_other_are_listed_once(api, capsys):
    api.catalog.entries["reading"] = api.catalog.entries["reading"].__class__(
        "reading", "group", "task_yaml", Path("/lib/reading.yaml"), members=("reading", "ocr_a", "gone")
    )
    assert main(["tasks", "reading"]) == 0
    capsys.readouterr()


def test_check_prints_problems_with_their_places(api, capsys, tmp_path):
    (tmp_path / "t.yaml").write_text("task: t\n")
    assert main(["check", "t.yaml", "--rows", "0"]) == 0
    assert capsys.readouterr().out == "t.yaml: no problems found.\n"
    api.problems = [Problem("t.yaml:1", "There is no key 'tsak'.")]
    assert main(["check", "t.yaml", "--rows", "0"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("t.yaml:1: There is no key 'tsak'.\n", "1 problem found.\n")


def test_models_lists_what_there_is_and_explains_one(capsys):
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "mock" in out
    assert "ocr" in out
    assert main(["models", "mock"]) == 0
    assert "--model-args" in capsys.readouterr().out
    assert main(["models", "mokc"]) == 2
    assert "Did you mean 'mock'" in capsys.readouterr().err


@pytest.mark.needs_system("ulmeval")
def test_models_explains_a_backend_that_knows_models_by_name(capsys):
    assert main(["models", "ulm"]) == 0
    out = capsys.readouterr().out
    assert "  ulm:Janus-Pro-1B\n      hf:deepseek-community/Janus-Pro-1B\n" in out
    assert "  ulm:Show-o\n      needs the code of https://github.com/showlab/Show-o" in out
    assert "  …\n      Arguments of the wrapper's constructor" in out


def test_missing_packages_of_an_extra_are_named(monkeypatch):
    from importlib import metadata

    from polymeter.cli import extras
    from polymeter.core.names import installing

    monkeypatch.setattr(
        metadata,
        "requires",
        lambda name: ["no-such-package-here>=1; extra == 'x'", "pytest; extra == 'x'", "rich>=1"],
    )
    assert installing.extra_packages("x") == ["no-such-package-here", "pytest"]
    assert extras.missing_packages("x") == ["no-such-package-here"]


def test_version_and_bare_call(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"polymeter {__version__}\n"
    assert main([]) == 0
    assert "run" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "resume", "report", "verify", "rerun", "tasks", "models", "check"])
def test_every_command_explains_itself(command):
    result = CliRunner().invoke(build_app(), [command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["tasks"], ["models"]])
def test_listings_import_nothing_heavy(arguments):
    code = f"import sys; from polymeter.cli.main import main; main({arguments!r}); print(*sys.modules, file=sys.stderr)"
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert not set(HEAVY) & set(done.stderr.split())
