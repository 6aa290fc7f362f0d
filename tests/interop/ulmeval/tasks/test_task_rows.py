"""What is wrong with rows is said so, and a table that was fetched for a class remembers it."""

from pathlib import Path

import pytest

import polymeter
from polymeter.store.exports.export import read_samples
from tests.helpers.toy_datasets import run_toy, samples_of, write_class, write_table


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


def test_what_is_wrong_with_the_data_is_called_so_also_when_it_is_found_in_scoring(tmp_path: Path) -> None:
    columns = {"index": [0, 1], "question": ["q", "q"], "A": ["1", "1"], "B": ["2", "2"], "answer": ["Z", "A"]}
    file = write_table(tmp_path / "choices.tsv", columns)
    run = polymeter.evaluate("mock", ["choices"], include_paths=(file,), output=tmp_path / "run")
    broken, fine = read_samples(run.folder, "choices")
    assert broken["error"]["kind"] == "data"
    assert "row '0', column 'answer'" in broken["error"]["message"]
    assert fine["status"] == "ok"
    body = "def evaluate_sample(self, line, prediction, **kw):\n    return 1 / 0\n"
    other = run_toy(write_class(tmp_path / "lib", body), tmp_path / "other", limit=1)
    assert samples_of(other)[0]["error"]["kind"] == "score"


def test_a_table_that_was_fetched_for_a_class_says_so_when_it_is_measured_without(tmp_path: Path) -> None:
    published = write_table(tmp_path / "web/Toy.tsv", {"index": [0], "prompt": ["a red circle"]})
    body = "def evaluate(self, eval_file, **kw):\n    return {'mine': 1}\n"
    file = write_class(tmp_path / "lib", body)
    (tmp_path / "LMUData/Toy.tsv").unlink()
    file.write_text(file.read_text().replace("{'Toy': ''}", f"{{'Toy': {published.as_uri()!r}}}"))
    with_class = run_toy(file, tmp_path / "with")
    assert not any("columns alone" in note for note in with_class.results["notes"])
    unscored = {"tsv": {"predict_only": True}}
    without = polymeter.evaluate("mock", ["Toy"], output=tmp_path / "without", dialect_options=unscored)
    (note,) = [note for note in without.results["notes"] if "columns alone" in note]
    assert "dataset class ToyDataset, which is not included" in note
