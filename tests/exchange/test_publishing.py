"""Publishing a run: which files lie there afterwards, that they are a run, and what a place that refuses comes to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import polymeter
from polymeter import PlanError
from polymeter.cli.main import main
from polymeter.store.exports.publishing import Destination
from tests.helpers.seen import Teller, measured


@pytest.fixture
def bucket() -> Iterator[MemoryFileSystem]:
    files = MemoryFileSystem()
    yield files
    for name in files.ls("/"):
        files.rm(name["name"], recursive=True)


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_is_published_is_a_run_folder(tmp_path: Path) -> None:
    result = measured(tmp_path, publish=str(tmp_path / "there" / "a"), journal_dir=tmp_path / "local")
    there = tmp_path / "there" / "a"
    assert (result.published, result.exit_code) == (polymeter.Published(str(there)), 1), "one sample fails by itself"
    assert names_in(there) == (names_in(result.folder.path) - {".lock"}) | {"journal.db"}
    for name in ("results.json", "report.html", "samples/seen.jsonl"):
        assert (there / name).read_bytes() == (result.folder.path / name).read_bytes(), name
    copy = polymeter.open_run(there)
    assert copy.folder.journal == there / "journal.db", "the copy names no place of another machine"
    assert [sample.id for sample in copy.samples()] == [sample.id for sample in result.samples()]
    assert "run.json is what was written" in polymeter.verify(there).facts, "the copy has checksums of its own"
    assert polymeter.resume(there, model=Teller(), publish="").results == result.results


def test_a_url_and_the_same_media_only_once(
    tmp_path: Path, bucket: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = measured(tmp_path, publish="memory://runs/a")
    assert json.loads(bucket.cat_file("/runs/a/run.json"))["status"] == "complete"
    media = list(bucket.find("/runs/a/media"))
    assert len(media) == len(names_in(first.folder.media)) > 0
    put: list[str] = []
    real = MemoryFileSystem.put_file

    def noted(self: Any, lpath: str, rpath: str, **more: Any) -> Any:
        put.append(rpath)
        return real(self, lpath, rpath, **more)

    monkeypatch.setattr(MemoryFileSystem, "put_file", noted)
    again = polymeter.resume(first.folder.path, model=Teller())
    assert again.published == polymeter.Published("memory://runs/a"), "a run that goes on is published where it was"
    assert "/runs/a/results.json" in put
    assert not [name for name in put if "/media/" in name]


def test_the_journal_is_whole_though_its_log_is_not_emptied(tmp_path: Path) -> None:
    result = measured(tmp_path)
    live = sqlite3.connect(result.folder.journal)
    live.execute("PRAGMA journal_mode=WAL")
    live.execute("CREATE TABLE late (x)")
    live.execute("INSERT INTO late VALUES (7)")
    live.commit()
    assert result.folder.path.joinpath("journal.db-wal").stat().st_size > 0, "what was written last lies in the log"
    Destination(str(tmp_path / "there")).publish(result.folder)
    live.close()
    copy = sqlite3.connect(f"file:{tmp_path}/there/journal.db?mode=ro", uri=True)
    assert copy.execute("SELECT x FROM late").fetchall() == [(7,)]
    copy.close()
    assert not {name for name in names_in(tmp_path / "there") if name.endswith(("-wal", "-shm", ".lock"))}


def test_another_run_is_never_mixed_in(tmp_path: Path, bucket: MemoryFileSystem) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    measured(tmp_path / "one", publish="memory://runs/a")
    before = bucket.cat_file("/runs/a/run.json")
    with pytest.raises(PlanError, match="Another run is published at memory://runs/a"):
        measured(tmp_path / "two", publish="memory://runs/a")
    assert not (tmp_path / "two" / "run" / "journal.db").exists(), "nothing was asked"
    with pytest.raises(PlanError, match="Another run"):
        measured(tmp_path / "one", publish="memory://runs/a", is_restart=True)
    assert bucket.cat_file("/runs/a/run.json") == before


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s33://bucket/a", "Unknown file system 's33'. [--publish] Did you mean 's3'"),
        ("s3://bucket/a", "The package 's3fs', needed by --publish s3://…, is not installed"),
        ("sftp://me:hunter2@host/a", "The sftp:// address contains a password"),
        ("/proc/nothing/a", "Trying to publish to /proc/nothing/a raised"),
    ],
)
def test_a_place_that_cannot_be_is_refused_before_anything_is_asked(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        measured(tmp_path, publish=url)
    assert said in str(refused.value), str(refused.value)
    assert "hunter2" not in str(refused.value)
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_place_that_refuses_later_leaves_the_run_whole(
    tmp_path: Path, bucket: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Any, *args: Any, **more: Any) -> None:
        raise ConnectionError("the bucket is on holiday")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", refuse)
        result = measured(tmp_path, publish="memory://runs/b")
    assert result.status == "complete"
    assert result.published is not None
    assert "the bucket is on holiday" in result.published.error
    assert result.exit_code == 1
    assert result.document()["published"]["error"], "programs are told, too"

    # What the message says to do works, and a run without failed samples is then a success.
    (tmp_path / "capitals.csv").write_text("country,capital\nPeru,Lima\n")
    (tmp_path / "capitals.yaml").write_text(
        f"task: capitals\ndataset_path: csv\ndataset_kwargs: {{data_files: {{test: {tmp_path}/capitals.csv}}}}\n"
        "test_split: test\noutput_type: generate_until\ndoc_to_text: '{{country}}'\ndoc_to_target: '{{capital}}'\n"
        "metric_list: [{metric: exact_match}]\n"
    )
    run = f"run -m mock --model-args mode=gold -t {tmp_path}/capitals.yaml -q -o {tmp_path}/c".split()
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", refuse)
        assert main([*run, "--publish", "memory://runs/c"]) == 1
    said = capsys.readouterr().err
    assert "Not published: Publishing the run to memory://runs/c raised ConnectionError: the bucket is on hol" in said
    assert f"polymeter resume {tmp_path}/c --publish memory://runs/c" in said
    assert main(["resume", f"{tmp_path}/c", "--publish", "memory://runs/c", "-q"]) == 0
    assert "published memory://runs/c" in capsys.readouterr().out
    assert bucket.exists("/runs/c/report.html")


def test_a_run_that_was_stopped_is_published_and_can_go_on_from_there(tmp_path: Path) -> None:
    stopped = measured(tmp_path, publish=str(tmp_path / "there"), max_errors=1, window=1)
    assert stopped.status == "stopped"
    there = tmp_path / "there"
    assert json.loads((there / "run.json").read_text())["status"] == "stopped"
    ended = polymeter.resume(there, model=Teller(), publish="", retry_errors=False)
    assert (ended.status, ended.published) == ("complete", None)
    (tmp_path / "whole").mkdir()
    whole = measured(tmp_path / "whole")
    assert ended.results["tasks"]["seen"]["results"] == whole.results["tasks"]["seen"]["results"]


def test_a_run_that_is_made_from_another_is_not_published_over_it(tmp_path: Path, bucket: MemoryFileSystem) -> None:
    first = measured(tmp_path, publish="memory://runs/d")
    before = bucket.cat_file("/runs/d/run.json")
    scored = polymeter.score(first.folder.path)
    assert (scored.status, scored.published) == ("complete", None)
    assert bucket.cat_file("/runs/d/run.json") == before
