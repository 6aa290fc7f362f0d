"""Pipelines of the session: each is written once, and loaded once for each way of loading it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

collect_ignore_glob = [] if find_spec("torch") and find_spec("diffusers") else ["test_*.py"]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny matrices are slower on several threads, and other tests want the other cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function from a pipeline and its options to a folder. Nobody writes into it."""
    from tests.helpers.diffusion import make_pipeline

    made: dict[str, Path] = {}

    def make(name: str, **options: Any) -> Path:
        key = repr((name, sorted(options.items())))
        if key not in made:
            made[key] = make_pipeline(name, tmp_path_factory.mktemp(name), **options)
        return made[key]

    return make


@pytest.fixture(scope="session")
def loaded(pipeline_folder: Callable[..., Path]) -> Callable[..., Any]:
    """A function from a pipeline and the model's arguments to a loaded model."""
    from polymeter.models.diffusers import DiffusersModel

    made: dict[str, DiffusersModel] = {}

    def load(name: str, **args: Any) -> DiffusersModel:
        key = repr((name, sorted(args.items())))
        if key not in made:
            made[key] = DiffusersModel(str(pipeline_folder(name)), **args)
            made[key].load()
        return made[key]

    return load
