"""LPIPS: the network's arithmetic, on weights made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from polymeter.core.errors import DataError, PlanError
from polymeter.core.names.registries import METRICS
from polymeter.metrics.image import lpips
from tests.helpers.perceptual import make_perceptual_weights

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_perceptual_weights(tmp_path_factory.mktemp("lpips"))


def grainy(seed: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (64, 48, 3)).astype("uint8"))


def test_it_is_zero_for_equal_pictures_symmetric_and_grows(weights: Path) -> None:
    picture, other = grainy(1), grainy(2)
    near, far = Image.blend(picture, other, 0.1), Image.blend(picture, other, 0.6)
    assert lpips(picture, picture, weights) == 0
    assert lpips(picture, near, weights) == pytest.approx(lpips(near, picture, weights), rel=1e-5)
    assert 0 < lpips(picture, near, weights) < lpips(picture, far, weights)


def test_it_is_the_network_of_the_paper(weights: Path) -> None:
    """The same by torch's own modules, layer by layer as AlexNet is laid out."""
    nn = torch.nn
    alexnet = nn.Sequential(
        *(nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU()),
        *(nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(), nn.Conv2d(256, 256, 3, padding=1), nn.ReLU()),
    )
    state = torch.load(weights / "alexnet-owt-7be5be79.pth", weights_only=True)
    alexnet.load_state_dict({name.removeprefix("features."): value for name, value in state.items()})
    linear = torch.load(weights / "alex.pth", weights_only=True)

    def layers(picture: Image.Image) -> list[torch.Tensor]:
        values = torch.from_numpy(np.asarray(picture).astype("float32")).permute(2, 0, 1)[None] / 255 * 2 - 1
        mean, deviation = torch.tensor([-0.030, -0.088, -0.188]), torch.tensor([0.458, 0.448, 0.450])
        values = (values - mean.view(1, 3, 1, 1)) / deviation.view(1, 3, 1, 1)
        found = []
        for module in alexnet:
            values = module(values)
            if isinstance(module, nn.ReLU):
                found.append(nn.functional.normalize(values, dim=1, eps=1e-10))
        return found

    first, second = grainy(1), grainy(2)
    with torch.inference_mode():
        expected = sum(
            ((a - b).square() * linear[f"lin{n}.model.1.weight"]).sum(1).mean()
            for n, (a, b) in enumerate(zip(layers(first), layers(second), strict=True))
        )
    assert lpips(first, second, weights) == pytest.approx(float(expected), rel=1e-5)
    score = METRICS.get("lpips").score
    assert score is not None
    assert score(references=[first], predictions=[second], weights=str(weights)) == pytest.approx(
        float(expected), rel=1e-5
    )


def test_a_picture_too_small_for_the_network_is_an_error(weights: Path) -> None:
    with pytest.raises(DataError, match="at least 31 × 31 pixels"):
        lpips(Image.new("RGB", (30, 30)), Image.new("RGB", (30, 30)), weights)


def test_a_file_of_something_else_is_an_error(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "alexnet.pth").write_bytes((weights / "alex.pth").read_bytes())
    (tmp_path / "alex.pth").write_bytes((weights / "alex.pth").read_bytes())
    with pytest.raises(PlanError, match=r"Reading LPIPS from .* raised KeyError: 'features\.0\.weight'"):
        lpips(grainy(1), grainy(2), tmp_path)
