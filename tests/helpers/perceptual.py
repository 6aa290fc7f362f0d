"""LPIPS weights of the right shapes, drawn at random."""

from __future__ import annotations

from pathlib import Path

import pytest

_SHAPES = {0: (64, 3, 11), 3: (192, 64, 5), 6: (384, 192, 3), 8: (256, 384, 3), 10: (256, 256, 3)}


def make_perceptual_weights(folder: Path) -> Path:
    """Write the two files that ``polymeter.metrics.perceptual`` reads; gives the folder."""
    torch = pytest.importorskip("torch")

    made = torch.Generator().manual_seed(0)
    backbone = {}
    for place, (n_out, n_in, size) in _SHAPES.items():
        scale = (2 / (n_in * size * size)) ** 0.5
        backbone[f"features.{place}.weight"] = torch.randn(n_out, n_in, size, size, generator=made) * scale
        backbone[f"features.{place}.bias"] = torch.zeros(n_out)
    torch.save(backbone, folder / "alexnet-owt-7be5be79.pth")
    channels = (64, 192, 384, 256, 256)
    linear = {f"lin{n}.model.1.weight": torch.rand(1, c, 1, 1, generator=made) for n, c in enumerate(channels)}
    torch.save(linear, folder / "alex.pth")
    return folder
