"""Paths whose names have another normal form of Unicode on the disk, texts that are no paths, decoders, frames."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as pil

from polymeter.core.content import Audio, Image, Video
from polymeter.core.media.sources import encoded_source, media_hash, on_disk, plain_source
from polymeter.data.audio import samples


@pytest.mark.parametrize("name", ["Größe.png", "Été/Größe.png", "Été/问题.png", "한국/ガ.png"])
@pytest.mark.parametrize(("here", "there"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_found_in_another_form(here: str, there: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / unicodedata.normalize(there, name)  # type: ignore[arg-type]
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert on_disk(str(tmp_path / unicodedata.normalize(here, name))) == str(file)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("é\0/x", "a null byte"),
        ("ä\ud800/x", "half a surrogate pair"),
        ("é/x", "a folder that does not exist"),
        ("é" * 300, "longer than any name"),
    ],
)
def test_a_text_that_is_no_path_is_itself(text: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert on_disk(text) == text, why
    assert on_disk(str(tmp_path / text)) == str(tmp_path / text), why


@pytest.mark.parametrize("text", ["描述这张图片。", "What is 問題?", "é" * 300, "résumé " * 99])
def test_no_folder_is_listed_for_a_text_without_other_forms(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []
    monkeypatch.setattr(os, "listdir", listed.append)
    assert on_disk(text) == text
    assert listed == []


class Decoder:
    """A decoder of a sound, as the package torchcodec makes it."""

    def __init__(self, values: list[float]) -> None:
        self._values = np.array([values], dtype=np.float32)

    def get_all_samples(self) -> SimpleNamespace:
        return SimpleNamespace(data=SimpleNamespace(numpy=lambda: self._values), sample_rate=8000)


def test_a_decoder_of_datasets_is_what_it_was_made_of(tmp_path: Path) -> None:
    decoder, other = Decoder([0.5]), Decoder([0.25])
    for each in (decoder, other):
        each._hf_encoded = {"bytes": b"RIFF", "path": None}  # type: ignore[attr-defined]
    assert encoded_source(decoder) == plain_source(decoder) == {"bytes": b"RIFF", "path": None}
    assert Audio(decoder).original_bytes() == b"RIFF"
    assert media_hash(decoder) == media_hash(other) == media_hash(b"RIFF")


def test_a_decoder_that_does_not_say_what_it_was_made_of_is_its_samples() -> None:
    decoder, same, other = Decoder([0.5, -0.5]), Decoder([0.5, -0.5]), Decoder([0.5, 0.25])
    assert encoded_source(decoder) is decoder
    assert media_hash(decoder) == media_hash(same) != media_hash(other)
    assert plain_source(decoder)["sampling_rate"] == 8000
    heard, rate = samples(decoder)
    assert (heard.tolist(), rate) == ([0.5, -0.5], 8000)
    assert samples(plain_source(decoder))[0].tolist() == [0.5, -0.5]


def frames(*reds: int) -> list[Any]:
    return [pil.new("RGB", (4, 2), (red, 0, 0)) for red in reds]


def cube(first: int) -> NDArray[np.uint8]:
    """Frames whose text shows nothing of the middle, where the two differ."""
    array = np.zeros((40, 60, 60, 3), "uint8")
    array[20, 30, 30, 0] = first
    return array


@pytest.mark.parametrize(
    "make",
    [
        lambda red: Video(frames(1, red)),
        lambda red: Video(tuple(frames(1, red))),
        lambda red: Video(cube(red)),
        lambda red: Video(list(cube(red))),
        lambda red: Video(frames(red)[0]),
        lambda red: Video([Image(one) for one in frames(1, red)]),
        lambda red: Audio({"array": Tensor(cube(red)), "sampling_rate": 8000}),
    ],
    ids=["list", "tuple", "array", "list of arrays", "one image", "list of parts", "tensor"],
)
def test_frames_and_samples_are_identified_by_their_pixels_and_numbers(make: Callable[[int], Audio | Video]) -> None:
    assert make(7).content_hash() == make(7).content_hash() != make(8).content_hash()


def test_frames_are_identified_in_their_order_and_shape() -> None:
    assert Video(frames(1, 2)).content_hash() != Video(frames(2, 1)).content_hash()
    flat = np.zeros((2, 3, 4, 3), "uint8")
    assert Video(flat).content_hash() != Video(flat.reshape(2, 4, 3, 3)).content_hash()


def test_an_object_that_only_has_an_address_is_like_no_other() -> None:
    source = object()
    video = Video(source)
    assert video.content_hash() == video.content_hash() != Video(source).content_hash()


class Tensor:
    """Numbers of a library whose arrays have no ``tobytes``."""

    def __init__(self, array: NDArray[np.uint8]) -> None:
        self._array = array

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[np.uint8]:
        return self._array
