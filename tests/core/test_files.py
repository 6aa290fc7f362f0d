"""Temporary files: what a dead process left is swept, what somebody may be writing is not."""

import errno
import io
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.machine.files import is_temporary, replacing, sweep, temporary_name, write_once


def name_of_a_dead_process():
    code = "from polymeter.core.machine.files import temporary_name; print(temporary_name('a.png'))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def put(path, age_s=0.0):
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_files_of_a_dead_process_go_and_those_of_a_live_one_stay(tmp_path):
    dead = put(tmp_path / name_of_a_dead_process())
    live = put(tmp_path / temporary_name("a.png"))
    assert sweep([tmp_path]) == 1
    assert (dead.exists(), live.exists()) == (False, True)


def test_a_file_of_another_machine_stays_until_nobody_has_written_to_it_for_an_hour(tmp_path):
    new = put(tmp_path / ".a.png.00000000-1-0123abcd.tmp", age_s=600)
    old = put(tmp_path / ".b.png.00000000-1-0123abcd.tmp", age_s=4000)
    assert sweep([tmp_path]) == 1
    assert (new.exists(), old.exists()) == (True, False)


@pytest.mark.parametrize("name", [".a.json.0123456789ab", ".0f.png.140234567890"])
def test_files_of_versions_that_did_not_name_their_process_go_after_an_hour_or_from_a_locked_folder(tmp_path, name):
    path = put(tmp_path / name)
    assert sweep([tmp_path]) == 0
    assert sweep([tmp_path], has_other_writers=False) == 1
    put(path, age_s=4000)
    assert sweep([tmp_path]) == 1


@pytest.mark.parametrize("name", [".lock", ".gitignore", "a.png", ".config.yaml", "a.1-2.tmp"])
def test_no_other_file_is_touched(tmp_path, name):
    put(tmp_path / name, age_s=100_000)
    assert not is_temporary(name)
    assert sweep([tmp_path, tmp_path / "not_there"], has_other_writers=False) == 0
    assert (tmp_path / name).exists()


def test_a_file_being_written_has_a_name_that_sweeping_knows(tmp_path):
    with replacing(tmp_path / ("x" * 200)) as file:
        (temporary,) = tmp_path.iterdir()
        assert is_temporary(temporary.name)
        assert sweep([tmp_path]) == 0
        file.write("done")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 200]


@pytest.mark.parametrize("has_links", [True, False])
def test_the_first_of_several_writers_writes_a_file(tmp_path, monkeypatch, has_links):
    def link(*_):
        raise PermissionError("the file system has no links")

    if not has_links:
        monkeypatch.setattr(os, "link", link)
    path = tmp_path / "new/a.png"
    assert [write_once(path, b"one"), write_once(path, b"other")] == [True, False]
    assert path.read_bytes() == b"one"
    assert [file.name for file in path.parent.iterdir()] == ["a.png"]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_full_disk_leaves_no_part_of_a_file_that_is_written_once(
    has_links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "image.png"
    if has_links:
        monkeypatch.setattr(Path, "write_bytes", full)
    else:
        monkeypatch.setattr(os, "link", full)
        monkeypatch.setattr(Path, "open", lambda self, mode: (FullFile if mode == "xb" else open)(self, mode))
    with pytest.raises(OSError, match="No space left"):
        write_once(path, b"one")
    assert [*tmp_path.iterdir()] == []


class FullFile(io.FileIO):
    """A file on a disk that is full once the file's first byte is there."""

    def write(self, data: Any) -> int:
        super().write(data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")
