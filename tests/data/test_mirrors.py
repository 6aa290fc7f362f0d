"""Mirrors of a hub id: tried in order where the first id cannot be had."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest
from datasets.exceptions import DataFilesNotFoundError, DatasetNotFoundError
from huggingface_hub.errors import LocalEntryNotFoundError

from polymeter.core.errors import DataError
from polymeter.data.opening.mirrors import first_that_opens, for_mirror
from polymeter.data.source import Source, open_splits


class GatedRepoError(Exception):
    """The hub's error, which is known by name."""


def opening(*there: str, asked: list[str], cause: Exception | None = None) -> object:
    def opened(name: str) -> str:
        asked.append(name)
        if name in there:
            return name
        raise DataError(f"There is no {name}.") from cause

    return opened


def test_mirrors_are_tried_in_order() -> None:
    asked: list[str] = []
    got = first_that_opens(["a/x", "b/x", "c/x"], opening("c/x", asked=asked), is_absent=lambda error: True)
    assert got == "c/x"
    assert asked == ["a/x", "b/x", "c/x"]


def test_a_resumed_run_reads_the_mirror_that_it_began_with() -> None:
    asked: list[str] = []
    ids = ["a/x", "b/x"]
    assert first_that_opens(ids, opening(*ids, asked=asked), pinned={"b/x"}, is_absent=lambda error: True) == "b/x"
    assert asked == ["b/x"]


def test_without_any_the_error_is_that_of_the_first_and_names_all() -> None:
    with pytest.raises(DataError, match="There is no a/x") as missing:
        first_that_opens(["a/x", "b/x"], opening(asked=[]), is_absent=lambda error: True)
    assert "b/x" in missing.value.hint


def test_a_dataset_that_is_there_is_not_replaced() -> None:
    for is_absent, cause in ((False, None), (True, GatedRepoError())):
        asked: list[str] = []
        with pytest.raises(DataError):
            first_that_opens(
                ["a/x", "b/x"], opening("b/x", asked=asked, cause=cause), is_absent=lambda error, is_=is_absent: is_
            )
        assert asked == ["a/x"]


def test_a_commit_is_one_of_the_dataset_that_it_was_written_for() -> None:
    assert for_mirror({"revision": "0" * 40, "data_dir": "x"}) == {"data_dir": "x"}
    assert for_mirror({"revision": "v2"}) == {"revision": "v2"}


MISSING = DatasetNotFoundError("Dataset 'a/x' doesn't exist on the Hub or cannot be accessed.")
NO_ANSWER = ConnectionError("Couldn't reach 'a/x' on the Hub (TimeoutException)")


@pytest.mark.parametrize(
    ("error", "is_offline", "is_replaced"),
    [
        (MISSING, False, True),
        (NO_ANSWER, True, True),
        (NO_ANSWER, False, False),
        (LocalEntryNotFoundError("An error happened while trying to locate the file on the Hub."), False, False),
        (
            FileNotFoundError(
                "No file at a/x. Couldn't find 'a/x' on the Hugging Face Hub either: LocalEntryNotFoundError"
            ),
            False,
            False,
        ),
        (DatasetNotFoundError("Dataset 'a/x' is a gated dataset on the Hub."), False, False),
        (DatasetNotFoundError("Revision 'v9' doesn't exist for dataset 'a/x' on the Hub."), False, False),
        (DataFilesNotFoundError("No (supported) data files found in a/x"), False, False),
    ],
)
def test_a_mirror_replaces_a_missing_dataset_and_not_one_whose_hub_fails(
    error: Exception, is_offline: bool, is_replaced: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1" if is_offline else "0")
    rows = datasets.Dataset.from_list([{"a": 1}])

    def load(path: str, *words: object, **named: object) -> datasets.DatasetDict:
        if path == "a/x":
            raise error
        return datasets.DatasetDict(test=rows)

    monkeypatch.setattr("polymeter.data.source.load_files", load)
    source = Source("a/x", None, {}, tmp_path, mirrors=("b/x",))
    if is_replaced:
        assert len(open_splits(source, ["test"])["test"]) == 1
        return
    with pytest.raises(DataError, match="a/x"):
        open_splits(source, ["test"])
