"""Distances of an image from a reference (PSNR, SSIM and LPIPS), and its match with a text by CLIP.

Images are compared as 8-bit RGB, with transparent parts over white. If the sizes differ, the image is first resized to
the reference's size with Pillow's Lanczos filter. ``is_resized`` reports this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.content import Image
from polymeter.core.errors import DataError
from polymeter.core.guest_context import weights_from, weights_place
from polymeter.core.metric import Metric
from polymeter.core.names.registry import missing_package
from polymeter.metrics.networks import check_network, kept
from polymeter.metrics.references import one_prediction

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

CEILING_DB = 100.0
"""The PSNR of equal images, so that a mean stays finite. Two images of 256 × 256 pixels that differ by one grey level
in one channel of one pixel have about 101 dB.
"""
_RANGE = 255
_WINDOW = 11
_SIGMA = 1.5


def psnr(image: Any, reference: Any, ceiling: float = math.inf) -> float:
    """Compute the peak signal-to-noise ratio, ``10 log10(255² / MSE)``, with the error averaged over all pixels and
    channels.

    Args:
        image: A Pillow image, or a path, bytes or URL of one.
        reference: The expected image.
        ceiling: The upper limit of the value, in dB.

    Returns:
        Decibels; ``inf`` if the images are equal and there is no ceiling.

    Raises:
        DataError: if an image cannot be read.
        PlanError: if scikit-image is not installed.
    """
    metrics = _skimage_metrics("psnr")
    first, second = _pair(image, reference)
    if np.array_equal(first, second):
        return ceiling
    return min(ceiling, float(metrics.peak_signal_noise_ratio(second, first, data_range=_RANGE)))


def ssim(image: Any, reference: Any) -> float:
    """Compute the structural similarity (Wang et al. 2004), as the mean over all pixels and the three channels.

    The settings are those of the paper: Gaussian weights of σ = 1.5 in a window of 11 pixels, population covariances,
    K1 = 0.01, K2 = 0.03, a data range of 255. The paper compares grey images. Here each channel is compared, with equal
    weight.

    Args:
        image: A Pillow image, or a path, bytes or URL of one.
        reference: The expected image.

    Returns:
        1 for equal images, less otherwise; may be below 0.

    Raises:
        DataError: if an image cannot be read, or a side of the reference has fewer than 11 pixels.
        PlanError: if scikit-image is not installed.
    """
    metrics = _skimage_metrics("ssim")
    first, second = _pair(image, reference)
    if min(second.shape[:2]) < _WINDOW:
        raise DataError(
            f"SSIM needs at least {_WINDOW} pixels a side; the reference has {second.shape[1]} × {second.shape[0]}."
        )
    return float(
        metrics.structural_similarity(
            first,
            second,
            gaussian_weights=True,
            sigma=_SIGMA,
            use_sample_covariance=False,
            data_range=_RANGE,
            channel_axis=-1,
        )
    )


def lpips(image: Any, reference: Any, weights: str | Path | None = None) -> float:
    """Compute the learned perceptual distance LPIPS (Zhang et al. 2018), version 0.1 with AlexNet.

    Args:
        image: A Pillow image, or a path, bytes or URL of one.
        reference: The expected image.
        weights: A folder with the two weight files that ``polymeter.metrics.perceptual`` names; default: the folder of
            ``--weights lpips=PATH``.

    Returns:
        0 for equal images, and more for different ones.

    Raises:
        DataError: if an image cannot be read, or is too small for the network.
        PlanError: if the weights or torch are missing. The message states what is needed.
    """
    from polymeter.metrics.perceptual import read_perceptual

    first, second = _pair(image, reference)
    return read_perceptual(weights).distance(first, second)


def clip_score(image: Any, text: str, weights: str = "") -> float:
    """Compute the cosine of CLIP's embeddings of an image and a text, as ``CLIPScore`` of
    ``polymeter.metrics.image_text``.

    The published CLIPScore (Hessel et al. 2021) is ``2.5 · max(cosine, 0)``; this is the cosine itself.

    Args:
        image: A Pillow image, or a path, bytes or URL of one.
        text: The prompt.
        weights: Hub id or folder of a CLIP checkpoint; default: that of ``CLIPScore``. ``--weights ID=PATH`` replaces
            an id by a folder.

    Raises:
        DataError: if the image cannot be read.
        PlanError: if the checkpoint or a package is missing.
    """
    from polymeter.metrics.image_text import SCORERS

    scorer = _clip_scorer(weights_place(weights or SCORERS["CLIPScore"].weights))
    return float(scorer(images=[as_rgb(image)], texts=[text])[0][0])


def as_rgb(image: Any) -> PILImage:
    """Return an image as 8-bit RGB, as models see it (``Image.shown``). Grey values of 16 bits lose their lower eight
    bits.

    Raises:
        DataError: if it cannot be read, or its values have no defined range because they are floats or 32 bits wide.
    """
    part = image if isinstance(image, Image) else Image(image)
    opened = part.open()
    if opened.mode.startswith("I;16"):
        # A model sees such an image on the scale of its own values, but two images are compared on one scale.
        from PIL import Image as pil

        return pil.fromarray((np.asarray(opened) >> 8).astype(np.uint8)).convert("RGB")
    if opened.mode in ("I", "F"):
        raise DataError(
            f"An image of mode {opened.mode!r} does not define which values are black and white.",
            hint="Save it with 8 or 16 bits a channel.",
        )
    return part.shown()


def is_resized(image: Any, reference: Any) -> bool:
    """Check whether the first image is resized when it is compared with the second."""
    return as_rgb(image).size != as_rgb(reference).size


def _pair(image: Any, reference: Any) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return both images, each of the reference's shape ``(height, width, 3)``."""
    from PIL import Image as pil

    first, second = as_rgb(image), as_rgb(reference)
    if first.size != second.size:
        first = first.resize(second.size, pil.Resampling.LANCZOS)
    return np.asarray(first), np.asarray(second)


