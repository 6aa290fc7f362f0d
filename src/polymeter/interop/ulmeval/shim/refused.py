"""Names of ULMEvalKit and VLMEvalKit that can be imported but not used, and what to do instead; functions are written
with ``()``.
"""

from __future__ import annotations

from collections.abc import Mapping

ULMEVAL: Mapping[str, str] = {
    "ulmeval.dataset.utils.mmdet_model.MMDetModel": "It needs mmdet 2 with mmcv-full 1, the weights of a Mask2Former, "
    "and its file utils/mmdet_model.py beside the benchmark. A detector of Transformers stands in for it: "
    "polymeter.metrics.detectors.make_detector('hf:PATH_OR_ID'); polymeter.metrics.composition has GenEval's checks.",
    "ulmeval.dataset.utils.mplug.MPLUGModel": "It needs modelscope, the weights of "
    "mplug_visual-question-answering_coco_large_en, and its file utils/mplug.py beside the benchmark. A judge can "
    "answer in its place: name one with --judge.",
    "ulmeval.dataset.utils.openclip.OpenCLIPModel": "It needs open_clip with the weights of ViT-L/14, and its file "
    "utils/openclip.py beside the benchmark. polymeter.metrics.detectors recognises objects and their colours.",
    "ulmeval.tools.CHECK()": "Use 'polymeter check'.",
    "ulmeval.tools.RUN()": "Use 'polymeter run'.",
}
