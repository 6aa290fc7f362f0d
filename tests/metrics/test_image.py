"""Pictures against references: known values, edges, and what is missing."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.core.guest_context import weights_from
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.metrics.image import as_rgb, is_resized, lpips, psnr, ssim

pytest.importorskip("skimage")


def grainy(seed: int, size: tuple[int, int] = (48, 40)) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype("uint8"))


def test_psnr_is_the_formula() -> None:
    flat = Image.new("RGB", (16, 16), (100, 100, 100))
    off_by_five = Image.new("RGB", (16, 16), (105, 100, 100))
    assert psnr(off_by_five, flat) == pytest.approx(10 * math.log10(255**2 / (25 / 3)))
    assert psnr(Image.new("RGB", (9, 9), "white"), Image.new("RGB", (9, 9), "black")) == pytest.approx(0)


def test_equal_pictures_have_no_error() -> None:
    picture = grainy(1)
    assert psnr(picture, picture.copy()) == math.inf
    assert psnr(picture, picture.copy(), ceiling=100) == 100
    assert ssim(picture, picture.copy()) == pytest.approx(1)


def test_ssim_is_that_of_the_paper_on_each_channel() -> None:
    first, second = grainy(1), Image.blend(grainy(1), grainy(2), 0.4)
    expected = [
        _ssim_by_hand(np.asarray(first)[..., channel], np.asarray(second)[..., channel]) for channel in range(3)
    ]
    assert ssim(first, second) == pytest.approx(np.mean(expected), abs=1e-7)


def _ssim_by_hand(first: np.ndarray, second: np.ndarray) -> float:
    """Equation 13 of Wang et al. 2004 with an 11 × 11 Gaussian, where the window lies inside the picture."""
    from scipy.signal import convolve2d

    axis = np.arange(-5, 6)
    line = np.exp(-(axis**2) / (2 * 1.5**2))
    window = np.outer(line, line) / line.sum() ** 2

    def mean(values: np.ndarray) -> np.ndarray:
        return convolve2d(values, window, mode="valid")

    x, y = first.astype(float), second.astype(float)
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mx, my = mean(x), mean(y)
    vx, vy, vxy = mean(x * x) - mx**2, mean(y * y) - my**2, mean(x * y) - mx * my
    quality = (2 * mx * my + c1) * (2 * vxy + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))
    return float(quality.mean())


def test_a_picture_is_brought_to_the_size_of_the_reference() -> None:
    reference = Image.linear_gradient("L").convert("RGB")
    smaller = reference.resize((128, 128), Image.Resampling.LANCZOS)
    assert is_resized(smaller, reference)
    assert not is_resized(reference, reference)
    assert psnr(smaller, reference) > 40
    back = smaller.resize((256, 256), Image.Resampling.LANCZOS)
    assert psnr(smaller, reference) == psnr(back, reference)


def test_transparent_parts_lie_over_white() -> None:
    clear = Image.new("RGBA", (12, 12), (255, 0, 0, 0))
    assert as_rgb(clear).getpixel((3, 3)) == (255, 255, 255)
    assert psnr(clear, Image.new("RGB", (12, 12), "white")) == math.inf


def test_pictures_come_as_files_too(tmp_path: Path) -> None:
    grainy(1).save(tmp_path / "a.png")
    assert psnr(tmp_path / "a.png", (tmp_path / "a.png").read_bytes()) == math.inf
    with pytest.raises(DataError, match=r"no\.png' does not exist"):
        psnr(tmp_path / "no.png", grainy(1))


def test_ssim_needs_a_window() -> None:
    with pytest.raises(DataError, match=r"at least 11 pixels a side; the reference has 30 × 8"):
        ssim(grainy(1), Image.new("RGB", (30, 8)))


@pytest.mark.parametrize(("name", "best"), [("psnr", 100.0), ("ssim", 1.0)])
def test_as_metrics_they_are_finite_and_take_the_nearest_reference(name: str, best: float) -> None:
    metric = METRICS.get(name)
    assert metric.score is not None
    assert metric.score(references=[grainy(2), grainy(1)], predictions=[grainy(1)]) == pytest.approx(best)
    assert math.isfinite(AGGREGATIONS.get(metric.aggregation).aggregate([best, 0.5]))
    with pytest.raises(ScoreError, match="0 references and 1 predictions"):
        metric.score(references=[], predictions=[grainy(1)])


def test_directions() -> None:
    assert [METRICS.get(name).higher_is_better for name in ("psnr", "ssim", "lpips", "clip_score")] == [
        True,
        True,
        False,
        True,
    ]


def test_without_its_package_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.metrics", None)
    monkeypatch.delattr("skimage.metrics", raising=False)
    with pytest.raises(PlanError, match=r"'scikit-image', needed by metric 'psnr'.*\[image-metrics\]"):
        psnr(grainy(1), grainy(2))


def test_lpips_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"LPIPS needs a folder with alexnet\*\.pth .* and alex\.pth .*weights=PATH"):
        lpips(grainy(1), grainy(2))
    with pytest.raises(PlanError, match=r"alexnet\*\.pth is missing\."):
        lpips(grainy(1), grainy(2), tmp_path)
    (tmp_path / "alexnet-owt.pth").write_bytes(b"")
    with pytest.raises(PlanError, match=r"alex\.pth is missing\."):
        lpips(grainy(1), grainy(2), str(tmp_path))


def test_lpips_is_where_the_run_says(tmp_path: Path) -> None:
    with (
        weights_from({"lpips": str(tmp_path)}),
        pytest.raises(PlanError, match=rf"alexnet\*\.pth is missing\. \[{tmp_path}\]"),
    ):
        lpips(grainy(1), grainy(2))


def test_sixteen_bits_keep_their_upper_eight() -> None:
    """Pillow itself makes everything above 255 white."""
    ramp = np.arange(0, 65536, 16, dtype=np.uint16).reshape(64, 64)
    assert (np.asarray(as_rgb(Image.fromarray(ramp)))[..., 1] == ramp >> 8).all()


@pytest.mark.parametrize("mode", ["I", "F"])
def test_values_without_a_known_range_are_refused(mode: str) -> None:
    with pytest.raises(DataError, match=f"mode '{mode}' does not define which values are black and white"):
        psnr(Image.new(mode, (16, 16)), grainy(1))


def test_premultiplied_and_printed_colours_become_rgb() -> None:
    assert as_rgb(Image.new("La", (4, 4))).getpixel((0, 0)) == (255, 255, 255)
    assert as_rgb(Image.new("CMYK", (4, 4))).getpixel((0, 0)) == (255, 255, 255)


def test_the_numbers_are_those_of_scikit_image_with_the_stated_settings() -> None:
    from skimage import metrics

    first, second = (np.asarray(grainy(seed)) for seed in (1, 2))
    assert psnr(grainy(1), grainy(2)) == metrics.peak_signal_noise_ratio(second, first, data_range=255)
    settings = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    planes = [metrics.structural_similarity(first[..., c], second[..., c], **settings) for c in range(3)]
    assert ssim(grainy(1), grainy(2)) == pytest.approx(np.mean(planes))
