"""Stand-in for ``ulmeval.dataset.utils.judge_util``: judges by name. Whatever its name, a judge that is asked in words
is the run's (``--judge``).
"""

from __future__ import annotations

import os
from typing import Any

from polymeter.compat.ulmeval.api.gpt import OpenAIWrapper
from polymeter.compat.ulmeval.dataset.utils.mmdet_model import MMDetModel
from polymeter.compat.ulmeval.dataset.utils.mplug import MPLUGModel
from polymeter.compat.ulmeval.dataset.utils.openclip import OpenCLIPModel

__all__ = ["DEBUG_MESSAGE", "INTERNAL", "build_judge"]

INTERNAL = os.environ.get("INTERNAL", "")
DEBUG_MESSAGE = (
    "The judge is the run's: name one with --judge, and try it with 'polymeter run --model' on a small task."
)

_LOCAL = {"mask2former": MMDetModel, "openclip-vit-l-14": OpenCLIPModel, "mplug": MPLUGModel}


def build_judge(**kwargs: Any) -> Any:
    """A judge.

    Args:
        **kwargs: ``model``: its name, which the run's choice of a judge replaces; the others as ``OpenAIWrapper`` takes
            them.

    Raises:
        PlanError: It is one of the local models that judge pictures, which do not come with Polymeter.
    """
    name = kwargs.pop("model", None)
    kwargs.pop("nproc", None)
    return _LOCAL.get(str(name), OpenAIWrapper)(name, **kwargs)
