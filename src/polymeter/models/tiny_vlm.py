"""The small vision-language model that comes with Polymeter: a LLaVA of 1.4 million parameters.

It is for demonstrations and tests: it knows coloured shapes, counts and digits, and nothing else. The weights are in
the library, with a card on how they were made; ``HfModel`` runs them like any other checkpoint.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from polymeter.core.names.registry import missing_package
from polymeter.models.hf import HfModel

FOLDER = Path(__file__).resolve().parents[1] / "library" / "tiny_vlm"


class TinyVlm(HfModel):
    """The checkpoint in the library, computed in float32.

    Args:
        device: A torch device (``cuda``, ``cpu``); default: the first accelerator, else the CPU.

    Raises:
        PlanError: if torch or Transformers is not installed.
    """

    def __init__(self, device: str = "") -> None:
        for package in ("torch", "transformers"):
            if find_spec(package) is None:
                raise missing_package(package, "model 'tiny_vlm'", "hf")
        # The weights are stored in half precision; float32 is as fast on a CPU and the same on every device.
        super().__init__(str(FOLDER), dtype="float32", device=device)
