"""The Fréchet distance: closed forms, streaming, small sets, and real architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError, ScoreError
from polymeter.core.guest_context import weights_from
from polymeter.metrics.fid import (
    FRECHET_DISTANCE,
    FeatureNetwork,
    RunningGaussian,
    frechet_distance,
    gaussian_distance,
    vision_extractor,
)


def pixels(pictures: list[Any]) -> np.ndarray:
    """The mean colour of each picture."""
    return np.stack([np.asarray(picture, dtype=float).reshape(-1, 3).mean(axis=0) for picture in pictures])


MEAN_COLOUR = FeatureNetwork("mean colour", 3, pixels)


def colours(n: int, seed: int, shift: int = 0) -> list[Image.Image]:
    values = np.random.default_rng(seed).integers(0, 200, (n, 3)) + shift
    return [Image.new("RGB", (4, 4), tuple(int(v) for v in value)) for value in values]


def test_of_diagonal_gaussians_it_is_the_closed_form() -> None:
    mean, other = np.array([1.0, 2.0, 3.0]), np.array([0.0, 4.0, 3.0])
    a, b = np.array([1.0, 4.0, 9.0]), np.array([4.0, 4.0, 1.0])
    expected = ((mean - other) ** 2).sum() + ((np.sqrt(a) - np.sqrt(b)) ** 2).sum()
    assert gaussian_distance(mean, np.diag(a), other, np.diag(b)) == pytest.approx(expected)


def test_it_does_not_depend_on_the_basis_and_is_symmetric() -> None:
    rng = np.random.default_rng(0)
    turn, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    a, b = rng.uniform(0.5, 3, 5), rng.uniform(0.5, 3, 5)
    mean, other = rng.normal(size=5), rng.normal(size=5)
    expected = ((mean - other) ** 2).sum() + ((np.sqrt(a) - np.sqrt(b)) ** 2).sum()
    first, second = turn @ np.diag(a) @ turn.T, turn @ np.diag(b) @ turn.T
    assert gaussian_distance(turn @ mean, first, turn @ other, second) == pytest.approx(expected)
    assert gaussian_distance(turn @ other, second, turn @ mean, first) == pytest.approx(expected)


def test_of_singular_covariances_it_is_finite() -> None:
    flat = np.zeros((3, 3))
    assert gaussian_distance(np.zeros(3), flat, np.ones(3), flat) == pytest.approx(3, abs=1e-3)


def test_equal_sets_are_at_zero_and_others_are_not() -> None:
    pictures = colours(60, 1)
    same = frechet_distance(pictures, list(reversed(pictures)), MEAN_COLOUR)
    assert same.distance == pytest.approx(0, abs=1e-6)
    assert (same.extractor, same.n_dimensions, same.n_images, same.n_references) == ("mean colour", 3, 60, 60)
    assert same.note == ""
    shifted = frechet_distance(colours(60, 1, shift=40), pictures, MEAN_COLOUR)
    assert shifted.distance == pytest.approx(3 * 40**2, rel=1e-6)


def test_it_is_that_of_all_features_at_once() -> None:
    pictures, references = colours(50, 1), colours(37, 2)
    first, second = pixels(pictures), pixels(references)
    expected = gaussian_distance(
        first.mean(axis=0), np.cov(first, rowvar=False), second.mean(axis=0), np.cov(second, rowvar=False)
    )
    assert frechet_distance(iter(pictures), iter(references), MEAN_COLOUR).distance == pytest.approx(expected)


@pytest.mark.parametrize("step", [1, 7, 100])
def test_means_and_covariances_are_gathered_in_any_portions(step: int) -> None:
    vectors = np.random.default_rng(0).normal(1e4, 1, (100, 4))
    gathered = RunningGaussian(4)
    for start in range(0, 100, step):
        gathered.add(vectors[start : start + step])
    gathered.add(vectors[:0])
    assert gathered.n == 100
    assert np.allclose(gathered.mean, vectors.mean(axis=0))
    assert np.allclose(gathered.covariance, np.cov(vectors, rowvar=False))


def test_too_few_pictures_are_refused_or_noted() -> None:
    with pytest.raises(ScoreError, match=r"3 dimensions needs more than 3 images; a set has 3\..*allow_few"):
        frechet_distance(colours(3, 1), colours(60, 2), MEAN_COLOUR)
    result = frechet_distance(colours(3, 1), colours(60, 2), MEAN_COLOUR, allow_few=True)
    assert result.distance > 0
    assert "needs more than 3 images" in result.note
    with pytest.raises(ScoreError, match="needs at least two vectors, not 1"):
        frechet_distance(colours(1, 1), colours(60, 2), MEAN_COLOUR, allow_few=True)


def test_an_extractor_that_gives_something_else_is_an_error() -> None:
    with pytest.raises(DataError, match=r"'odd' returned features of shape \(16, 3\)"):
        frechet_distance(colours(20, 1), colours(20, 2), FeatureNetwork("odd", 5, pixels))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    size = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    small = {"image_size": 16, "patch_size": 8}
    torch.manual_seed(0)
    networks = {
        "dinov2": transformers.Dinov2Model(transformers.Dinov2Config(**size, **small)),
        "clip": transformers.CLIPModel(
            transformers.CLIPConfig(
                text_config={**size, "vocab_size": 20}, vision_config={**size, **small}, projection_dim=4
            )
        ),
    }
    processor = transformers.CLIPImageProcessor(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}, do_center_crop=True
    )
    found = {}
    for name, network in networks.items():
        found[name] = tmp_path_factory.mktemp(name)
        network.save_pretrained(found[name])
        processor.save_pretrained(found[name])
    return found


@pytest.mark.parametrize(
    ("name", "n_dimensions", "layer"), [("dinov2", 8, "pooled output"), ("clip", 4, "image embedding")]
)
def test_a_vision_network_is_named_with_the_number(
    folders: dict[str, Path], name: str, n_dimensions: int, layer: str
) -> None:
    extractor = vision_extractor(str(folders[name]))
    assert extractor.name == f"{folders[name]} ({layer})"
    assert extractor.n_dimensions == n_dimensions
    pictures = colours(20, 1)
    result = frechet_distance(pictures, pictures, extractor)
    assert result.distance == pytest.approx(0, abs=1e-4)
    assert result.extractor == extractor.name


def test_a_network_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    with pytest.raises(PlanError, match=r"Reading the feature extractor .*Name a folder that holds it"):
        vision_extractor(str(tmp_path / "none"))


def test_a_network_is_read_where_the_run_says_and_named_by_its_id(folders: dict[str, Path]) -> None:
    with weights_from({"my/dino": str(folders["dinov2"])}):
        assert vision_extractor("my/dino").name == "my/dino (pooled output)"
        FRECHET_DISTANCE.check(extractor="my/dino")  # type: ignore[misc]
