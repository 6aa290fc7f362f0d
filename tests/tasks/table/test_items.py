"""Messages in ULMEvalKit's form: what becomes an image, what stays text, and the way to parts and back."""

from __future__ import annotations

import base64
import copy
import io
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from polymeter.core.content import Audio, Image, Text, Video
from polymeter.core.errors import DataError
from polymeter.core.media.showing import ImageRule
from polymeter.core.request import Generate, Message, Request
from polymeter.data.fetching import fetch
from polymeter.tasks.table.items import as_items, as_messages, as_parts, items_of


def png(colour: str = "red", size: tuple[int, int] = (4, 3)) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", size, colour).save(buffer, "PNG")
    return buffer.getvalue()


def data_url() -> str:
    return "data:image/png;base64," + base64.b64encode(png()).decode()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with an image, a text file, and a folder that is called like a prompt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apple.png").write_bytes(png())
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "dog").mkdir()
    (tmp_path / "cat.png").mkdir()
    return tmp_path


def asking(*parts: Any) -> Request:
    return Request((Message("user", parts),), Generate())


def test_a_text_is_one_text_also_when_it_names_a_file(here: Path) -> None:
    assert as_items("apple.png") == [{"type": "text", "value": "apple.png"}]
    assert as_items("a dog") == [{"type": "text", "value": "a dog"}]


@pytest.mark.parametrize(
    "text",
    ["a red dog", "dog", "cat.png", "notes.txt", "missing.png", "", "two\nlines.png", "x" * 5000 + ".png", "nul\0.png"],
)
def test_strings_of_a_list_that_name_no_image_are_text(here: Path, text: str) -> None:
    assert as_items([text]) == [{"type": "text", "value": text}]


def test_an_image_in_a_list_of_strings_is_found_from_where_the_caller_stands(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert as_items(["apple.png", "add another"]) == [
        {"type": "image", "value": str(here / "apple.png")},
        {"type": "text", "value": "add another"},
    ]
    monkeypatch.chdir(here / "dog")
    assert as_items(["apple.png"]) == [{"type": "text", "value": "apple.png"}]
    assert as_items(["../apple.png"])[0]["type"] == "image"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("http://example.org/a.jpg", "image"),
        ("https://example.org/a.PNG?size=3", "image"),
        ("https://example.org/a.webp", "image"),
        ("https://example.org/a.avif", "image"),
        ("https://example.org/page.html", "text"),
        ("https://example.org/", "text"),
        ("data:image/png;base64,AAAA", "image"),
        ("data:text/plain;base64,AAAA", "text"),
        ("https://[broken", "text"),
    ],
)
def test_urls_in_a_list_of_strings(text: str, kind: str) -> None:
    assert as_items([text]) == [{"type": kind, "value": text}]


def test_the_declared_type_wins_and_text_is_never_looked_up(here: Path) -> None:
    items = [{"type": "text", "value": name} for name in ("apple.png", "dog", "http://example.org/a.png", data_url())]
    assert as_items(items) == items


def test_nothing_that_is_passed_in_is_changed(here: Path) -> None:
    given = [{"type": "image", "value": "apple.png", "role": "user"}, {"type": "text", "value": "hello"}]
    before = copy.deepcopy(given)
    found = as_items(given)
    assert given == before
    assert found[0] == {"type": "image", "value": str(here / "apple.png"), "role": "user"}
    found[1]["value"] = "changed"
    assert given == before


