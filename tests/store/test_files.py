"""Files are replaced whole: a reader sees the old content or the new."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from polymeter.core.machine.files import replacing
from polymeter.store.folder import write_json, write_text


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_a_file_is_there_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "results.json"
    with replacing(path) as file:
        file.write("half")
        file.flush()
        assert not path.exists()
    assert path.read_text() == "half"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_the_old_file_survives_and_nothing_is_left_beside_it(tmp_path: Path, stop: type[BaseException]) -> None:
    path = tmp_path / "results.json"
    path.write_text("old")

    def write_half() -> None:
        with replacing(path) as file:
            file.write("new")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_json_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": 2, "b": object()})
    assert json.loads(path.read_text()) == {"a": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("umask")
def test_the_mode_respects_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_text(path, "x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.umask(0o027) == 0o027, "and the umask is as it was"


def test_the_umask_stays_as_it_is_whoever_writes_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask is that of all threads"))
    write_text(tmp_path / "a", "x")


def test_a_name_as_long_as_a_folder_takes_can_be_written(tmp_path: Path) -> None:
    write_text(tmp_path / ("a" * 250), "x")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["x"]


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    with replacing(tmp_path / "b", binary=True) as file:
        file.write(b"\r\n\xff")
    assert (tmp_path / "b").read_bytes() == b"\r\n\xff"


def test_a_json_file_holds_no_bare_nan_and_text_of_any_script_and_half_characters_come_back(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    value = {"nan": math.nan, "inf": math.inf, "text": "東京 ✓ ü", "half": "cut \ud83d"}
    write_json(path, value)
    back = json.loads(path.read_text(encoding="utf-8"))
    assert back == {**value, "nan": "NaN", "inf": "Infinity"}
    assert "東京" in path.read_text(encoding="utf-8")
