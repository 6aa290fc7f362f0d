"""``ulmeval.dataset.utils.judge_util``: judges by name. Whatever its name, a judge that answers in text is the run's
(``--judge``).
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Any

from polymeter.core.errors import GUEST_PREFIX
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.ulmeval.guest_files import PACKAGES
from polymeter.interop.ulmeval.shim.ulmeval.api.gpt import OpenAIWrapper

__all__ = ["DEBUG_MESSAGE", "INTERNAL", "build_judge"]

INTERNAL: str | int = os.environ.get("INTERNAL") or 0
DEBUG_MESSAGE = (
    "The judge is the run's: name one with --judge, and try it with 'polymeter run --model' on a small task."
)

LOCAL: Mapping[str, tuple[str, str, str]] = {
    "mask2former": ("MMDetModel", "mmdet_model", "mask2former_swin-s-p4-w7-224_lsj_8x2_50e_coco"),
    "openclip-vit-l-14": ("OpenCLIPModel", "openclip", "ViT-L-14"),
    "mplug": ("MPLUGModel", "mplug", "damo/mplug_visual-question-answering_coco_large_en"),
}
"""Judges that are image models, by name: the class, which is refused unless a benchmark brings it, the file beside the
benchmark that may define it, and its weights.
"""


def build_judge(**kwargs: Any) -> Any:
    """A judge.

    Args:
        **kwargs: ``model``: its name, which the run's judge replaces; the others as for ``OpenAIWrapper``.

    Raises:
        PlanError: if it is one of the local models that judge images, which do not come with Polymeter, and no file of
            the benchmark defines it.
    """
    name = kwargs.pop("model", None)
    kwargs.pop("nproc", None)
    if name not in LOCAL:
        return OpenAIWrapper(name, **kwargs)
    class_name, file, weights = LOCAL[name]
    switch_on_shims()
    absent = getattr(importlib.import_module(f"ulmeval.dataset.utils.{file}"), class_name)
    caller = sys._getframe(1).f_globals
    return _beside(caller, file, absent)(weights, **kwargs)


def _beside(caller: Mapping[str, Any], file: str, absent: type) -> type:
    """Return the class of a judge in the benchmark's own files (in ``utils`` beside it); else the class that reports
    what is missing.
    """
    scope = caller.get("__builtins__")
    importer = scope.get("__import__") if isinstance(scope, dict) else None
    if importer is None or not str(caller.get("__name__", "")).startswith(GUEST_PREFIX):
        return absent
    for package in PACKAGES:
        module = importer(f"{package}.dataset.utils.{file}", caller, None, (absent.__name__,), 0)
        cls = getattr(module, absent.__name__, absent)
        if cls is not absent:
            return cls
    return absent
