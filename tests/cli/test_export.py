"""``polymeter export`` as it is typed: what it lists, writes, says and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.kit import Typing
from tests.helpers.export_kit import CAPITALS, ROWS


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    typing = Typing(tmp_path, capsys)
    typing.write({"capitals.csv": ROWS, "capitals.yaml": CAPITALS})
    assert typing("run --model mock --model-args mode=gold --tasks capitals.yaml -q -o run").code == 0
    return typing


def test_it_writes_into_the_run_folder_and_says_what(typing: Typing) -> None:
    done = typing("export run --to jsonl")
    assert done.code == 0
    assert done.out.splitlines()[0] == "wrote    run/exports/jsonl/samples.jsonl"
    assert "Left out" in done.out
    assert Path("run/exports/jsonl/samples.jsonl").is_file()


def test_a_second_time_is_refused_and_force_replaces(typing: Typing) -> None:
    assert typing("export run --to csv --output out").code == 0
    refused = typing("export run --to csv --output out")
    assert refused.code == 2
    assert "The folder for the export is not empty." in refused.err
    assert typing("export run --to csv --output out --force").code == 0


def test_without_a_name_all_are_listed(typing: Typing) -> None:
    done = typing("export run")
    assert done.code == 0
    assert done.out.startswith("csv          one row for each sample, as CSV\n")
    assert "jsonl " in done.out


def test_a_run_that_is_verified_may_have_been_exported(typing: Typing) -> None:
    assert typing("export run --to jsonl").code == 0
    assert typing("verify run").code == 0
