"""Where the program of a server is, and which version it has."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.names.installing import installed_version
from polymeter.models.served import programs
from polymeter.models.served.kinds import LLAMACPP, SGLANG, TRANSFORMERS, VLLM
from polymeter.models.served.programs import Program, find_program, versions_of


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that alone is the search path."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return tmp_path


def test_the_program_on_the_search_path_is_found(path: Path) -> None:
    program = script(path, "llama-server", "#!/bin/sh\necho 'version: 6710 (abc123)' >&2\n")
    found = find_program(LLAMACPP, "")
    assert found == Program((str(program),), "")
    assert versions_of(LLAMACPP, found) == {"llamacpp": "6710 (abc123)"}


def test_a_program_without_a_version_is_of_an_unknown_one(path: Path) -> None:
    script(path, "llama-server", "#!/bin/sh\nexit 1\n")
    assert versions_of(LLAMACPP, find_program(LLAMACPP, "")) == {"llamacpp": "unknown"}


def test_the_user_s_program_wins(path: Path) -> None:
    script(path, "vllm", f"#!{sys.executable}\n")
    mine = script(path, "my-vllm", f"#!{sys.executable}\nprint('9.8.7')\n")
    found = find_program(VLLM, str(mine))
    assert found == Program((str(mine),), sys.executable)
    assert versions_of(VLLM, found)["vllm"] == "9.8.7", "what no package tells, the program does"


def test_a_script_tells_which_python_s_packages_count(path: Path) -> None:
    script(path, "vllm", "#!/usr/bin/env python3\nprint('0.11.2')\n")
    other = script(
        path, "python3", f'#!/bin/sh\n[ "$1" = -c ] && echo \'{{"vllm": "0.12.1"}}\' || exec {sys.executable} "$@"\n'
    )
    found = find_program(VLLM, "")
    assert found.python == str(other)
    assert versions_of(VLLM, found) == {"vllm": "0.12.1"}


def test_a_module_is_run_by_the_python_that_has_it(path: Path) -> None:
    with_it = script(path, "with-it", '#!/bin/sh\necho \'{"sglang": "0.5.4"}\'\n')
    without = script(path, "without", "#!/bin/sh\necho '{}'\n")
    found = find_program(SGLANG, str(with_it))
    assert found.words == (str(with_it), "-m", "sglang.launch_server")
    assert versions_of(SGLANG, found) == {"sglang": "0.5.4"}
    with pytest.raises(PlanError, match="has no package 'sglang'") as refused:
        find_program(SGLANG, str(without))
    assert refused.value.where == "executable"


def test_the_packages_of_this_python_are_read_and_not_run(path: Path) -> None:
    pytest.importorskip("transformers")
    found = versions_of(TRANSFORMERS, Program(("transformers",), sys.executable))
    assert found["transformers"] == installed_version("transformers")


def test_a_package_that_transformers_serve_lacks_is_told_with_its_extra(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = script(path, "transformers", f"#!{sys.executable}\n")
    monkeypatch.setattr(programs, "_beside", lambda program: str(beside))
    monkeypatch.setattr(programs, "_is_beside", lambda place: True)
    real = programs.importlib.util.find_spec
    monkeypatch.setattr(programs.importlib.util, "find_spec", lambda name: None if name == "fastapi" else real(name))
    with pytest.raises(PlanError, match="'fastapi', needed by model 'transformers-serve'") as refused:
        find_program(TRANSFORMERS, "")
    assert "[serve]" in refused.value.hint
