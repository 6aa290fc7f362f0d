"""A bad place, a full disk or a damaged file ends a command with a message and exit code 2, and the run can go on."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import COMMAND, capitals, polymeter

RUN = ("run", "-m", "mock", "--tasks", "capitals", "--include-path", "tasks")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working directory with a task of three samples."""
    capitals(tmp_path / "tasks")
    return tmp_path


def check_message(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """The command ended with exit code 2 and a message that has all of some words."""
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr, result.stderr
    assert "Error: " in result.stderr
    for word in words:
        assert word in result.stderr


def finished_run(place: Path, *options: str) -> Path:
    result = polymeter(*RUN, "-o", "run", *options, cwd=place)
    assert result.returncode == 0, result.stderr
    return place / "run"


def interrupted_run(place: Path) -> Path:
    """A run that looks as if it had been interrupted."""
    run = finished_run(place)
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    return run


@pytest.mark.parametrize("output", ["a_file", "a_file/run", "/proc/run"])
def test_an_output_that_cannot_be_a_folder_is_a_message(place: Path, output: str) -> None:
    (place / "a_file").write_text("mine")
    check_message(polymeter(*RUN, "-o", output, cwd=place), output)
    assert (place / "a_file").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_without_permission_is_a_message(place: Path) -> None:
    (place / "closed").mkdir(mode=0o555)
    check_message(polymeter(*RUN, "-o", "closed/run", cwd=place), "closed")


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("resume", "run"), b"no database at all, " * 500),
        (("score", "run"), b"SQLite format 3\0" + b"\xff" * 8000),
        (("agree", "run", "run"), b"garbage"),
    ],
)
def test_a_damaged_journal_is_a_message_of_every_command(place: Path, words: tuple[str, ...], content: bytes) -> None:
    run = interrupted_run(place)
    for file in run.glob("journal.db*"):
        file.unlink()
    (run / "journal.db").write_bytes(content)
    check_message(polymeter(*words, cwd=place), "journal.db")


@pytest.mark.parametrize("words", [("resume", "run"), ("score", "run"), ("agree", "run", "run")])
def test_a_lost_journal_is_a_message_and_is_not_made_anew(place: Path, words: tuple[str, ...]) -> None:
    run = interrupted_run(place)
    for file in run.glob("journal.db*"):
        file.unlink()
    check_message(polymeter(*words, cwd=place), "journal")
    assert not (run / "journal.db").exists()


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("resume", "run"), b"[]"),
        (("resume", "run"), b'{"schema_version": 1}'),
        (("resume", "run"), b"[" * 100_000),
        (("score", "run"), b'{"schema_version": 1, "model": 3}'),
        (("agree", "run", "run"), b"\xff\xfe"),
        ((*RUN, "-o", "run"), b'{"schema_version": 1, "patterns": [], "status": 7}'),
    ],
)
def test_a_damaged_manifest_is_a_message_of_every_command(place: Path, words: tuple[str, ...], content: bytes) -> None:
    run = place / "run"
    run.mkdir()
    (run / "run.json").write_bytes(content)
    check_message(polymeter(*words, cwd=place), "run.json")


def test_a_damaged_run_can_be_thrown_away(place: Path) -> None:
    run = finished_run(place)
    (run / "run.json").write_text("garbage")
    (run / "journal.db").write_text("garbage")
    assert polymeter(*RUN, "-o", "run", "--restart", cwd=place).returncode == 0
    assert json.loads((run / "results.json").read_text())["tasks"]["capitals"]["n_scored"] == 3


