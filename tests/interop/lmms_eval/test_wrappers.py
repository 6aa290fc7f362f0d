"""Commands that find wrappers of lmms-eval, and scripts written for it, in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.cli.pairs import parse_model_args
from polymeter.core.errors import PlanError
from tests.conformance.kit import guests_of
from tests.helpers.colours import folder_of_colours, wrapper_file

IDIOMATIC = guests_of("lmms_eval") / "model_idioms/idiomatic.py"
CODE = """\
def __init__(self, pretrained="x", scale=1):
    pass

def generate_until(self, requests):
    return ["red"] * len(requests)
"""
SCRIPT = """\
import sys

import polymeter
from lmms_eval.api.registry import get_model
from beside_the_script import WORD

print(__name__, sys.argv[1:], get_model("idiomatic").__name__, WORD)
result = polymeter.evaluate("lmms:idiomatic", "colours", output="run")
print(result.value("colours", "exact_match"))
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with tasks in ``tasks`` and a wrapper in ``mine.py``."""
    folder_of_colours(tmp_path / "tasks")
    wrapper_file(tmp_path, CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_values_of_a_wrappers_arguments_are_read_as_lmms_eval_reads_them() -> None:
    text = 'scale=-1,n=2,extra=[1,2],on=True,none=none,name={"a": 1}'
    assert parse_model_args("lmms:x", [text]) == {
        "scale": -1.0, "n": 2, "extra": "[1,2]", "on": True, "none": "none", "name": '{"a": 1}',
    }  # fmt: skip
    assert parse_model_args("hf:x", ["scale=-1", "extra=[1,2]"]) == {"scale": -1, "extra": [1, 2]}
    with pytest.raises(PlanError, match="'a' is given twice"):
        parse_model_args("lmms", ["a=1", "a=2"])
    with pytest.raises(PlanError, match="'a' is not of the form name=value"):
        parse_model_args("lmms", ["a"])


def test_a_wrong_argument_ends_with_exit_code_2(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--tasks", "colours", "--include-path", "tasks", "--model-path", "mine.py"]
    assert main(["run", "--model", "lmms", "--model-args", "pretraned=y", *words]) == 2
    said = capsys.readouterr().err
    assert "Wrapper 'Mine' has no argument 'pretraned'." in said
    assert "Did you mean 'pretrained'?" in said


def test_lmms_evals_command_line_finds_a_file(here: Path) -> None:
    pytest.importorskip("torch")
    words = ["--model", "idiomatisch", "--model_path", str(IDIOMATIC), "--tasks", "colours", "--include_path", "tasks"]
    assert main(["lmms-eval", *words]) == 0


def test_lmms_evals_command_line_finds_a_plug_in(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    package = here / "plug_in"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "models/__init__.py").write_text("AVAILABLE_MODELS = {'plugged': 'Idiomatic'}\n")
    (package / "models/plugged.py").write_text(IDIOMATIC.read_text())
    monkeypatch.setenv("LMMS_EVAL_PLUGINS", "plug_in")
    assert main(["lmms-eval", "--model", "plugged", "--tasks", "colours", "--include_path", "tasks"]) == 0


def test_a_script_runs_as_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    (here / "scripts").mkdir()
    (here / "scripts/beside_the_script.py").write_text("WORD = 'beside'\n")
    (here / "scripts/mine.py").write_text(SCRIPT)
    before = sys.argv, sys.path[:]
    options = ["--model-path", str(IDIOMATIC), "--include-path", "tasks"]
    assert main(["python", *options, "scripts/mine.py", "3", "--flag"]) == 3
    assert capsys.readouterr().out.split("\n")[:2] == ["__main__ ['3', '--flag'] Idiomatic beside", "1.0"]
    assert (sys.argv, sys.path) == before


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["script.py"], 1, "ZeroDivisionError: division by zero"),
        (["ends.py"], 1, "enough"),
        (["none.py"], 2, "There is no script 'none.py'."),
        (["--model-pth", "x", "script.py"], 2, "Did you mean '--model-path'?"),
        (["--model-path"], 2, "--model-path needs a value."),
        (["-m"], 2, "No module is named."),
        (["--include-path", "tasks"], 2, "No script is named."),
        (["--model-path", "a", "--model-path", "b", "-m", "lmms_eval"], 2, "--model-path is given 2 times"),
        (["-m", "json.tool", "--no-such-option"], 2, "--no-such-option"),
        (["--help"], 0, ""),
    ],
)
def test_how_scripts_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    (tmp_path / "script.py").write_text("1 / 0\n")
    (tmp_path / "ends.py").write_text("raise SystemExit('enough')\n")
    monkeypatch.chdir(tmp_path)
    assert main(["python", *words]) == code
    assert said in capsys.readouterr().err
