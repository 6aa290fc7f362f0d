"""Datasets of ModelScope as adapters ask for them: whose files are read, which revision, and by whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import guest_context_with
from polymeter.data.fetching.modelscope import files_of_configs, open_repository
from polymeter.interop.evalscope.tasks.datasets import open_hub, snapshot
from tests.helpers.fake_modelscope import ModelScope, fake_modelscope


def lines(*answers: str) -> bytes:
    return "".join(json.dumps({"answer": answer}) + "\n" for answer in answers).encode()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelScope]:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("modelscope_hub._legacy_api.API_MAX_RETRIES", 1)
    with fake_modelscope() as hub:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", hub.url)
        yield hub


def answers(folder: Path, subset: str = "default", split: str = "test", **kwargs: Any) -> list[str]:
    """The answers in a split of ``made/colours``."""
    records = open_hub("made/colours", [subset], [split], str(folder), trust_remote_code=True, **kwargs)
    return [record["answer"] for record in records[subset][split]]


def test_a_file_that_is_no_split_by_its_name_is_the_whole(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"all.jsonl": lines("red", "blue")})
    assert answers(tmp_path, split="train") == ["red", "blue"]


def test_subsets_may_be_folders_or_splits(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"old/test.jsonl": lines("red"), "new/test.jsonl": lines("blue"), "odd.jsonl": lines("x")})
    assert answers(tmp_path, "new") == ["blue"]
    assert answers(tmp_path, "odd", split_as_subset=True) == ["x"]


def test_what_an_author_asks_of_the_reader_goes_to_it(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"some/a.jsonl": lines("red"), "some/b.jsonl": lines("blue")})
    assert answers(tmp_path, data_files={"test": "some/b.jsonl"}) == ["blue"]


def test_an_author_names_a_version_and_the_run_another(hub: ModelScope, tmp_path: Path) -> None:
    first = hub.add("made/colours", {"test.jsonl": lines("red")})
    second = hub.add("made/colours", {"test.jsonl": lines("blue")})
    hub.add("made/colours", {"test.jsonl": lines("green")})
    read: dict[str, str] = {}
    with guest_context_with(read_revisions=read):
        assert answers(tmp_path, version=first) == ["red"]
        assert read == {"made/colours": first}
        with guest_context_with(revisions={"made/colours": second}):
            assert answers(tmp_path, version=first) == ["blue"]
    assert answers(tmp_path) == ["green"]


def test_a_name_without_an_owner_is_one_of_modelscopes_own(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("modelscope/colours", {"test.jsonl": lines("red")})
    assert open_hub("colours", ["default"], ["test"], str(tmp_path))["default"]["test"] == [{"answer": "red"}]


def test_single_files_are_fetched_by_name_pattern_or_folder(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"a/1.jsonl": lines("red"), "a/2.txt": b"x", "b/3.jsonl": lines("blue"), "c.bin": b"y"})
    folder = Path(snapshot("made/colours", ["a/", "*.bin"], str(tmp_path), ""))
    found = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if not file.name.startswith("."))
    assert found == ["a", "a/1.jsonl", "a/2.txt", "c.bin"]


def test_a_listing_of_many_pages_is_read_whole(hub: ModelScope, tmp_path: Path) -> None:
    files = {f"test/{i:04}.txt": str(i).encode() for i in range(450)}
    hub.add("made/colours", files)
    assert len(list(Path(snapshot("made/colours", ["test/*"], str(tmp_path), "")).rglob("*.txt"))) == 450


def test_a_hub_without_commits_is_read_and_nothing_is_pinned(
    hub: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("made/colours", {"test.jsonl": lines("red")})
    listed = hub.listed
    monkeypatch.setattr(hub, "listed", lambda *args: [one | {"Revision": ""} for one in listed(*args)])
    read: dict[str, str] = {}
    with guest_context_with(read_revisions=read):
        assert answers(tmp_path) == ["red"]
    assert read == {}


def test_what_is_missing_is_told_by_its_name(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"test.jsonl": lines("red")})
    with pytest.raises(DataError, match="dev"):
        answers(tmp_path, split="dev")
    with guest_context_with(revisions={"made/colours": "nonsense"}), pytest.raises(DataError, match="revision"):
        answers(tmp_path)


def test_a_program_that_reads_a_dataset_runs_in_modelscopes_loader(
    hub: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("made/colours", {"colours.py": b"", "data.zip": b"x"})
    asked: list[dict[str, Any]] = []

    def load(**kwargs: Any) -> SimpleNamespace:
        asked.append(kwargs)
        return SimpleNamespace(to_hf_dataset=lambda: [{"answer": "red"}])

    package, loader = ModuleType("modelscope"), ModuleType("modelscope.msdatasets")
    loader.MsDataset = SimpleNamespace(load=load)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "modelscope", package)
    monkeypatch.setitem(sys.modules, "modelscope.msdatasets", loader)
    assert answers(tmp_path, "old") == ["red"]
    assert [(one["dataset_name"], one["subset_name"], one["split"]) for one in asked] == [
        ("made/colours", "old", "test")
    ]
    assert asked[0]["trust_remote_code"] is True
    monkeypatch.setitem(sys.modules, "modelscope.msdatasets", None)
    with pytest.raises(PlanError, match=r"a program of its own \(colours\.py\).*modelscope\[datasets\]"):
        answers(tmp_path)


def test_a_branch_that_moved_leaves_nothing_behind_however_a_fetch_ended(hub: ModelScope, tmp_path: Path) -> None:
    first = hub.add(
        "made/colours", {"test-00000-of-00002.jsonl": lines("old"), "test-00001-of-00002.jsonl": lines("old")}
    )
    snapshot("made/colours", ["test-00000*"], str(tmp_path), "")
    arriving = tmp_path / "datasets" / "made--colours" / "arriving" / first
    (arriving / "test-00001-of-00002.jsonl.incomplete").write_bytes(b'{"ans')
    assert answers(tmp_path) == ["old", "old"]
    second = hub.add("made/colours", {"test-00000-of-00001.jsonl": lines("new")})
    assert answers(tmp_path) == ["new"]
    with guest_context_with(is_offline=True):
        assert answers(tmp_path) == ["new"]
        for commit, there in ((first, ["old", "old"]), (second, ["new"])):
            with guest_context_with(revisions={"made/colours": commit}):
                assert answers(tmp_path) == there


def test_asking_for_a_branch_that_moved_takes_nothing_away(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"README.md": b"# 1", "test.jsonl": lines("old")})
    assert answers(tmp_path) == ["old"]
    hub.add("made/colours", {"README.md": b"# 2", "test.jsonl": lines("new")})
    files_of_configs(open_repository("made/colours", tmp_path), ["default"])  # as a fetch does before it is agreed to
    with guest_context_with(is_offline=True):
        assert answers(tmp_path) == ["old"]


@pytest.mark.parametrize(
    "path", ["../../../out.txt", "/out.txt", "a/../../out.txt", "C:/out.txt", "a\\..\\out.txt", "a//b.txt", "./a"]
)
def test_a_listing_cannot_lead_out_of_the_folder(path: str, hub: ModelScope, tmp_path: Path) -> None:
    hub.add("made/colours", {"test.jsonl": lines("red"), path: b"evil"})
    with pytest.raises(DataError, match="not a path within it"):
        answers(tmp_path / "cache" / "deep")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_without_checksums_a_file_of_the_same_size_is_that_of_its_commit(
    hub: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = hub.listed
    monkeypatch.setattr(hub, "listed", lambda *args: [one | {"Sha256": ""} for one in listed(*args)])
    hub.add("made/colours", {"test.jsonl": lines("red")})
    assert answers(tmp_path) == ["red"]
    hub.add("made/colours", {"test.jsonl": lines("tan")})
    assert answers(tmp_path) == ["tan"]


def test_an_empty_listing_is_no_dataset(hub: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("made/colours", {"test.jsonl": lines("red")})
    assert answers(tmp_path) == ["red"]
    monkeypatch.setattr(hub, "listed", lambda *args: [])
    with pytest.raises(DataError, match="lists no files"):
        answers(tmp_path)
    with guest_context_with(is_offline=True):
        assert answers(tmp_path) == ["red"]


def test_a_commit_that_is_named_is_recorded_whatever_it_has_changed(
    hub: ModelScope, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub.add("made/colours", {"test.jsonl": lines("red"), "more.jsonl": b""})
    removed = hub.add("made/colours", {"test.jsonl": lines("red")})
    read: dict[str, str] = {}
    with guest_context_with(read_revisions=read):
        assert answers(tmp_path) == ["red"]
        assert read == {}
        assert "does not report the commit" in caplog.text
        with guest_context_with(revisions={"made/colours": removed}):
            assert answers(tmp_path) == ["red"]
    assert read == {"made/colours": removed}


def test_ids_and_branches_that_look_alike_in_a_file_system_are_told_apart(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("a--b/c", {"test.jsonl": lines("one")})
    assert open_hub("a--b/c", ["default"], ["test"], str(tmp_path))["default"]["test"] == [{"answer": "one"}]
    with guest_context_with(is_offline=True), pytest.raises(DataError, match="not on this machine"):
        open_hub("a/b--c", ["default"], ["test"], str(tmp_path))


def test_folders_that_a_card_names_are_fetched_for_all_its_configurations(hub: ModelScope, tmp_path: Path) -> None:
    card = b"---\nconfigs:\n- config_name: one\n  data_dir: d1\n- config_name: two\n  data_dir: d2\n---\n"
    hub.add("made/colours", {"README.md": card, "d1/test.jsonl": lines("red"), "d2/test.jsonl": lines("blue")})
    assert answers(tmp_path, "one") == ["red"]
    assert answers(tmp_path, "two") == ["blue"]


def test_a_signed_address_is_not_shown(hub: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELSCOPE_ENDPOINT", "http://127.0.0.1:9/?token=hunter2")
    with pytest.raises(DataError) as raised:
        answers(tmp_path)
    assert "hunter2" not in str(raised.value)


def test_what_the_client_says_in_chinese_is_said_in_english(
    hub: ModelScope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from modelscope_hub.errors import RequestTimeoutError

    def fail(*_: object, **__: object) -> None:
        raise RequestTimeoutError("下载总时限已耗尽")

    monkeypatch.setattr("modelscope_hub._legacy_api.LegacyClient.list_repo_files", fail)
    with pytest.raises(DataError, match=r"about dataset made/colours failed: no answer in time.*--data made/colours="):
        answers(tmp_path)
