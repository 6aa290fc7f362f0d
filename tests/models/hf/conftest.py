"""Checkpoints of the session: each is written once, and read anew by whoever changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.checkpoints import NEED_TORCHVISION, make_checkpoint

collect_ignore_glob = [] if find_spec("torch") and find_spec("transformers") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny matrices are slower on several threads, and other tests want the other cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function from an architecture and its options to a folder. Nobody writes into it."""
    made: dict[str, Path] = {}

    def make(architecture: str, **options: Any) -> Path:
        if architecture in NEED_TORCHVISION:
            pytest.importorskip("torchvision")
        key = repr((architecture, sorted(options.items())))
        if key not in made:
            made[key] = make_checkpoint(architecture, tmp_path_factory.mktemp(architecture), **options)
        return made[key]

    return make


@pytest.fixture(scope="session")
def model(checkpoint: Callable[..., Path]) -> Callable[..., Any]:
    """A function from an architecture and its options to a loaded model."""
    from polymeter.models.hf import HfModel

    made: dict[str, HfModel] = {}

    def load(architecture: str, **options: Any) -> HfModel:
        key = repr((architecture, sorted(options.items())))
        if key not in made:
            made[key] = HfModel(str(checkpoint(architecture, **options)))
            made[key].load()
        return made[key]

    return load
