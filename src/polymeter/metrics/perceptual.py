"""LPIPS, the learned perceptual distance of Zhang, Isola, Efros, Shechtman and Wang (2018), version 0.1 with AlexNet.

It needs two published files. They are read from a folder and never downloaded:

- ``alexnet*.pth``: AlexNet (Krizhevsky 2014) trained on ImageNet, as torchvision publishes it
  (``alexnet-owt-7be5be79.pth``);
- ``alex.pth``: the five linear layers of LPIPS, from ``lpips/weights/v0.1`` of the package ``lpips``.

The network of five convolutions is written out here, so you need neither package.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polymeter.core.errors import DataError, PlanError, boundary
from polymeter.core.guest_context import weights_place
from polymeter.core.names.registry import missing_package
from polymeter.metrics.networks import kept

if TYPE_CHECKING:
    import torch

_NEEDS = (
    "LPIPS needs a folder with alexnet*.pth (AlexNet as torchvision publishes it) and alex.pth (from lpips/weights/v0.1"
    " of the package lpips)."
)
_NAME = "lpips"
_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)
# AlexNet's convolutions: index in torchvision's ``features``, stride, padding, and whether pooling comes before.
_LAYERS = ((0, 4, 2, False), (3, 1, 2, True), (6, 1, 1, True), (8, 1, 1, False), (10, 1, 1, False))
_SMALLEST = 31
_TINY_NORM = 1e-10


class Perceptual:
    """LPIPS with its weights.

    Args:
        backbone: State of AlexNet: ``features.{0,3,6,8,10}.{weight,bias}``.
        linear: State of the linear layers: ``lin{0..4}.model.1.weight``, shape ``(1, channels, 1, 1)``.
    """

    def __init__(self, backbone: dict[str, torch.Tensor], linear: dict[str, torch.Tensor]) -> None:
        self._convolutions = [
            (backbone[f"features.{index}.weight"], backbone[f"features.{index}.bias"], *settings)
            for index, *settings in _LAYERS
        ]
        self._linear = [linear[f"lin{index}.model.1.weight"] for index in range(len(_LAYERS))]

    def distance(self, first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
        """Return the distance between two RGB images of the same shape ``(height, width, 3)``.

        Raises:
            DataError: if a side has fewer than 31 pixels.
        """
        import torch

        if min(first.shape[:2]) < _SMALLEST:
            raise DataError(f"LPIPS needs images of at least {_SMALLEST} × {_SMALLEST} pixels.")
        with torch.inference_mode():
            layers = zip(self._features(first), self._features(second), self._linear, strict=True)
            return float(sum((((a - b) ** 2) * weight).sum(dim=1).mean() for a, b, weight in layers))

    def _features(self, pixels: NDArray[np.uint8]) -> list[torch.Tensor]:
        """Return activations after each convolution, shapes ``(1, channels, height, width)``, of unit norm along
        channels.
        """
        import torch
        from torch.nn import functional

        activations = torch.from_numpy(pixels.astype(np.float32) / 127.5 - 1).permute(2, 0, 1)[None]
        shift, scale = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (_SHIFT, _SCALE))
        activations = (activations - shift) / scale
        units = []
        for weight, bias, stride, padding, is_pooled in self._convolutions:
            if is_pooled:
                activations = functional.max_pool2d(activations, 3, 2)
            activations = functional.relu(functional.conv2d(activations, weight, bias, stride, padding))
            # The tiny norm keeps channels that are all zero from dividing by zero.
            units.append(activations / (activations.square().sum(dim=1, keepdim=True).sqrt() + _TINY_NORM))
        return units


def read_perceptual(folder: str | Path | None) -> Perceptual:
    """Read LPIPS with the weights in a folder.

    Args:
        folder: The folder, or a name for which ``--weights`` gives a folder; default: the name ``lpips``.

    Raises:
        PlanError: if torch or a file is missing, or a file does not contain these weights.
    """
    location = weights_place(str(folder or _NAME))
    if location == _NAME and not Path(location).is_dir():
        raise PlanError(
            _NEEDS, where="weights", hint=f"Name the folder: weights=PATH, or for a run --weights {_NAME}=PATH."
        )
    return _read_network(location)


def is_placed() -> bool:
    """Check whether the run gives a folder for the weights of LPIPS."""
    return weights_place(_NAME) != _NAME


@kept
def _read_network(folder: str) -> Perceptual:
    linear = Path(folder) / "alex.pth"
    backbones = sorted(Path(folder).glob("alexnet*.pth"))
    if not backbones or not linear.is_file():
        missing = linear.name if backbones else "alexnet*.pth"
        raise PlanError(f"{_NEEDS} {missing} is missing.", where=folder)
    with boundary(PlanError, f"Reading LPIPS from {folder!r}", hint=_NEEDS):
        return Perceptual(_state(backbones[0]), _state(linear))


def _state(path: Path) -> dict[str, Any]:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise missing_package("torch", "metric 'lpips'", "hf") from error
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state
