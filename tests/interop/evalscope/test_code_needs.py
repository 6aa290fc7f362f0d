"""Packages that an adapter's code needs only while answers are scored are asked for before anything is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.core.names.registry import missing_package
from polymeter.metrics import symbolic
from tests.conformance.evalscope.facade_kit import ADAPTER

pytestmark = pytest.mark.needs_system("evalscope")

RUN = ["run", "--model", "mock", "--tasks", "capitals", "--include-path", ".", "--output", "out"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(folder: Path, match: str, name: str) -> None:
    adapter = ADAPTER.replace("exact_match\n", f"{name}\n", 1).replace("exact_match(gold, pred)", match)
    (folder / "capitals_adapter.py").write_text(adapter)


def test_bleu_at_parity_needs_nltk(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(folder, "bleu_ngram_one_sample(pred, gold)['bleu-1']", "bleu_ngram_one_sample")
    monkeypatch.setitem(sys.modules, "nltk", None)
    assert main(["check", "."]) == 0
    assert main(["check", ".", "--parity", "evalscope"]) == 2
    capsys.readouterr()
    assert main([*RUN, "--parity", "evalscope"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "capitals_adapter.py:" in said
    assert "pip install nltk" in said
    assert not (folder / "out/journal.db").exists()
    assert main(RUN) == 0


def test_algebra_needs_its_packages(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> PlanError:
        raise missing_package("sympy", "the comparison of mathematical expressions", "math")

    _write(folder, "float(math_equal(gold, pred))", "math_equal")
    (folder / "capitals_adapter.py").write_text(
        (folder / "capitals_adapter.py")
        .read_text()
        .replace("evalscope.metrics import", "evalscope.metrics.math_parser import")
    )
    monkeypatch.setattr(symbolic, "check_algebra", refuse)
    assert main(RUN) == 2
    assert "[math]'" in " ".join(capsys.readouterr().err.split())
    assert not (folder / "out/journal.db").exists()
