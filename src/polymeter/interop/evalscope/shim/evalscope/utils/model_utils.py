"""The process as adapters ask about it."""

from __future__ import annotations

import random
import sys
from enum import Enum

__all__ = ["EvalBackend", "get_device", "seed_everything"]


class EvalBackend(Enum):
    """Who runs the benchmarks."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


def get_device() -> str:
    """``cuda:0``, ``mps`` or ``cpu``; without torch, ``cpu``."""
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def seed_everything(seed: int) -> None:
    """Seed the generators of Python, and of NumPy and torch where they are loaded. A run does it itself for each
    benchmark.
    """
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
