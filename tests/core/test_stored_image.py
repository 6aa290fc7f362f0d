"""Images that are files until somebody looks at them."""

import copy
import io
import pickle
from threading import Thread

import numpy as np
import pytest
from PIL import Image as pil
from PIL import ImageDraw

from polymeter.core.content import Image
from polymeter.core.errors import DataError
from polymeter.core.stored_image import StoredImage, open_stored, stored_image


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 255, (12, 20, 3), dtype=np.uint8)


@pytest.fixture
def path(tmp_path, pixels):
    pil.fromarray(pixels).save(tmp_path / "a.png")
    return tmp_path / "a.png"


@pytest.fixture
def stored(path):
    return open_stored(path)


def test_it_is_an_image_that_knows_its_size_without_decoding(stored):
    assert isinstance(stored, pil.Image)
    assert (stored.size, stored.width, stored.height, stored.mode, stored.getbands()) == (
        (20, 12),
        20,
        12,
        "RGB",
        (*"RGB",),
    )
    assert not stored.is_decoded


USES = {
    "asarray": np.asarray,
    "tobytes": lambda image: image.tobytes(),
    "getpixel": lambda image: image.getpixel((3, 4)),
    "resize": lambda image: image.resize((5, 5)),
    "crop": lambda image: image.crop((1, 1, 4, 4)),
    "convert": lambda image: image.convert("L"),
    "copy": lambda image: image.copy(),
    "transpose": lambda image: image.transpose(pil.Transpose.ROTATE_90),
    "split": lambda image: image.split()[1],
    "histogram": lambda image: image.histogram(),
    "getextrema": lambda image: image.getextrema(),
    "getcolors": lambda image: image.getcolors(1000),
    "point": lambda image: image.point(lambda value: 255 - value),
    "load": lambda image: image.load()[2, 3],
    "info": lambda image: image.info,
    "has_transparency_data": lambda image: image.has_transparency_data,
    "palette": lambda image: image.getpalette(),
}


@pytest.mark.parametrize("use", USES)
def test_every_use_gives_what_the_image_gives(path, use):
    def plain(value):
        return np.asarray(value).tolist() if isinstance(value, pil.Image) else value

    with pil.open(path) as picture:
        expected = plain(USES[use](picture.copy()))
    found = plain(USES[use](open_stored(path)))
    assert np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected


def test_palettes_and_transparency_are_those_of_the_file(tmp_path):
    picture = pil.new("P", (4, 4), 1)
    picture.putpalette([0, 0, 0, 9, 8, 7])
    picture.save(tmp_path / "p.png", transparency=1)
    stored = open_stored(tmp_path / "p.png")
    assert stored.convert("RGBA").getpixel((0, 0)) == (9, 8, 7, 0)


def test_saving_writes_the_pixels(stored, pixels, tmp_path):
    stored.save(tmp_path / "b.png")
    stored.resize((10, 6)).save(tmp_path / "c.jpg")
    buffer = io.BytesIO()
    stored.save(buffer, format="PNG")
    assert np.array_equal(np.asarray(pil.open(tmp_path / "b.png")), pixels)
    assert np.array_equal(np.asarray(pil.open(buffer)), pixels)


def test_it_pickles_as_a_reference(stored, pixels):
    data = pickle.dumps([stored])
    assert len(data) < 400
    assert not stored.is_decoded
    (found,) = pickle.loads(data)
    assert (type(found), found.is_decoded, found.size) == (StoredImage, False, (20, 12))
    assert np.array_equal(np.asarray(found), pixels)
    assert len(pickle.dumps([found])) < 400
    assert type(copy.deepcopy(found)) is StoredImage


CHANGES = {
    "putpixel": lambda image: image.putpixel((0, 0), (1, 2, 3)),
    "paste": lambda image: image.paste((9, 9, 9), (0, 0, 5, 5)),
    "thumbnail": lambda image: image.thumbnail((5, 5)),
    "draw": lambda image: ImageDraw.Draw(image).line((0, 0, 9, 9), (255, 0, 0)),
    "putalpha": lambda image: image.putalpha(7),
    "pixel access": lambda image: image.load().__setitem__((1, 1), (0, 0, 0)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_stays_in_memory_and_is_pickled_with_its_pixels(path, change):
    before = path.read_bytes()
    stored = open_stored(path)
    CHANGES[change](stored)
    found = pickle.loads(pickle.dumps(stored))
    assert type(found) is pil.Image
    assert (found.mode, found.size, found.tobytes()) == (stored.mode, stored.size, stored.tobytes())
    assert not hasattr(stored, "polymeter_bytes")
    assert path.read_bytes() == before


def test_an_image_part_passes_its_file_on_as_it_is(stored, path):
    assert Image(stored).encoded() == (path.read_bytes(), "image/png")
    assert Image(stored).open().size == (20, 12)


def test_no_file_stays_open(stored, path):
    np.asarray(stored)
    path.unlink()
    assert stored.getpixel((0, 0))


def test_a_missing_file_is_named_when_it_is_needed(path, tmp_path):
    with pytest.raises(DataError, match=r"The stored image .*no\.png does not exist"):
        open_stored(tmp_path / "no.png")
    stored = stored_image(path, (20, 12), "RGB")
    path.unlink()
    for use in (np.asarray, lambda image: image.save(tmp_path / "x.png"), lambda image: image.polymeter_bytes):
        with pytest.raises(DataError, match=r"The stored image .*a\.png does not exist"):
            use(stored)
    assert pickle.loads(pickle.dumps(stored)).size == (20, 12)


def test_a_file_that_is_no_image_any_more_is_named(path):
    stored = open_stored(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError, match=r"Decoding the stored image .*a\.png raised"):
        stored.tobytes()
    pil.new("RGB", (3, 3)).save(path)
    with pytest.raises(DataError, match="is 3x3, not 20x12"):
        stored.tobytes()


def test_an_attribute_that_no_image_has_is_missed(stored):
    with pytest.raises(AttributeError, match="'StoredImage' object has no attribute 'sizes'"):
        _ = stored.sizes
    assert not stored.is_decoded


def test_threads_may_look_at_it_together(stored, pixels):
    seen = []
    threads = [Thread(target=lambda: seen.append(stored.tobytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [pixels.tobytes()] * 8
