"""The Fréchet distance between two sets of images, in the features of a network. The network is named beside the score.

The distance (Heusel et al. 2017) is ``‖μ₁ - μ₂‖² + tr(Σ₁ + Σ₂ - 2 (Σ₁Σ₂)^½)`` of Gaussians fitted to the features. The
published FID uses features of one Inception network of 2015 with its own resizing. A score from other features is not
an FID and is named after its network: FD with DINOv2 features (Stein et al. 2023), with CLIP's, …

Means and covariances are accumulated, so memory does not grow with the number of images. The estimate is biased: it
falls as n grows (Chong and Forsyth 2020), so only distances with equal n are comparable. The score has no interval.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import DataError, PlanError, ScoreError, boundary
from polymeter.core.guest_context import weights_place
from polymeter.core.metric import Metric
from polymeter.core.names.registry import missing_package, processor_of
from polymeter.metrics.image import as_rgb
from polymeter.metrics.networks import check_network

_EPS = 1e-6
_BATCH = 16

Features = NDArray[np.float64]


class RunningGaussian:
    """The mean and covariance of vectors that arrive in batches (Chan, Golub and LeVeque 1983).

    Attributes:
        n: The number of vectors so far.
        mean: Shape ``(d,)``.
    """

    def __init__(self, n_dimensions: int) -> None:
        self.n = 0
        self.mean: Features = np.zeros(n_dimensions)
        self._scatter: Features = np.zeros((n_dimensions, n_dimensions))

    def add(self, vectors: Features) -> None:
        """Add vectors, shape ``(m, d)``."""
        m = len(vectors)
        if not m:
            return
        mean = vectors.mean(axis=0)
        centred = vectors - mean
        offset = mean - self.mean
        self._scatter += centred.T @ centred + np.outer(offset, offset) * (self.n * m / (self.n + m))
        self.mean = self.mean + offset * (m / (self.n + m))
        self.n += m

    @property
    def covariance(self) -> Features:
        """Return the unbiased covariance, shape ``(d, d)``.

        Raises:
            ScoreError: if there are fewer than two vectors.
        """
        if self.n < 2:
            raise ScoreError(f"A covariance needs at least two vectors, not {self.n}.")
        return self._scatter / (self.n - 1)


@dataclass(frozen=True, slots=True)
class FeatureNetwork:
    """A network that maps an image to a vector.

    Attributes:
        name: The name shown beside the number: the network's id, and the layer.
        n_dimensions: The length of its vectors.
        extract: A function from a list of ``n`` opened RGB images to features of shape ``(n, n_dimensions)``.
    """

    name: str
    n_dimensions: int
    extract: Callable[[list[Any]], Features]


@dataclass(frozen=True, slots=True)
class FrechetResult:
    """A Fréchet distance, with its network and the sizes of the sets.

    Attributes:
        distance: The distance; 0 for equal sets.
        extractor: The network.
        n_dimensions: Length of its vectors.
        n_images: Number of images in the first set.
        n_references: Number of images in the second.
        note: A warning for readers of the distance; empty if none is needed.
    """

    distance: float
    extractor: str
    n_dimensions: int
    n_images: int
    n_references: int
    note: str = ""


def frechet_distance(
    images: Iterable[Any],
    references: Iterable[Any],
    extractor: FeatureNetwork,
    *,
    allow_few: bool = False,
) -> FrechetResult:
    """Compute the Fréchet distance between two sets of images.

    Args:
        images: Pillow images, paths, bytes or URLs; iterated once, a few at a time.
        references: Images with the desired distribution.
        extractor: The network whose features are compared.
        allow_few: Return a distance, with a note, even if a set has no more images than the features have dimensions.

    Raises:
        DataError: if an image cannot be read.
        ScoreError: if a set is too small: the covariance of n vectors has at most rank n - 1.
    """
    first, second = (_accumulated(set_of_images, extractor) for set_of_images in (images, references))
    n_smaller, n_needed = min(first.n, second.n), extractor.n_dimensions + 1
    note = ""
    if n_smaller < n_needed:
        note = (
            f"A covariance of {extractor.n_dimensions} dimensions needs more than {extractor.n_dimensions} images;"
            f" a set has {n_smaller}."
        )
        if not allow_few:
            raise ScoreError(note, hint="Give more images, or allow_few=True for a distance that cannot be compared.")
    distance = gaussian_distance(first.mean, first.covariance, second.mean, second.covariance)
    return FrechetResult(distance, extractor.name, extractor.n_dimensions, first.n, second.n, note)


def gaussian_distance(mean: Features, covariance: Features, other_mean: Features, other_covariance: Features) -> float:
    """Compute the squared Fréchet distance of two Gaussians (Dowson and Landau 1982), as Heusel et al. do.

    If the root of the product is not finite, ``1e-6`` is added to both diagonals. Small imaginary parts come from
    rounding and are dropped.

    Args:
        mean: Shape ``(d,)``.
        covariance: Shape ``(d, d)``.
        other_mean: Shape ``(d,)``.
        other_covariance: Shape ``(d, d)``.

    Raises:
        ScoreError: if the root has a large imaginary part, which no covariances have.
    """
    root = _root(covariance @ other_covariance)
    if not np.isfinite(root).all():
        shift = _EPS * np.eye(len(covariance))
        root = _root((covariance + shift) @ (other_covariance + shift))
    if np.iscomplexobj(root):
        if not np.allclose(np.diagonal(root).imag, 0, atol=1e-3):
            raise ScoreError("The root of the covariances' product is imaginary.", hint="Use more images.")
        root = root.real
    difference = mean - other_mean
    distance = difference @ difference + np.trace(covariance) + np.trace(other_covariance) - 2 * np.trace(root)
    return max(0.0, float(distance))


def vision_extractor(location: str) -> FeatureNetwork:
    """Return a vision network of Transformers as an extractor.

    CLIP and similar networks give the projected image embedding. Any other network gives its pooled output, or without
    one the last state of the first token (DINOv2: the class token after the last norm, as in Stein et al. 2023).

    Args:
        location: Hub id or folder. ``--weights ID=PATH`` replaces an id by a folder; the name stays the id.

    Raises:
        PlanError: if torch or Transformers is not installed, or the network cannot be read.
    """
    try:
        import torch
        from transformers import AutoImageProcessor, AutoModel
    except ModuleNotFoundError as error:
        raise missing_package(error.name or "transformers", "a feature extractor", "hf") from error

    reading = boundary(PlanError, f"Reading the feature extractor {location!r}", hint="Name a folder that holds it.")
    with processor_of(f"the feature extractor {location!r}"), reading:
        processor = AutoImageProcessor.from_pretrained(weights_place(location))
        network = AutoModel.from_pretrained(weights_place(location)).eval()
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    extract = partial(_features, network, processor)
    from PIL import Image as pil

    with boundary(PlanError, f"Trying the feature extractor {location!r}"):
        n_dimensions = extract([pil.new("RGB", (64, 64))]).shape[1]
    layer = "image embedding" if hasattr(network, "get_image_features") else "pooled output"
    return FeatureNetwork(f"{location} ({layer})", n_dimensions, extract)


def _features(network: Any, processor: Any, images: list[Any]) -> Features:
    import torch

    inputs = processor(images=images, return_tensors="pt").to(network.device)
    with torch.inference_mode():
        if hasattr(network, "get_image_features"):
            output = network.get_image_features(**inputs)
        else:
            output = network(**inputs)
    if not isinstance(output, torch.Tensor):
        pooled = getattr(output, "pooler_output", None)
        output = pooled if pooled is not None else output.last_hidden_state[:, 0]
    return np.asarray(output.flatten(1).double().cpu().numpy())


def _accumulated(images: Iterable[Any], extractor: FeatureNetwork) -> RunningGaussian:
    gaussian = RunningGaussian(extractor.n_dimensions)
    source = iter(images)
    while batch := [as_rgb(image) for image in itertools.islice(source, _BATCH)]:
        features = extractor.extract(batch)
        if features.shape != (len(batch), extractor.n_dimensions):
            raise DataError(f"The extractor {extractor.name!r} returned features of shape {features.shape}.")
        gaussian.add(features)
    return gaussian


def _root(matrix: Features) -> Any:
    from scipy import linalg

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.LinAlgWarning)  # the caller handles a singular product
        return linalg.sqrtm(matrix)


def _between_sets(images: Iterable[Any], references: Iterable[Any], extractor: str, allow_few: bool = False) -> float:
    return frechet_distance(images, references, vision_extractor(extractor), allow_few=allow_few).distance


def _check_extractor(extractor: str = "", allow_few: bool = False) -> None:
    if not extractor:
        raise PlanError(
            "Metric 'frechet_distance' needs a network, and the task names none.",
            hint="Name a network that Transformers can read: extractor: PATH_OR_ID.",
        )
    check_network(extractor, "metric 'frechet_distance'", "extractor")


FRECHET_DISTANCE = Metric(
    "frechet_distance",
    higher_is_better=False,
    values={"generate_image": "none: a distance between all images and all references"},
    reference="image",
    of_sets=_between_sets,
    check=_check_extractor,
)
