"""Folders of media with a table: what ``datasets`` takes and leaves without a word is told."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import pytest
from PIL import Image

from polymeter.data import Source, make_rows, media_folder_notes, open_splits
from polymeter.data.opening.explaining import SourceError

TABLE = "file_name,question,answer\n"


def notes(folder: Path, files: dict[str, str], builder: str = "imagefolder", split: str = "train") -> list[str]:
    """What is told about a folder with four images and some tables."""
    for number in range(4):
        path = folder / f"photos/{number}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), (number, 0, 0)).save(path)
    for name, text in files.items():
        path = folder / "photos" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    source = Source(builder, kwargs={"data_dir": "photos"}, directory=folder)
    opened = open_splits(source, [split], cache_dir=folder / "cache")
    return list(media_folder_notes(opened[split]))


def rows(*names: str) -> str:
    return TABLE + "".join(f"{name},q{number},a\n" for number, name in enumerate(names))


ALL = ("0.png", "1.png", "2.png", "3.png")


def test_a_whole_folder_is_not_remarked_on(tmp_path: Path) -> None:
    assert notes(tmp_path, {"metadata.csv": rows(*ALL)}) == []


def test_several_questions_about_each_file_are_not_remarked_on(tmp_path: Path) -> None:
    assert notes(tmp_path, {"metadata.csv": rows(*ALL, *ALL)}) == []


def test_a_folder_without_a_table_is_not_remarked_on(tmp_path: Path) -> None:
    assert notes(tmp_path, {}) == []


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"metadata.csv": rows(*ALL, "nope.png", "also.png")},
            [
                "2 of 6 rows name files that do not exist (nope.png, also.png). They are not sent to the model and "
                "fail. Correct the names"
            ],
        ),
        (
            {"metadata.csv": rows(*ALL, *(f"x{number}.png" for number in range(5)))},
            ["5 of 9 rows name files that do not exist (x0.png, x1.png, x2.png, …). They are not sent to the model"],
        ),
        ({"metadata.csv": rows("0.png", "1.png", "2.png", "3.PNG")}, ["Write '3.png' and not '3.PNG'.", "3.png"]),
        ({"metadata.csv": rows("0.png", "1.png", "2.png", "3.jpg")}, ["Write '3.png' and not '3.jpg'.", "3.png"]),
        (
            {"metadata.csv": rows("0.png", "3.png")},
            ["2 of its files have no row (1.png, 2.png) and are not measured"],
        ),
        (
            {"metadata.csv": rows("0.png", "1.png", "3.png")},
            ["1 of its files has no row (2.png) and is not measured"],
        ),
        ({"metadata.csv": rows(*ALL, "")}, ["1 of 5 rows: no file is named (row 5); they are asked without 'image'."]),
        (
            {"metadata.csv": TABLE + "".join(f"{name},q,a\n" for name in (*ALL, "2.png"))},
            ["1 × a row that occurs more than once (2.png)"],
        ),
        (
            {"metadata.csv": "file_name,word\n0.png,a\n1.png,b\n2.png,c\n3.png,d\n0.png,e\n"},
            ["1 of its files has several rows with different 'word' (0.png"],
        ),
        ({"labels.csv": rows(*ALL)}, ["labels.csv is not read", "metadata.csv"]),
        (
            {"metadata.jsonl": '{"file_name": "0.png", "a": "b"}\n{"file_name": "name.png", "a": "b"}\n'},
            ["(name.png)", "1.png, 2.png, 3.png"],
        ),
    ],
)
def test_what_is_left_out_or_counted_twice_is_told(tmp_path: Path, files: dict[str, str], told: list[str]) -> None:
    said = notes(tmp_path, files)
    assert all(note.startswith("photos: ") for note in said)
    assert len(said) <= len(told)
    for fragment in told:
        assert fragment in " ".join(said)


def test_names_are_told_as_the_table_writes_them(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as raised:
        notes(tmp_path, {"metadata.csv": rows("photos/0.png", "photos/1.png")})
    assert "None of the 2 files named in the rows of 'photos' exists: photos/0.png" in raised.value.what
    assert raised.value.hint == "Write '0.png' and not 'photos/0.png'."
    assert raised.value.key == "dataset_kwargs"


@pytest.mark.parametrize(
    ("files", "what", "hint"),
    [
        ({"metadata.csv": ""}, "photos/metadata.csv is empty (0 bytes)", "one of them file_name"),
        ({"metadata.csv": TABLE}, "photos/metadata.csv has column names and no rows", "below it"),
        ({"metadata.csv": "filename,a\n0.png,b\n"}, "has no column 'file_name'", "Rename 'filename' to 'file_name'."),
        ({"metadata.csv": "file_name;a\n0.png;b\n"}, "not separated by commas", "Save it separated by commas"),
        ({"metadata.csv": "file_name,a\n../0.png,b\n"}, "names '../0.png'", "relative to metadata.csv"),
        ({"metadata.csv": "file_name,a\n/tmp/0.png,b\n"}, "names '/tmp/0.png'", "such as '0.png'"),
        ({"metadata.jsonl": '{"file_name": "0.png"}\n{"f'}, "Line 2 of photos/metadata.jsonl", "Each line holds a row"),
        ({"metadata.csv": rows(*ALL), "metadata.jsonl": "{}\n"}, "metadata.jsonl", ""),
    ],
)
def test_a_table_that_cannot_be_used_is_named(tmp_path: Path, files: dict[str, str], what: str, hint: str) -> None:
    with pytest.raises(SourceError) as raised:
        notes(tmp_path, files)
    assert what in raised.value.what
    assert hint in raised.value.hint


def test_each_split_is_looked_at_by_itself(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / "photos" / split).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", (4, 4)).save(tmp_path / f"photos/{split}/{number}.png")
    source = Source("imagefolder", kwargs={"data_dir": "photos"}, directory=tmp_path)
    (tmp_path / "photos/train/metadata.csv").write_text(rows("0.png"))
    with pytest.raises(SourceError, match=r"for some of its splits only: photos/train/metadata\.csv"):
        open_splits(source, ["test"], cache_dir=tmp_path / "cache")
    (tmp_path / "photos/test/metadata.csv").write_text(rows("0.png", "1.png", "2.png"))
    assert media_folder_notes(open_splits(source, ["test"], cache_dir=tmp_path / "cache")["test"]) == ()


def test_a_folder_of_sounds_is_read_and_looked_at(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setparams((1, 2, 8000, 8, "NONE", "none"))
        file.writeframes(b"\0\1" * 8)
    (tmp_path / "photos/0.wav").write_bytes(sound.getvalue())
    (tmp_path / "photos/metadata.csv").write_text("file_name,word\n0.wav,a\ngone.wav,b\n")
    source = Source("audiofolder", kwargs={"data_dir": "photos"}, directory=tmp_path)
    opened = open_splits(source, ["train"], cache_dir=tmp_path / "cache")
    assert "(gone.wav)" in " ".join(media_folder_notes(opened["train"]))
    assert make_rows(opened["train"], what="split").full_doc(0)["audio"]["sampling_rate"] == 8000


def test_rows_of_files_that_are_no_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a\n1\n")
    source = Source("csv", kwargs={"data_files": "rows.csv"}, directory=tmp_path)
    assert media_folder_notes(open_splits(source, ["train"], cache_dir=tmp_path / "cache")["train"]) == ()
