"""What cells of images say. Nothing in them is ever run."""

import base64
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.errors import DataError
from polymeter.tasks.table.files.cells import image_in, read_images, read_paths, toliststr
from polymeter.tasks.table.files.image_files import write_images

LONG = "A" * 80
OTHER = "B" * 80


def encoded(kind="PNG", size=(5, 4), colour=(9, 8, 7)):
    buffer = io.BytesIO()
    pil.new("RGB", size, colour).save(buffer, kind)
    return buffer.getvalue()


def text(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", ["a"]),
        ("['a', 'b']", ["a", "b"]),
        ('["a"]', ["a"]),
        (["a", 1], ["a", "1"]),
        ("", [""]),
        ("[1, 2]", ["1", "2"]),
    ],
)
def test_cells_as_lists(value, expected):
    assert toliststr(value) == expected


@pytest.mark.parametrize(
    "value", ["[a, b]", "[__import__('os').getcwd()]", "[" * 300 + "]" * 300, 5, float("nan"), None]
)
def test_what_is_no_list_is_an_error_and_never_run(value):
    with pytest.raises(DataError, match=r"not a printed list|neither a text nor a list"):
        toliststr(value)


@given(st.lists(st.text(), min_size=0, max_size=5))
def test_a_printed_list_is_the_list(items):
    assert toliststr(repr(items)) == items


def test_references_lead_to_the_other_rows_image_which_is_held_once():
    found = read_images([1, 2, 3, "a"], [LONG, "1", "2", "1"])
    assert all(cell is found[0] for cell in found)


def test_lists_may_hold_references_and_share_what_they_lead_to():
    found = read_images([1, 2, 3], [LONG, str(["1", OTHER, "3"]), str([OTHER, "1"])])
    assert found == [LONG, [LONG, OTHER, OTHER, "1"], [OTHER, LONG]]
    assert found[1][0] is found[0]


def test_what_is_no_image_is_said_without_the_names_of_objects():
    with pytest.raises(DataError, match=r"^The base64 in row '1', column 'image' is not an image\. Encode image"):
        image_in(LONG, 1)


def test_references_may_stand_before_what_they_name_and_name_lists():
    assert read_images([1, 2], ["2", repr([LONG, OTHER])]) == [[LONG, OTHER], [LONG, OTHER]]


@pytest.mark.parametrize("cells", [["7", LONG], ["1", LONG], ["2", "1"], [float("nan"), LONG], ["2", float("nan")]])
def test_references_that_lead_nowhere_stay(cells):
    found = read_images([1, 2], cells)
    assert repr(found) == repr(cells)


def test_printed_lists_become_lists_and_single_ones_texts():
    assert read_images([1, 2, 3], [repr([LONG, OTHER]), repr([LONG]), "[broken"]) == [[LONG, OTHER], LONG, "[broken"]
    assert [read_paths(cell) for cell in ("a.png", "['a.png', 'b.png']", "[x")] == ["a.png", ["a.png", "b.png"], "[x"]


@pytest.mark.parametrize(
    ("kind", "suffix"), [("PNG", ".png"), ("JPEG", ".jpg"), ("WEBP", ".webp"), ("GIF", ".gif"), ("BMP", ".bmp")]
)
def test_an_image_keeps_its_bytes_and_gets_the_suffix_of_its_format(kind, suffix):
    data = encoded(kind)
    assert image_in(text(data), 1) == (data, suffix)
    assert image_in(f"data:image/x;base64,{text(data)}", 1) == (data, suffix)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("7", r"row 'r', column 'image' refers to row '7', which is missing or has no image"),
        ("abcd", r"refers to row 'abcd'"),
        ("!" + text(encoded()), r"The image in row 'r', column 'image' cannot be decoded: '!iVBOR.* is not base64"),
        (text(encoded())[:-2] + "é=", r"cannot be decoded"),
        (text(encoded())[:-3], r"cannot be decoded: .*(padding|number of data characters)"),
        (
            text(b"no image at all, but long enough to be one " * 3),
            r"The base64 in row 'r', column 'image' is not an image",
        ),
        ("data:text/plain,hello" + "x" * 60, r"row 'r', column 'image' cannot be decoded: The data URL"),
    ],
)
def test_bad_cells_name_row_and_column(cell, message):
    with pytest.raises(DataError, match=message):
        image_in(cell, "r")


def names(paths, root):
    return [path.removeprefix(f"{root}/") for path in paths]


@pytest.mark.parametrize(
    ("index", "count", "paths", "expected"),
    [
        (3, 1, None, ["3.png"]),
        ("val_12", 1, None, ["val_12.png"]),
        (3, 2, None, ["3_0.png", "3_1.png"]),
        (3, 1, "sub/own.jpg", ["sub/own.jpg"]),
        (3, 2, ["a.png", "b.png"], ["a.png", "b.png"]),
        (3, 2, "a.png", ["a_0.png", "a_1.png"]),
        (3, 1, "../../out.png", ["3.png"]),
        (3, 2, ["/etc/a.png", "x/../../b.png"], ["3_0.png", "3_1.png"]),
        (3, 1, float("nan"), ["3.png"]),
    ],
)
def test_names_of_files(index, count, paths, expected, tmp_path):
    cells = [text(encoded(colour=(i, 0, 0))) for i in range(count)]
    found = write_images(index, cells if count > 1 else cells[0], paths, tmp_path / "images")
    assert names(found, tmp_path / "images") == expected
    assert list(tmp_path.iterdir()) == [tmp_path / "images"]


def test_an_odd_index_stays_in_the_folder(tmp_path):
    (path,) = write_images("../../evil/\0x", text(encoded()), None, tmp_path / "images")
    assert list((tmp_path / "images").iterdir()) == [tmp_path / "images" / path.rsplit("/", 1)[1]]


def test_a_file_with_the_same_bytes_is_reused_and_one_with_others_is_left(tmp_path):
    first = write_images(1, text(encoded()), None, tmp_path)
    stamp = (tmp_path / "1.png").stat().st_mtime_ns
    assert write_images(1, text(encoded()), None, tmp_path) == first
    assert (tmp_path / "1.png").stat().st_mtime_ns == stamp
    (other,) = write_images(1, text(encoded(colour=(1, 1, 1))), None, tmp_path)
    assert other != first[0]
    assert (tmp_path / "1.png").read_bytes() == encoded()
    assert (tmp_path / other).read_bytes() == encoded(colour=(1, 1, 1))
    assert len(list(tmp_path.iterdir())) == 2


def test_paths_and_images_must_agree(tmp_path):
    with pytest.raises(DataError, match="There are 3 paths for 2 images in row '1', column 'image_path'"):
        write_images(1, [text(encoded())] * 2, ["a", "b", "c"], tmp_path)
    with pytest.raises(
        DataError, match=r"is in brackets, but is not a printed list. It stands in row '1', column 'image'"
    ):
        write_images(1, "[x, y]", None, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"Writing the image .*file/1\.png raised"):
        write_images(1, text(encoded()), None, tmp_path / "file")


def test_urls_are_left_to_whoever_fetches(tmp_path):
    assert write_images(1, "https://h/a.png", None, tmp_path) == ["https://h/a.png"]
