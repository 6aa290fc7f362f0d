"""Generation settings that adapters have where a run sets nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.core.generation import image_parameters, text_parameters
from polymeter.core.request import Generate, GenerateImage
from polymeter.interop.evalscope.tasks.constants import EvalType

# EvalScope 0.17's own, used where a run sets nothing at all. Its ``top_k`` and ``top_p`` are without effect on greedy
# decoding, and its ``max_length`` is overruled by ``max_new_tokens``.
_DEFAULTS: dict[str, dict[str, Any]] = {
    EvalType.CHECKPOINT: {"max_new_tokens": 512, "do_sample": False},
    EvalType.CUSTOM: {},
    EvalType.SERVICE: {"max_new_tokens": 2048, "temperature": 0.0},
}
_IMAGE_DEFAULTS: dict[str, Any] = {"width": 1024, "height": 1024, "num_inference_steps": 50, "guidance_scale": 9.0}


def text_settings(plan: Mapping[str, Any], eval_type: str) -> tuple[Generate, int]:
    """What asks for text, and how many times it is asked.

    Args:
        plan: Settings of the run, under any of their usual names.
        eval_type: Whose defaults count where there are none.

    Raises:
        PlanError: A setting is not of its type.
    """
    return text_parameters(plan or _DEFAULTS[eval_type])


def image_settings(plan: Mapping[str, Any]) -> tuple[GenerateImage, int]:
    """What asks for an image, and how many times it is asked.

    Raises:
        PlanError: A setting is not of its type.
    """
    return image_parameters(plan or _IMAGE_DEFAULTS)
