"""The run folder: one writer, and a manifest that says when it cannot be read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError
from polymeter.store import folder as folders
from polymeter.store.folder import SCHEMA_VERSION, RunFolder, file_system, open_folder

CHILD = Path(__file__).with_name("lock_child.py")


def child(folder: Path, what: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(folder), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_second_process_is_refused_and_let_in_when_the_first_is_done(tmp_path: Path) -> None:
    lock = RunFolder(tmp_path / "run").lock()
    said, _ = child(tmp_path / "run", "once").communicate()
    assert "Another process is writing to this run folder." in said
    assert str(tmp_path / "run") in said
    lock.release()
    assert child(tmp_path / "run", "once").communicate()[0] == "locked\n"


def test_a_writer_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with child(tmp_path / "run", "hold") as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "locked\n"
        with pytest.raises(PlanError, match="Another process"):
            RunFolder(tmp_path / "run").lock()
        writer.kill()
    RunFolder(tmp_path / "run").lock().release()


def test_a_second_writer_in_the_same_process_is_refused(tmp_path: Path) -> None:
    lock = RunFolder(tmp_path).lock()
    with pytest.raises(PlanError, match="Wait for it, or stop it"):
        RunFolder(tmp_path).lock()
    lock.release()


def test_a_journal_on_a_network_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = tmp_path / "local"
    monkeypatch.setattr(folders, "file_system", lambda path: "ext4" if path == local else "nfs4")
    with pytest.raises(PlanError, match=r"network file system \(nfs4\).*--journal-dir"):
        RunFolder(tmp_path / "run").lock()
    RunFolder(tmp_path / "run", local).lock().release()


@pytest.mark.skipif(not Path("/proc/mounts").exists(), reason="only Linux tells")
def test_the_file_system_of_a_path_is_that_of_the_nearest_mount() -> None:
    assert file_system(Path("/proc/self")) == "proc"
    assert file_system(Path("/process")) == file_system(Path("/"))


def test_the_manifest_comes_back_with_its_schema_version(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert not folder.is_begun()
    folder.write_manifest({"status": "running"})
    assert folder.is_begun()
    assert folder.read_manifest() == {"schema_version": SCHEMA_VERSION, "status": "running"}


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1, None, "1"])
def test_another_schema_version_is_refused(tmp_path: Path, version: object) -> None:
    folder = RunFolder(tmp_path)
    folder.manifest.write_text(json.dumps({} if version is None else {"schema_version": version}))
    with pytest.raises(PlanError) as caught:
        folder.read_manifest()
    assert f"run.json has schema version {version!r}; this version of Polymeter reads" in str(caught.value)
    assert f"reads schema version {SCHEMA_VERSION}." in str(caught.value)
    assert caught.value.where == str(folder.manifest)
    assert "version of Polymeter that wrote it" in caught.value.hint


def test_a_folder_without_a_run_and_a_broken_manifest_say_so(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="There is no run folder at"):
        open_folder(tmp_path / "nothing")
    with pytest.raises(PlanError, match="is not a run folder") as caught:
        open_folder(tmp_path)
    assert caught.value.hint == "Name a folder with a run.json."
    RunFolder(tmp_path / "one").write_manifest({})
    with pytest.raises(PlanError, match="is not a run folder") as caught:
        open_folder(tmp_path)
    assert caught.value.hint == f"Name one of its run folders: {tmp_path / 'one'}."
    RunFolder(tmp_path).manifest.write_text('{"schema_version": 1')
    with pytest.raises(PlanError, match=r"run\.json is damaged: it is not valid JSON"):
        open_folder(tmp_path)
    with pytest.raises(PlanError, match="There is no finished run") as caught:
        RunFolder(tmp_path).read_results()
    assert "polymeter resume" in caught.value.hint


def test_a_folder_finds_its_journal_elsewhere(tmp_path: Path) -> None:
    RunFolder(tmp_path / "a").write_manifest({"journal_dir": str(tmp_path / "local")})
    RunFolder(tmp_path / "b").write_manifest({"journal_dir": None})
    assert open_folder(tmp_path / "a").journal.parent == tmp_path / "local"
    assert open_folder(tmp_path / "b").journal == tmp_path / "b" / "journal.db"


def test_runs_of_one_name_do_not_share_a_journal_in_one_folder(tmp_path: Path) -> None:
    journals = {RunFolder(tmp_path / place / "demo", tmp_path / "local").journal for place in ("one", "two")}
    assert len(journals) == 2
    assert {journal.parent for journal in journals} == {tmp_path / "local"}


def test_only_files_of_the_folder_have_checksums(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    for path in (folder.artifacts / "a b.json", folder.results, tmp_path / "outside.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (folder.artifacts / "link.json").symlink_to(tmp_path / "outside.json")
    outside = [str(tmp_path / "outside.json"), "../outside.json", "artifacts/link.json", "artifacts/none.json"]
    folder.write_manifest({"artifacts": ["artifacts/a b.json", *outside]})
    sums = json.loads(folder.manifest.read_text())["checksums"]
    assert sums.keys() == {"results.json", "artifacts/a b.json", "run.json", "sessions"}