@pytest.mark.parametrize("lost", ["run", "run/journal.db"])
def test_what_is_deleted_in_the_middle_of_a_run_ends_it_with_a_message(place: Path, lost: str) -> None:
    capitals(place / "tasks", n_rows=40)
    slow = ("-a", "delay_ms=50", "-b", "1")
    process = subprocess.Popen([*COMMAND, *RUN, *slow, "-o", "run"], cwd=place, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith("40 samples"):
            break
    path = place / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    said = "".join(lines) + process.communicate()[1]
    assert (process.returncode, "Traceback" in said) == (2, False), said
    assert "journal" in said


def small_files(most_bytes: int) -> None:
    """Let no file grow beyond a size, which a process sees as a disk that is full for this file."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def ended_samples(run: Path) -> set[int]:
    with sqlite3.connect(f"file:{run / 'journal.db'}?mode=ro", uri=True) as db:
        return {index for (index,) in db.execute("SELECT sample FROM samples WHERE seal IS NOT NULL")}


def test_a_journal_that_cannot_grow_ends_the_run_and_it_is_resumed_when_it_can(place: Path) -> None:
    capitals(place / "tasks", n_rows=2000)
    full = subprocess.run(
        [*COMMAND, *RUN, "-o", "run"],
        cwd=place,
        preexec_fn=lambda: small_files(400_000),
        capture_output=True,
        text=True,
        check=False,
    )
    check_message(full, "journal.db", "polymeter resume run")
    resumed = polymeter("resume", "run", cwd=place)
    assert resumed.returncode == 0, resumed.stderr
    assert len(ended_samples(place / "run")) == 2000


@pytest.mark.parametrize("blocked", ["results.json", "samples", "report.html"])
def test_a_file_that_cannot_be_written_at_the_end_leaves_a_run_that_is_resumed(place: Path, blocked: str) -> None:
    run = place / "run"
    run.mkdir()
    if blocked == "samples":
        (run / blocked).write_text("a file in the place of a folder")
    else:
        (run / blocked / "in_the_way").mkdir(parents=True)
    check_message(polymeter(*RUN, "-o", "run", cwd=place), blocked, "polymeter resume run")
    assert ended_samples(run) == {0, 1, 2}
    (run / blocked).unlink() if blocked == "samples" else shutil.rmtree(run / blocked)
    resumed = polymeter("resume", "run", cwd=place)
    assert resumed.returncode == 0, resumed.stderr
    assert (run / "results.json").is_file()
    assert (run / "report.html").is_file()


def test_a_media_folder_that_cannot_be_written_ends_the_run_and_fails_no_sample(place: Path) -> None:
    (place / "tasks" / "show.yaml").write_text(
        "task: show\ndataset_path: json\ndataset_kwargs: {data_files: {test: show.jsonl}}\ntest_split: test\n"
        "doc_to_visual: !function utils.visual\ndoc_to_text: '{{q}}'\ndoc_to_target: a\n"
        "generation_kwargs: {max_new_tokens: 4}\nmetric_list: [{metric: exact_match}]\n"
    )
    (place / "tasks" / "show.jsonl").write_text('{"q": "x", "a": "x"}\n')
    (place / "tasks" / "utils.py").write_text(
        "from PIL import Image\n\ndef visual(doc):\n    return [Image.effect_noise((600, 600), 80).convert('RGB')]\n"
    )
    words = ("run", "-m", "mock", "-a", "mode=echo", "--tasks", "show", "--include-path", "tasks", "-o", "run")
    (place / "run").mkdir()
    (place / "run" / "media").write_text("a file in the place of a folder")
    check_message(polymeter(*words, cwd=place), "media", "polymeter resume run")
    assert ended_samples(place / "run") == set()
    (place / "run" / "media").unlink()
    resumed = polymeter("resume", "run", cwd=place)
    assert resumed.returncode == 0, resumed.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, where this process may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this process may not mount a disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
@pytest.mark.parametrize(("size", "written"), [("400k", "journal.db"), ("700k", "capitals.jsonl")])
def test_a_full_disk_ends_the_run_wherever_it_is_and_it_is_resumed_with_space(
    place: Path, small_disk: Path, size: str, written: str
) -> None:
    capitals(place / "tasks", n_rows=600)
    subprocess.run(["mount", "-o", f"remount,size={size}", str(small_disk)], check=True)
    check_message(polymeter(*RUN, "-o", str(small_disk / "run"), cwd=place), written, "polymeter resume")
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    resumed = polymeter("resume", str(small_disk / "run"), cwd=place)
    assert resumed.returncode == 0, resumed.stderr
    assert len(ended_samples(small_disk / "run")) == 600


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
@pytest.mark.parametrize("words", [(*RUN, "-o", "disk/new"), ("resume", "disk/run"), ("agree", "disk/run", "disk/run")])
def test_a_read_only_disk_is_a_message_and_changes_nothing(
    place: Path, small_disk: Path, words: tuple[str, ...]
) -> None:
    interrupted_run(place).rename(place / "moved")
    shutil.copytree(place / "moved", small_disk / "run")
    before = sorted(small_disk.rglob("*"))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    check_message(polymeter(*words, cwd=place), "disk/")
    assert sorted(small_disk.rglob("*")) == before
