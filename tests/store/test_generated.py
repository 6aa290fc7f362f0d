"""Generated images are kept once, without loss, and come back as references to their files."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as pil
from PIL import ImageCms

from polymeter.core.errors import DataError
from polymeter.core.stored_image import StoredImage
from polymeter.store.media import MediaStore, media_path


@pytest.fixture
def store(tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path / "media")


def noise(mode: str) -> pil.Image:
    generator = np.random.default_rng(0)
    if mode == "I;16":
        return pil.fromarray(generator.integers(0, 65536, (7, 9), "uint16"))
    if mode == "RGBA":
        return pil.fromarray(generator.integers(0, 256, (7, 9, 4), "uint8"))
    return pil.fromarray(generator.integers(0, 256, (7, 9, 3), "uint8")).convert(mode)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_pixels_come_back_as_they_were(store: MediaStore, mode: str) -> None:
    image = noise(mode)
    back = store.load(store.keep_generated(image).path.name)
    assert (back.mode, back.size) == (image.mode, image.size)
    assert np.array_equal(np.asarray(back), np.asarray(image))
    assert back.convert("RGBA").tobytes() == image.convert("RGBA").tobytes(), "palettes come back too"


@pytest.mark.parametrize("mode", ["I", "F", "CMYK", "YCbCr", "HSV", "LAB", "RGBa", "PA"])
def test_what_a_png_cannot_hold_is_refused(store: MediaStore, mode: str) -> None:
    with pytest.raises(DataError, match=rf"mode '{mode}' cannot be stored without loss.*convert\('RGB'\)"):
        store.keep_generated(pil.new(mode, (4, 4)))
    assert not store.folder.exists()


def test_equal_pixels_are_one_file_whatever_else_an_image_carries(store: MediaStore, tmp_path: Path) -> None:
    image = noise("RGB")
    noted = image.copy()
    noted.info.update(Software="somebody", dpi=(300, 300))
    image.save(tmp_path / "a.webp", lossless=True)
    names = {store.keep_generated(one).path.name for one in (image, noted, pil.open(tmp_path / "a.webp"))}
    names.add(store.keep_generated(store.load(*names)).path.name)
    assert len(names) == 1
    assert len([path for path in store.folder.rglob("*") if path.is_file()]) == 1


def test_what_gives_pixels_their_colours_tells_images_apart(store: MediaStore) -> None:
    grey, red = pil.new("P", (2, 2)), pil.new("P", (2, 2))
    grey.putpalette([90, 90, 90])
    red.putpalette([200, 0, 0])
    clear = red.copy()
    clear.info["transparency"] = 0
    half, faint = pil.new("P", (2, 2)), pil.new("P", (2, 2))
    half.putpalette([200, 0, 0, 128], "RGBA")
    faint.putpalette([200, 0, 0, 9], "RGBA")
    profiled = pil.new("RGB", (2, 2))
    profiled.info["icc_profile"] = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    images = [
        grey,
        red,
        clear,
        half,
        faint,
        profiled,
        pil.new("RGB", (2, 2)),
        pil.new("RGB", (1, 4)),
        pil.new("L", (2, 6)),
    ]
    names = [store.keep_generated(image).path.name for image in images]
    assert len(set(names)) == len(images)
    assert store.load(names[1]).convert("RGB").getpixel((0, 0)) == (200, 0, 0)
    assert store.load(names[2]).convert("RGBA").getpixel((0, 0)) == (200, 0, 0, 0)


def test_a_stored_image_is_a_reference_until_it_is_looked_at(store: MediaStore) -> None:
    image = noise("RGB")
    name = store.keep_generated(image).path.name
    back = store.load(name)
    assert isinstance(back, StoredImage)
    assert back.size == (9, 7)
    assert not back.is_decoded
    assert len(pickle.dumps(back)) < 1000
    assert np.array_equal(np.asarray(pickle.loads(pickle.dumps(back))), np.asarray(image))


def test_an_image_that_is_gone_says_so(store: MediaStore) -> None:
    name = store.keep_generated(noise("RGB")).path.name
    media_path(store.folder, name).unlink()
    with pytest.raises(DataError, match=name):
        store.load(name)
