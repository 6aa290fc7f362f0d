"""The suite of ``make conformance`` on the classes of a checkout of ULMEvalKit, which ``ULMEVALKIT`` names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.ulmeval.suite import CLASSES, run


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder laid out as the repository is. What its classes import of the package is Polymeter's own, so the modules
    beside them must not even be loaded.
    """
    package = tmp_path / "ULMEvalKit" / "ulmeval"
    shutil.copytree(CLASSES, package / "dataset")
    (package / "dataset" / "__init__.py").write_text(
        "from .text_base import TextBaseDataset\nfrom .geneval_pp import GenEvalPP\nDATASET_CLASSES = [GenEvalPP]\n"
    )
    for module in ("dataset/text_base", "dataset/image_base", "dataset/utils/judge_util", "smp/file", "utils/mp_util"):
        file = package / f"{module}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text("raise RuntimeError('the checkout has its own')\n")
    (package / "smp" / "__init__.py").write_text("from .file import *\n")
    (package / "utils" / "__init__.py").write_text("from .mp_util import track_progress_rich\n")
    monkeypatch.setenv("ULMEVALKIT", str(package.parent))
    return package


def test_classes_of_a_checkout_take_the_place_of_ours(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = checkout / "dataset" / "geneval_pp.py"
    assert run(1, tmp_path / "as published", "on", "GenEvalPP")
    file.write_text(file.read_text().replace("class GenEvalPP(TextBaseDataset):", "class GenEvalPP(Nothing):"))
    assert not run(1, tmp_path / "broken", "on", "GenEvalPP")
    printed = capsys.readouterr().out
    assert "0 values differ without a row" in printed
    assert "1 tasks run there and not here" in printed
    assert "Nothing" in printed


def test_a_benchmark_that_the_checkout_lacks_is_a_failure(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "dataset" / "wise.py").unlink()
    assert not run(1, tmp_path / "work", "on", "WISE_all")
    assert "WISE_all: There is no task, group or tag 'WISE_all'" in capsys.readouterr().out


def test_a_folder_that_is_no_checkout_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ULMEVALKIT", str(tmp_path))
    assert not run(1, tmp_path / "work", "on", "*")
    assert f"there is no folder {tmp_path / 'ulmeval' / 'dataset'}" in capsys.readouterr().out
