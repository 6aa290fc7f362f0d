"""Pages about dataset classes and tables: what is known of them without running code."""

from pathlib import Path

import pytest

from polymeter.catalog.pages.judging import judge_need
from polymeter.cli.main import main
from tests.helpers.toy_datasets import write_class, write_table


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


def test_pages_say_what_classes_and_tables_ask_for(tmp_path: Path) -> None:
    write_class(tmp_path / "lib", "NUM_GENERATIONS = 3\n")
    write_table(tmp_path / "lib" / "ask.tsv", {"index": [0], "question": ["Why?"], "answer": ["So"]})
    command = ["docs", "Toy", "ask", "--include-path", str(tmp_path / "lib"), "--language", "en", "--no-samples"]
    assert main([*command, "--output", str(tmp_path / "pages")]) == 0
    toy, ask = ((tmp_path / "pages" / "en" / f"{name}.md").read_text() for name in ("Toy", "ask"))
    assert "generate an image" in toy
    assert "`NUM_GENERATIONS`: `3`" in toy
    assert "VQA" in ask


def test_a_class_whose_names_are_computed_is_not_run_for_its_page(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("raise RuntimeError('run')\nclass Mine(TextBaseDataset):\n    DATASET_URL = make()\n")
    pages = tmp_path / "pages"
    command = ["docs", "Mine", "--include-path", str(file), "--language", "en", "--no-samples"]
    assert main([*command, "--output", str(pages)]) == 0
    assert "Mine" in (pages / "en" / "Mine.md").read_text()


def test_code_that_makes_a_judge_may_need_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from ..smp import *\ndef rate(kw):\n    return build_judge(**kw)\n")
    assert judge_need("mine", {}, [file]) == "possible"


def test_listing_tells_types_and_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_class(tmp_path / "lib", "")
    (tmp_path / "lib" / "more.py").write_text("class More(TextBaseDataset):\n    DATASET_URL = make()\n")
    assert main(["tasks", "--include-path", str(tmp_path / "lib")]) == 0
    told = capsys.readouterr()
    assert "Toy" in told.out
    assert "T2I" in told.out
    assert "more.py:1: The names of the datasets of More are computed" in told.err
    assert main(["check", str(tmp_path / "lib" / "toy.py")]) == 2
    assert "defines neither evaluate nor evaluate_sample" in capsys.readouterr().out
