"""``ulmeval.dataset.utils.judge_util``: judges by name. Whatever its name, a judge that is asked in words is the run's
(``--judge``).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from polymeter.guests.imports import PREFIX
from polymeter.guests.shims import switch_on_shims
from polymeter.interop.ulmeval.kit_files import KITS
from polymeter.interop.ulmeval.shim.ulmeval.api.gpt import OpenAIWrapper

__all__ = ["DEBUG_MESSAGE", "INTERNAL", "build_judge"]

INTERNAL = os.environ.get("INTERNAL", "")
DEBUG_MESSAGE = (
    "The judge is the run's: name one with --judge, and try it with 'polymeter run --model' on a small task."
)

_LOCAL: Mapping[str, tuple[str, str, str]] = {
    "mask2former": ("MMDetModel", "mmdet_model", "mask2former_swin-s-p4-w7-224_lsj_8x2_50e_coco"),
    "openclip-vit-l-14": ("OpenCLIPModel", "openclip", "ViT-L-14"),
    "mplug": ("MPLUGModel", "mplug", "damo/mplug_visual-question-answering_coco_large_en"),
}
"""Judges that look at images, by name: the class, which is refused unless a benchmark brings it, the file beside the
benchmark that may hold it, and its weights.
"""


def build_judge(**kwargs: Any) -> Any:
    """A judge.

    Args:
        **kwargs: ``model``: its name, which the run's choice of a judge replaces; the others as ``OpenAIWrapper`` takes
            them.

    Raises:
        PlanError: It is one of the local models that judge pictures, which do not come with Polymeter, and no file of
            the benchmark's own has it.
    """
    name = kwargs.pop("model", None)
    kwargs.pop("nproc", None)
    if name not in _LOCAL:
        return OpenAIWrapper(name, **kwargs)
    class_name, file, weights = _LOCAL[name]
    switch_on_shims()
    absent = getattr(importlib.import_module(f"ulmeval.dataset.utils.{file}"), class_name)
    caller = sys._getframe(1).f_globals
    return _beside(caller, file, absent)(weights, **kwargs)


def _beside(caller: Mapping[str, Any], file: str, absent: type) -> type:
    """The class of a judge that came with the benchmark that asks for it: its file in ``utils`` beside the benchmark.
    Where there is none, the class that says what is missing.
    """
    scope = caller.get("__builtins__")
    importer = scope.get("__import__") if isinstance(scope, dict) else None
    if importer is None or not str(caller.get("__name__", "")).startswith(PREFIX):
        return absent
    for kit in KITS:
        module = importer(f"{kit}.dataset.utils.{file}", caller, None, (absent.__name__,), 0)
        found = getattr(module, absent.__name__, absent)
        if found is not absent:
            return found
    return absent