def test_one_item_stands_for_a_list_of_one(here: Path) -> None:
    assert as_items({"type": "image", "value": "apple.png"}) == [{"type": "image", "value": str(here / "apple.png")}]
    assert as_items({"type": "image", "value": here / "apple.png"})[0]["value"] == str(here / "apple.png")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (None, "A message cannot be nothing. Give a text"),
        (3.5, "A message cannot be a float."),
        ([], "The message is empty."),
        (["a", {"type": "text", "value": "b"}], "Item 0 of a message cannot be a str beside other items."),
        ([["a"], "b"], "Item 0 of a message cannot be a list of 1 beside other items."),
        ({"type": "text"}, "The item of a message has no 'value'; it has 'type'."),
        ([{"kind": "text", "text": "a"}], "Item 0 of a message has no 'type' and no 'value'; it has 'kind', 'text'."),
        ([{"type": "imgae", "value": "a"}], "Item 0 of a message has the unknown type 'imgae'. Did you mean 'image'?"),
        ([{"type": "url", "value": "a"}], "Known: text, image, video, audio."),
        ([{"type": "text", "value": 5}], "Item 0 of a message is a text, but its value is an int."),
        ([{"type": "image", "value": 5}], "Item 0 of a message has the type 'image', but its value is an int."),
        ([{"type": "image", "value": "gone.png"}], "The image 'gone.png' does not exist."),
        ([{"type": "image", "value": "dog"}], "The image 'dog' does not exist."),
        ([{"type": "video", "value": b"x"}], "Item 0 of a message has the type 'video', but its value is a bytes."),
    ],
)
def test_errors_say_what_came(here: Path, message: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        as_items(message)
    assert said in str(caught.value)


def test_images_that_are_no_files_become_files_below_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "media"
    image = PIL.Image.new("RGBA", (3, 2), (1, 2, 3, 4))
    found = as_items(
        [{"type": "image", "value": value} for value in (data_url(), png(), image, png("blue"))], folder=folder
    )
    paths = [Path(item["value"]) for item in found]
    assert paths[0] == paths[1] != paths[3]
    assert paths[0].read_bytes() == png()
    assert paths[0].suffix == ".png"
    with PIL.Image.open(paths[2]) as stored:
        assert (stored.mode, stored.getpixel((0, 0))) == ("RGBA", (1, 2, 3, 4))
    assert sorted(folder.iterdir()) == sorted({*paths})
    assert as_items([data_url()])[0]["value"] == data_url()


def test_broken_data_urls_are_errors() -> None:
    item = {"type": "image", "value": "data:image/png;base64,@@@"}
    with pytest.raises(DataError, match="cannot be read"):
        as_parts(as_items([item]))


def test_parts_of_items(here: Path) -> None:
    (here / "v.mp4").write_bytes(b"video")
    items = as_items(
        [
            {"type": "image", "value": "apple.png"},
            {"type": "text", "value": "between"},
            {"type": "image", "value": data_url()},
            {"type": "image", "value": "https://example.org/a.png"},
            {"type": "video", "value": "v.mp4"},
            {"type": "audio", "value": "https://example.org/a.wav"},
        ]
    )
    first, text, second, third, video, audio = as_parts(items)
    assert isinstance(first, Image)
    assert first.source == here / "apple.png"
    assert first.size() == (4, 3)
    assert text == Text("between")
    assert isinstance(second, Image)
    assert second.source == png()
    assert isinstance(third, Image)
    assert third.source == "https://example.org/a.png"
    assert isinstance(video, Video)
    assert video.source == here / "v.mp4"
    assert isinstance(audio, Audio)
    assert audio.source == "https://example.org/a.wav"


def test_roles_make_messages() -> None:
    items = [
        {"type": "text", "value": "Be short.", "role": "system"},
        {"type": "text", "value": "a"},
        {"type": "text", "value": "b", "role": "user"},
        {"type": "text", "value": "c", "role": "assistant"},
    ]
    messages = as_messages(as_items(items))
    assert [(message.role, message.text) for message in messages] == [
        ("system", "Be short."),
        ("user", "ab"),
        ("assistant", "c"),
    ]
    with pytest.raises(DataError, match=r"There is no role 'sytem'\. Did you mean 'system'"):
        as_messages([{"type": "text", "value": "a", "role": "sytem"}])


def test_the_way_back_keeps_paths_and_writes_bytes_as_they_are(here: Path, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    PIL.Image.new("RGB", (9, 9), "green").save(buffer, "JPEG", quality=40)
    jpeg = buffer.getvalue()
    request = Request(
        (
            Message("system", (Text("Be exact."),)),
            Message("user", (Image(Path("apple.png")), Text("and"), Image(jpeg), Image(lambda: jpeg))),
        ),
        Generate(),
    )
    items = items_of(request, tmp_path / "media")
    assert items[0] == {"type": "text", "value": "Be exact.", "role": "system"}
    assert items[1] == {"type": "image", "value": str(here / "apple.png")}
    assert items[2] == {"type": "text", "value": "and"}
    assert Path(items[3]["value"]).read_bytes() == jpeg
    assert items[3]["value"].endswith(".jpg")
    assert items[4] == items[3]
    assert [part.modality for message in as_messages(items) for part in message.parts] == [
        "text", "image", "text", "image", "image",
    ]  # fmt: skip


def test_an_image_of_pixels_is_written_without_loss(tmp_path: Path) -> None:
    image = PIL.Image.new("RGB", (5, 4), (10, 200, 30))
    image.putpixel((2, 2), (11, 12, 13))
    (item,) = items_of(asking(Image(image)), tmp_path)
    with PIL.Image.open(item["value"]) as stored:
        assert (stored.mode, stored.tobytes()) == (image.mode, image.tobytes())


def test_what_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        items_of(asking(Image(tmp_path / "gone.png")), tmp_path)
    with pytest.raises(DataError, match="is not a file, but a wrapper accepts files only"):
        items_of(asking(Audio({"array": [0.0], "sampling_rate": 8000})), tmp_path)


def test_images_elsewhere_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, Path]] = []

    def fetched_image(url: str, folder: Path, *, is_offline: bool = False) -> Path:
        seen.append((url, folder))
        return folder / "fetched.png"

    monkeypatch.setattr(fetch, "fetched_image", fetched_image)
    url = "https://example.org/a.png"
    expected = [{"type": "image", "value": str(tmp_path / "fetched.png")}]
    assert items_of(asking(Image(url)), tmp_path) == expected
    assert as_items([url], folder=tmp_path) == expected
    assert seen == [(url, tmp_path), (url, tmp_path)]
    assert as_items([url]) == [{"type": "image", "value": url}]


def test_offline_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"example\.org"):
        items_of(asking(Image("https://example.org/never.png")), tmp_path)


def test_an_image_with_a_rule_is_written_as_the_rule_says(tmp_path: Path) -> None:
    file = tmp_path / "wide.png"
    PIL.Image.new("RGB", (40, 20), "red").save(file)
    image = Image(file, rule=ImageRule(max_side=10))
    (item,) = items_of(Request((Message("user", (image,)),), Generate()), tmp_path / "made")
    with PIL.Image.open(item["value"]) as shown:
        assert shown.size == (10, 5)
    assert image.sent is not None
