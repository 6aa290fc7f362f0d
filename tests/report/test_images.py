"""Images that are scaled down for a report: upright, in their order, and in sizes that can be looked at."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image as pil

from polymeter.report import images
from polymeter.report.images import EmbeddedImages, embed


def encoded(
    size: tuple[int, int],
    kind: str = "JPEG",
    mode: str = "RGB",
    seed: int = 0,
    *,
    is_turned: bool = False,
    grain: int = 160,
) -> bytes:
    coarse = np.random.default_rng(seed).integers(0, 256, (grain, grain, 3), dtype=np.uint8)
    image = pil.fromarray(coarse).resize(size).convert(mode)
    exif = pil.Exif()
    if is_turned:
        exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, format=kind, exif=exif, quality=95)
    return buffer.getvalue()


def embedded(files: dict[str, bytes], mime: str = "image/jpeg", budget: int | None = None) -> EmbeddedImages:
    if budget is None:
        budget = sum(map(len, files.values()))  # less than they take as text
    return embed(files, lambda name: (files[name], mime) if name in files else None, budget)


def opened(uri: str) -> pil.Image:
    return pil.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ((640, 480), (320, 240)),
        ((768, 512), (384, 256)),
        ((600, 1200), (150, 300)),
        ((1000, 900), (448, 403)),
        ((500, 400), (448, 358)),
        ((3000, 40), (375, 5)),
        ((5000, 2500), (448, 224)),
    ],
)
def test_jpegs_are_decoded_at_a_fraction_that_can_be_shown(size: tuple[int, int], shown: tuple[int, int]) -> None:
    found = embedded({"a": encoded(size)})
    assert found.n_smaller == 1
    width, height = opened(found.uris["a"]).size
    assert abs(width - shown[0]) <= 1
    assert abs(height - shown[1]) <= 1


@pytest.mark.parametrize("size", [(640, 480), (1000, 400)])
def test_turned_jpegs_are_upright(size: tuple[int, int]) -> None:
    shown = opened(embedded({"a": encoded(size, is_turned=True)}).uris["a"])
    assert shown.height > shown.width


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_other_colours_are_shown(mode: str) -> None:
    whole = encoded((640, 480), mode=mode, grain=16)
    shown = opened(embedded({"a": whole}).uris["a"])
    right = pil.open(io.BytesIO(whole)).convert("RGB").resize(shown.size)
    assert np.abs(np.asarray(shown, dtype=float) - np.asarray(right, dtype=float)).mean() < 6


def test_what_is_transparent_stays_so() -> None:
    found = embedded({"a": encoded((512, 512), "PNG", "RGBA")}, "image/png")
    assert found.uris["a"].startswith("data:image/webp")
    assert opened(found.uris["a"]).size == (448, 448)


def test_many_images_keep_their_order_and_their_budget() -> None:
    files = {f"{seed}.jpg": encoded((640, 480), seed=seed) for seed in range(40)}
    all_of_them = embedded(files, budget=sum(map(len, files.values())))
    assert list(all_of_them.uris) == list(files)
    budget = sum(len(uri) for uri in all_of_them.uris.values()) // 2
    some = embedded(files, budget=budget)
    assert sum(len(uri) for uri in some.uris.values()) <= budget
    assert some.n_left_out == 40 - len(some.uris) > 0
    for name, uri in some.uris.items():
        assert uri == all_of_them.uris[name]


def test_a_jpeg_that_is_cut_off_is_embedded_as_it_is() -> None:
    whole = encoded((1000, 1000))
    found = embed(["a"], lambda name: (whole[:-2000], "image/jpeg"), len(whole))
    assert found.n_smaller == 0


def test_what_fits_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_smaller", None)
    whole = encoded((640, 480))
    found = embedded({"a": whole}, budget=10 * len(whole))
    assert base64.b64decode(found.uris["a"].partition(",")[2]) == whole
