"""Media of a run: addressed by content, written once, and never served from outside the folder."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.core.content import Audio, Image, Video
from polymeter.core.errors import DataError
from polymeter.store.media import (
    AUDIO_BYTES,
    PREVIEW_SIDE_PX,
    UNCHANGED_BYTES,
    UNCHANGED_BYTES_IF_SMALL,
    VIDEO_BYTES,
    MediaStore,
    media_path,
    media_size,
    read_media,
)


def noise(width: int, height: int, mode: str = "RGB") -> pil.Image:
    """A image that does not compress."""
    pixels = np.random.RandomState(0).randint(0, 256, (height, width, 3), dtype=np.uint8)
    return pil.fromarray(pixels).convert(mode)


def file_bytes(image: pil.Image, kind: str = "JPEG") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=kind)
    return buffer.getvalue()


SMALL = file_bytes(pil.new("RGB", (40, 30), "teal"))
LARGE = file_bytes(noise(1600, 800))


@pytest.fixture
def store(tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path / "media")


def files(store: MediaStore) -> list[Path]:
    return sorted(path for path in store.folder.rglob("*") if path.is_file())


def test_the_sizes_here_are_small_and_large() -> None:
    assert len(SMALL) <= UNCHANGED_BYTES < len(LARGE)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_a_small_image_is_its_own_preview(store: MediaStore, kind: str) -> None:
    data = file_bytes(pil.new("RGB", (40, 30), "teal"), kind)
    image = Image(data)
    store.keep_preview(image)
    assert image.note is not None
    assert (image.note["width"], image.note["height"]) == (40, 30)
    (path,) = files(store)
    assert path == media_path(store.folder, image.note["file"])
    assert path.read_bytes() == data
    assert path.stem == image.content_hash()


def test_a_large_image_gets_a_smaller_preview_of_the_same_shape(store: MediaStore) -> None:
    image = Image(LARGE)
    store.keep_preview(image)
    assert image.note is not None
    assert (image.note["width"], image.note["height"]) == (1600, 800), "the note tells of the image itself"
    preview = store.load(image.note["file"])
    assert preview.size == (PREVIEW_SIDE_PX, PREVIEW_SIDE_PX // 2)
    assert (read_media(store.folder, image.note["file"]) or (b"", ""))[1] == "image/jpeg"
    assert files(store)[0].stat().st_size < len(LARGE)
    assert image.open().size == (1600, 800), "and the image itself stays as it was"


def test_an_image_no_larger_than_a_preview_is_kept_as_it_is_though_its_bytes_are_many(store: MediaStore) -> None:
    data = file_bytes(noise(640, 480))
    assert UNCHANGED_BYTES < len(data) <= UNCHANGED_BYTES_IF_SMALL
    image = Image(data)
    store.keep_preview(image)
    assert files(store)[0].read_bytes() == data
    assert not image.is_decoded
    whole = Image(file_bytes(noise(640, 480), "PNG"))
    store.keep_preview(whole)
    assert (whole.note or {})["file"].endswith(".preview.jpg")


def test_a_large_jpeg_is_not_decoded_whole_for_its_preview(store: MediaStore) -> None:
    image = Image(LARGE)
    store.keep_preview(image)
    assert not image.is_decoded
    decoded = Image(LARGE, key="decoded before")
    decoded.open()
    store.folder.rename(store.folder.with_name("other"))
    other = MediaStore(store.folder)
    other.keep_preview(decoded)
    assert other.load((decoded.note or {})["file"]).size == (PREVIEW_SIDE_PX, PREVIEW_SIDE_PX // 2)


def test_a_preview_stands_upright(store: MediaStore) -> None:
    image = noise(1600, 800)
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", exif=exif)
    image = Image(buffer.getvalue())
    store.keep_preview(image)
    note = image.note or {}
    assert (note["width"], note["height"]) == (800, 1600)
    assert store.load(note["file"]).size == (PREVIEW_SIDE_PX // 2, PREVIEW_SIDE_PX)


@pytest.mark.parametrize("mode", ["RGBA", "P", "L", "1", "CMYK", "LA"])
def test_pixels_of_any_mode_have_a_preview(store: MediaStore, mode: str) -> None:
    image = Image(noise(900, 10, "L" if mode == "LA" else "RGB").convert(mode))
    store.keep_preview(image)
    assert image.note is not None
    assert store.load(image.note["file"]).width == PREVIEW_SIDE_PX


def test_equal_images_share_one_file_which_is_written_once(store: MediaStore) -> None:
    first, second = Image(SMALL, key="row 1"), Image(SMALL, key="row 2")
    store.keep_preview(first)
    (path,) = files(store)
    path.write_bytes(b"left alone")
    store.keep_preview(second)
    assert first.note == second.note
    assert files(store) == [path]
    assert path.read_bytes() == b"left alone"


def test_many_threads_that_keep_the_same_image_leave_one_whole_file(store: MediaStore) -> None:
    threads = [threading.Thread(target=lambda: store.keep_preview(Image(SMALL))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_bytes() for path in files(store)] == [SMALL]


def test_an_image_is_looked_at_once(store: MediaStore) -> None:
    image = Image(SMALL)
    store.keep_preview(image)
    image.release()
    store.keep_preview(image)
    assert image.held_bytes() == 0


def test_without_previews_nothing_is_written_and_the_size_is_still_known(tmp_path: Path) -> None:
    store = MediaStore(tmp_path / "media", keeps_previews=False)
    image = Image(SMALL)
    store.keep_preview(image)
    assert image.note == {"width": 40, "height": 30}
    assert not store.folder.exists()


def test_an_image_that_is_corrupt_has_no_preview(store: MediaStore) -> None:
    image = Image(b"\xff\xd8\xff corrupt")
    with pytest.raises(DataError):
        store.keep_preview(image)
    assert image.note is None
    assert not store.folder.exists()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "1", "P", "I;16"])
def test_a_generated_image_is_kept_without_loss(store: MediaStore, mode: str) -> None:
    image = pil.new("I;16", (9, 7), 40_000) if mode == "I;16" else noise(9, 7).convert(mode)
    name = store.keep_generated(image).path.name
    back = store.load(name)
    assert (back.mode, back.size, back.tobytes()) == (image.mode, image.size, image.tobytes())
    assert store.keep_generated(image.copy()).path.name == name
    assert len(files(store)) == 1


def test_what_is_kept_of_a_medium_nobody_looked_at_is_its_source(store: MediaStore) -> None:
    assert store.describe(Image("/data/a.png")) == {"source": "/data/a.png"}
    assert store.describe(Video(b"", key="set:3")) == {"source": "set:3"}
    image = Image(SMALL)
    store.keep_preview(image)
    assert store.describe(image) == image.note


def test_a_sound_is_kept_as_it_is_if_it_is_small_and_browsers_play_it(store: MediaStore, tmp_path: Path) -> None:
    wave = b"RIFF\0\0\0\0WAVE" + b"\0" * 100
    sounds = [Audio(wave), Audio({"bytes": wave, "path": "x.wav"}), Audio(wave + b"\0" * AUDIO_BYTES), Audio(b"?")]
    for sound in sounds:
        store.keep_audio(sound)
    first, same, large, unknown = (sound.note or {} for sound in sounds)
    assert first["file"] == same["file"]
    assert read_media(store.folder, first["file"]) == (wave, "audio/wav")
    assert "file" not in large
    assert "file" not in unknown


def test_a_strip_of_frames_tells_of_the_video_itself(store: MediaStore, tmp_path: Path) -> None:
    (tmp_path / "clip.avi").write_bytes(b"RIFF\0\0\0\0AVI ")
    video = Video(str(tmp_path / "clip.avi"))
    store.keep_strip(video, pil.new("RGB", (400, 50)), width=1920, height=1080, duration_s=3.5)
    note: dict[str, Any] = dict(video.note or {})
    assert store.load(note.pop("file")).size == (400, 50)
    assert note == {"source": str(tmp_path / "clip.avi"), "width": 1920, "height": 1080, "duration_s": 3.5}


@pytest.mark.parametrize(
    ("head", "mime"),
    [(b"\0\0\0\x18ftypisom", "video/mp4"), (b"\x1aE\xdf\xa3", "video/webm"), (b"RIFF\0\0\0\0AVI ", "")],
)
def test_a_video_is_kept_as_it_is_if_it_is_small_and_browsers_play_it(
    store: MediaStore, head: bytes, mime: str
) -> None:
    frames = pil.new("RGB", (400, 50))
    small, large = Video(head + b"\0" * 100), Video(head + b"\0" * VIDEO_BYTES)
    for video in (small, large):
        store.keep_strip(video, frames, width=64, height=48, duration_s=None)
    kept = (small.note or {}).get("clip")
    assert (kept is not None) == bool(mime)
    assert kept is None or read_media(store.folder, kept) == (head + b"\0" * 100, mime)
    assert "clip" not in (large.note or {})


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_its_type(store: MediaStore) -> None:
    image = Image(SMALL)
    store.keep_preview(image)
    assert read_media(store.folder, (image.note or {})["file"]) == (SMALL, "image/jpeg")


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../run.json", "../../secret.txt", "aa/../../../secret.txt", "gone.png", "a\0b", "ab", "/"],
)
def test_no_name_leads_out_of_the_folder(store: MediaStore, name: str) -> None:
    store.keep_generated(pil.new("RGB", (2, 2)))
    (store.folder.parent / "run.json").write_text("{}")
    (store.folder.parent / "secret.txt").write_text("key")
    assert read_media(store.folder, name) is None


def test_neither_does_a_full_path_or_a_link(store: MediaStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("key")
    assert read_media(store.folder, str(secret)) is None
    (store.folder / "li").mkdir(parents=True)
    (store.folder / "li" / "link.png").symlink_to(secret)
    assert read_media(store.folder, "link.png") is None


@pytest.mark.parametrize("linked", ["the file", "its folder"])
def test_neither_does_a_link_with_a_name_as_media_files_have(store: MediaStore, tmp_path: Path, linked: str) -> None:
    name = "0123456789abcdef0123456789abcdef.png"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / name).write_text("key")
    store.folder.mkdir(parents=True)
    if linked == "its folder":
        (store.folder / name[:2]).symlink_to(outside)
    else:
        (store.folder / name[:2]).mkdir()
        (store.folder / name[:2] / name).symlink_to(outside / name)
    assert read_media(store.folder, name) is None
    assert media_size(store.folder, name) is None
