"""``polymeter doctor`` says what there is and what installs the rest, never a key, and never fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.cli import extras, machine
from polymeter.cli.main import main
from polymeter.core.names.installing import pip_install

SECRET = "sk-never-to-be-printed"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without torch's seconds, and in a folder of its own."""
    monkeypatch.setattr(machine, "_ASK_TORCH", 'print(\'{"version": "9.9", "cuda": ["Big GPU"], "mps": false}\')')
    monkeypatch.setattr(machine, "find_spec", lambda name: object())
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["doctor", *words]) == 0
    return capsys.readouterr().out


def test_it_says_what_there_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "file").write_bytes(bytes(2_500_000))
    text = said(capsys)
    assert text.startswith(f"polymeter  {polymeter.__version__}, clone at {Path(__file__).parents[2]}")
    for part in (sys.executable, "9.9, uses Big GPU", "2.5 MB", str(tmp_path / "runs")):
        assert part in text
    assert re.search(r"\d [GT]B free in this folder", text)
    assert "programs   code that a model writes, if allowed, runs " in text


def test_a_missing_extra_comes_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine.metadata, "metadata", lambda name: Extras())
    monkeypatch.setattr(extras, "missing_packages", lambda extra: ["rapidocr"] if extra == "ocr" else [])
    text = said(capsys)
    assert "needs rapidocr  (models: ocr)" in text
    assert pip_install(extra="ocr") in text
    assert "hf             installed" in text
    assert "dev " not in text
    assert "docs " not in text


class Extras:
    def get_all(self, name: str) -> list[str]:
        return ["all", "dev", "docs", "hf", "ocr"]


def test_a_key_is_named_and_never_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("SOMEBODYS_API_KEY", SECRET)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    for words in ((), ("--json",)):
        text = said(capsys, *words)
        assert SECRET not in text
        assert "SOMEBODYS_API_KEY" in text
    keys = json.loads(text)["keys"]
    assert (keys["OPENAI_API_KEY"], keys["ANTHROPIC_API_KEY"]) == (True, False)


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        ("raise ImportError('libcudart is missing')", "libcudart is missing"),
        ("import time; time.sleep(60)", "took more than 0 s"),
    ],
)
def test_a_broken_torch_is_a_line_and_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ask: str, problem: str
) -> None:
    monkeypatch.setattr(machine, "_ASK_TORCH", ask)
    monkeypatch.setattr(machine, "_TORCH_DEADLINE_S", 0.2 if "sleep" in ask else 60.0)
    (line,) = [line for line in said(capsys).splitlines() if line.startswith("torch")]
    assert "does not work" in line
    assert problem in line


def test_without_torch_none_is_started(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    monkeypatch.setattr(machine, "Child", None)
    assert "torch      not installed" in said(capsys)


def test_the_driver_names_gpus(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def smi(words: list[str], **rest: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 0, "NVIDIA H100, 81559 MiB\n", "")

    monkeypatch.setattr(machine.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(machine.subprocess, "run", smi)
    assert "gpu        NVIDIA H100, 81559 MiB" in said(capsys)


def test_a_broken_settings_file_is_a_line_and_no_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYMETER_SETTINGS", "nowhere.yaml")
    assert "nowhere.yaml" in said(capsys)


def test_a_folder_too_large_to_measure_is_at_least_so_large(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "file").write_bytes(bytes(1_000_000))
    monkeypatch.setattr(machine, "_MEASURING_S", -1.0)
    assert "> 1.0 MB" in said(capsys)


def test_the_servers_that_runs_can_start_are_named_with_their_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from polymeter.cli.machine import examine
    from tests.helpers import vllm_stub

    program = vllm_stub.install(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = examine().servers
    assert found["vllm"] == str(program)
    assert found["llamacpp"] == ""
    assert set(found) == {"vllm", "sglang", "llamacpp", "transformers-serve"}
