"""Where records come from."""

import json
from pathlib import Path

import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import guest_context_with
from polymeter.interop.evalscope.tasks.datasets import fingerprint_of, local_place, open_disk, open_hub

ROWS = [{"q": "a", "n": 1}, {"q": "b", "n": 2}]


def jsonl(file: Path, rows=ROWS) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize(
    "name", ["cats/test.jsonl", "cats_test.jsonl", "test.jsonl", "data/test-00000-of-00001.jsonl", "cats_test.csv"]
)
def test_files_of_a_subset_and_a_split(tmp_path: Path, name: str) -> None:
    if name.endswith(".csv"):
        (tmp_path / name).write_text("q,n\na,1\nb,2\n")
    else:
        jsonl(tmp_path / name)
    with guest_context_with(cache_dir=tmp_path / "cache"):
        assert open_disk(str(tmp_path), ["cats"], ["test"]) == {"cats": {"test": ROWS}}


def test_a_file_of_the_split_is_not_taken_for_each_of_several_subsets(tmp_path: Path) -> None:
    jsonl(tmp_path / "test.jsonl")
    with pytest.raises(DataError, match=r"no records of subset 'cats', split 'test'.*cats/test and cats_test with"):
        open_disk(str(tmp_path), ["cats", "dogs"], ["test"])


def test_split_as_subset(tmp_path: Path) -> None:
    jsonl(tmp_path / "cats.jsonl")
    with guest_context_with(cache_dir=tmp_path / "cache"):
        found = open_disk(str(tmp_path), ["cats"], ["test"], split_as_subset=True)
    assert found == {"cats": {"test": ROWS}}


def test_an_id_of_hugging_face_by_local_files_of_a_subset(tmp_path: Path) -> None:
    jsonl(tmp_path / "test.jsonl")
    with guest_context_with(data={"org/set:cats": str(tmp_path)}, cache_dir=tmp_path / "cache"):
        opened = open_hub("org/set", ["cats"], ["test"], None, datasets_hub="huggingface")
    assert opened == {"cats": {"test": ROWS}}


def test_hubs_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"no dataset hub 'huggingfase'.*Did you mean 'huggingface'"):
        open_hub("x", ["a"], ["b"], None, datasets_hub="huggingfase")
    with pytest.raises(DataError, match="no local file or folder 'x'"):
        open_hub("x", ["a"], ["b"], None, datasets_hub="local")


def test_local_files_in_place_of_an_id(tmp_path: Path) -> None:
    with guest_context_with(data={"org/set": str(tmp_path), "org/gone": str(tmp_path / "gone")}):
        assert local_place("org/set") == str(tmp_path)
        assert local_place("org/other") == "org/other"
        with pytest.raises(DataError, match="--data org/gone="):
            local_place("org/gone")
    assert local_place("org/set") == "org/set"


def test_fingerprints_follow_content() -> None:
    assert fingerprint_of(ROWS) == fingerprint_of([dict(row) for row in ROWS])
    assert fingerprint_of(ROWS) != fingerprint_of(ROWS[::-1])
    assert fingerprint_of(["a", "b"]) != fingerprint_of(["a", "c"])
