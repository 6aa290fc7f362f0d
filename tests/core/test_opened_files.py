"""Digests of the files behind an answer: that of an image's file is made once, from the bytes that were shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Image
from polymeter.core.errors import DataError
from polymeter.core.machine import opened_files
from polymeter.core.machine.opened_files import Noted, states_of
from polymeter.core.media.sources import digest, digest_file


@pytest.fixture
def read_again(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are read for a digest."""
    files: list[Path] = []

    def spy(path: Path) -> str:
        files.append(path)
        return digest_file(path)

    monkeypatch.setattr(opened_files, "digest_file", spy)
    return files


def digests(image: Image) -> list[str | None]:
    noted: Noted = {}
    image.note_files(noted)
    return [state.digest for state in states_of(noted)]


@pytest.mark.parametrize("source", [Path, str, lambda file: lambda: file], ids=["path", "text", "function"])
def test_an_image_of_a_file_is_digested_once(source: Any, tmp_path: Path, read_again: list[Path]) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(b"one")
    image = Image(source(file))
    found = image.content_hash()
    noted: Noted = {}
    opened_files.note(noted, file)
    assert found == digest(b"one")
    assert [state.digest for state in states_of(noted)] == [found]
    assert not read_again


def test_a_file_that_has_changed_since_is_read_again(tmp_path: Path, read_again: list[Path]) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(b"one")
    image = Image(file)
    image.content_hash()
    file.write_bytes(b"two")
    os.utime(file, ns=(1, 1))
    assert digests(image) == [digest(b"two")]
    assert read_again == [file]


def test_a_file_that_changes_while_it_is_read_has_no_state(
    tmp_path: Path, read_again: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(b"one")
    real, before = os.stat, os.stat(file)
    os.utime(file, ns=(1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", lambda path, **more: before if path == str(file) else real(path, **more))
        data, state = opened_files.read_file(str(file))
    assert (data, state) == (b"one", None)


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, os.mkfifo], ids=["nothing", "a folder", "a pipe"])
def test_what_is_no_file_is_said_as_before(make: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    make(path)
    with pytest.raises(DataError, match="does not exist"):
        Image(path).content_hash()