def _skimage_metrics(wanted_by: str) -> Any:
    try:
        import skimage.metrics
    except ModuleNotFoundError as error:
        raise missing_package("scikit-image", f"metric {wanted_by!r}", "image-metrics") from error
    return skimage.metrics


@kept
def _clip_scorer(location: str) -> Any:
    from polymeter.metrics.image_text import SCORERS, image_scorer

    with weights_from({SCORERS["CLIPScore"].weights: location}):
        return image_scorer("CLIPScore")


def _psnr_of(references: Sequence[Any], predictions: Sequence[Any], ceiling: float = CEILING_DB) -> float:
    image = one_prediction(references, predictions)
    return max(psnr(image, reference, ceiling) for reference in references)


def _ssim_of(references: Sequence[Any], predictions: Sequence[Any]) -> float:
    image = one_prediction(references, predictions)
    return max(ssim(image, reference) for reference in references)


def _lpips_of(references: Sequence[Any], predictions: Sequence[Any], weights: str | None = None) -> float:
    image = one_prediction(references, predictions)
    return min(lpips(image, reference, weights) for reference in references)


def _clip_score_of(references: Sequence[Any], predictions: Sequence[Any], weights: str = "") -> float:
    image = one_prediction(references, predictions)
    return max(clip_score(image, str(text), weights) for text in references)


def _check_skimage(**settings: Any) -> None:
    _skimage_metrics("psnr")


def _check_lpips(weights: str | None = None) -> None:
    from polymeter.metrics.perceptual import read_perceptual

    read_perceptual(weights)


def _check_clip(weights: str = "") -> None:
    from polymeter.metrics.image_text import SCORERS

    check_network(weights or SCORERS["CLIPScore"].weights, "metric 'clip_score'", "weights")


PSNR = Metric(
    "psnr",
    score=_psnr_of,
    values={"generate_image": "peak signal-to-noise ratio to the nearest reference, in dB, at most 100"},
    reference="image",
    check=_check_skimage,
    bounds=(None, 100.0),
)
SSIM = Metric(
    "ssim",
    score=_ssim_of,
    values={"generate_image": "structural similarity to the nearest reference"},
    reference="image",
    check=_check_skimage,
    bounds=(-1.0, 1.0),
)
LPIPS = Metric(
    "lpips",
    higher_is_better=False,
    score=_lpips_of,
    values={"generate_image": "perceptual distance to the nearest reference"},
    reference="image",
    check=_check_lpips,
    bounds=(0.0, None),
)
CLIP_SCORE = Metric(
    "clip_score",
    score=_clip_score_of,
    values={"generate_image": "cosine similarity to the nearest text"},
    reference="text",
    check=_check_clip,
    bounds=(-1.0, 1.0),
)
