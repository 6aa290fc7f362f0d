"""Shell completion: commands, options, models and tasks, without importing anything heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from polymeter.cli.completion import model_names, task_names
from polymeter.core.names.registries import MODELS
from tests.cli.kit import CAPITALS


def completed(line: str, cwd: Path | None = None) -> list[str]:
    """What bash is offered for the last word of a line."""
    done = subprocess.run(
        [sys.executable, "-m", "polymeter"],
        env={
            **os.environ,
            "_POLYMETER_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        },
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


def tasks(incomplete: str, *folders: Path) -> dict[str, str]:
    """What is offered after ``--tasks`` on a line that names folders."""
    return dict(task_names(SimpleNamespace(params={"include_path": [*folders]}), incomplete))


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with benchmarks of the user's own."""
    monkeypatch.chdir(tmp_path)
    files = {
        "mine/capitals.yaml": CAPITALS,
        "mine/cars.py": "raise SystemExit",
        "mine/capitals.csv": "a\n",
        "mine/deep/t.tsv": "index\tquestion\tanswer\n",
        "capitals_too.yaml": CAPITALS,
        "other/x.md": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("polymeter ver", ["verify"]),
        ("polymeter run --gen-kw", ["--gen-kwargs"]),
        ("polymeter run --model tiny", ["tiny_vlm"]),
        ("polymeter run --model ocr --tasks demo_sig", ["demo_signs"]),
        ("polymeter run --judge tiny", ["tiny_vlm"]),
        ("polymeter run --parity lm", ["lm-eval", "lmms-eval"]),
        ("polymeter models tiny", ["tiny_vlm"]),
        ("polymeter tasks demo_sig", ["demo_signs"]),
    ],
)
def test_the_shell_is_offered_what_fits(line: str, offered: list[str]) -> None:
    assert completed(line) == offered


def test_models_and_tasks_come_with_a_line_about_each() -> None:
    assert dict(model_names("o")).keys() >= {"ocr", "openai"}
    ours = [summary for name, summary in model_names("") if name in MODELS._own]
    assert ours
    assert all(ours)
    assert tasks("demo_si") == {"demo_signs": "Signs"}


def test_the_last_name_of_a_list_is_completed() -> None:
    assert [*tasks("demo_page,demo_sc")] == ["demo_page,demo_scripts"]
    assert tasks("./nowhere/") == {}


def test_tasks_of_folders_that_the_line_names_are_offered(mine: Path) -> None:
    assert completed("polymeter run --include-path mine --tasks capi", mine) == ["capitals", "capitals_too.yaml"]
    assert completed("polymeter tasks --include-path mine capi", mine) == ["capitals", "capitals_too.yaml"]
    assert "capitals" not in tasks("capi")
    assert [*tasks("demo_page,capi", Path("mine"))] == ["demo_page,capitals", "demo_page,capitals_too.yaml"]
    assert tasks("capi", Path("mine"), Path("nowhere"))


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("mine/", ["mine/capitals.yaml", "mine/cars.py", "mine/deep/"]),
        ("./mine/ca", ["./mine/capitals.yaml", "./mine/cars.py"]),
        ("mine/capitals.c", []),
        ("mine/de", ["mine/deep/", "mine/deep/t.tsv"]),
        ("./", ["./capitals_too.yaml", "./mine/", "./other/"]),
        ("demo_page,mine/cap", ["demo_page,mine/capitals.yaml"]),
    ],
)
def test_a_path_is_completed_as_one(mine: Path, begun: str, offered: list[str]) -> None:
    assert [*tasks(begun)] == offered


def test_nothing_heavy_is_imported_for_it(mine: Path) -> None:
    program = (
        "import sys; from types import SimpleNamespace; from polymeter.cli.completion import task_names, model_names;"
        "[*task_names(SimpleNamespace(params={'include_path': ['mine']}), 'capi'), *model_names('')];"
        "print({'torch', 'datasets', 'pandas', 'pyarrow', 'PIL'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=mine, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
