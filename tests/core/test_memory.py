"""What Pillow keeps of freed images: some, never many bytes, and nothing once a run is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PIL import Image as pil

from polymeter.core import memory
from polymeter.engine.memory import Trimmer

MB = 2**20


@pytest.fixture(autouse=True)
def blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("PILLOW_BLOCKS_MAX", raising=False)
    before = pil.core.get_blocks_max()
    yield
    pil.core.set_blocks_max(before)


@pytest.mark.parametrize("image_bytes", [1, 4096, 1.2 * MB, 9 * MB, 16 * MB])
def test_what_is_kept_is_bounded(image_bytes: float) -> None:
    memory.keep_blocks(image_bytes)
    n_kept = pil.core.get_blocks_max()
    assert n_kept >= 1
    assert n_kept * image_bytes <= 24 * MB
    memory.keep_blocks(0)
    assert pil.core.get_blocks_max() == 0


def test_nothing_is_kept_of_very_large_images() -> None:
    memory.keep_blocks(4 * MB)
    memory.keep_blocks(48 * MB)
    assert pil.core.get_blocks_max() == 0


def test_blocks_are_used_again() -> None:
    memory.keep_blocks(4 * MB)
    del (image := [pil.new("RGB", (1024, 1024)) for _ in range(3)])[:]
    pil.core.reset_stats()
    image.append(pil.new("RGB", (1024, 1024)))
    stats = pil.core.get_stats()
    assert stats["reused_blocks"] == 1
    assert stats["allocated_blocks"] == 0


def test_what_a_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILLOW_BLOCKS_MAX", "7")
    pil.core.set_blocks_max(7)
    memory.keep_blocks(4 * MB)
    assert pil.core.get_blocks_max() == 7


@pytest.mark.skipif(memory._library() is None, reason="the C library is not GNU's")
def test_a_run_learns_how_large_its_images_are() -> None:
    trimmer = Trimmer(has_media=True)
    for _ in range(10):
        trimmer.freed(2 * MB, MB)
    assert pil.core.get_blocks_max() == 24
    for _ in range(64):
        trimmer.freed(16 * MB, 16 * MB)
    assert pil.core.get_blocks_max() == 1
    trimmer.close()
    assert pil.core.get_blocks_max() == 0


def test_a_run_of_text_changes_nothing() -> None:
    trimmer = Trimmer(has_media=False)
    trimmer.freed(512 * MB, MB)
    trimmer.close()
    assert pil.core.get_blocks_max() == 0
