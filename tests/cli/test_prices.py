"""Prices on command lines: what the terminal shows, and mistakes before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kit import Typing


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


def test_prices_are_flags_of_commands(typing: Typing) -> None:
    typing.write({"p.yaml": "mock: {input: 2, output: 8}\n"})
    run = "run --model mock --tasks demo_signs --limit 3"
    assert "cost     $0.000084" in (done := typing(f"{run} --output a --prices p.yaml")).out, done.out
    assert "cost" not in typing(f"{run} --output b").out
    done = typing(f"{run} --output e --price mok=1/4")
    assert "No model of the run is called 'mok': it has mock. [--price]" in done.err.replace("\n", " "), done.err
    assert (done.code, typing(f"{run} --output f --price mok=1/4 --strict").code) == (0, 2)
    assert "cost     $0.000042" in (done := typing("score a --output c --price mock=1/4")).out, done.out
    for wrong, what in (
        ("--price mock=1/4 --price mock=2/4", "'mock' is given twice"),
        ("--price mock", "is not a price"),
        ("--prices q.yaml", "Cannot read the price file"),
        ("--gpu-price -1", "must be at least 0"),
    ):
        done = typing(f"{run} --output d {wrong}")
        assert (done.code, what in done.err.replace("\n", " ")) == (2, True), done.err
        assert not (typing.folder / "d").exists()
