"""Stand-in for ``ulmeval.dataset.utils.mmdet_model``: the detector that GenEval counts objects with."""

from polymeter.interop.ulmeval.shim.ulmeval._absent import absent_class

__all__ = ["MMDetModel"]

MMDetModel = absent_class(
    "MMDetModel",
    "It needs mmdet 2 with mmcv-full 1, the weights of a Mask2Former, and its file utils/mmdet_model.py beside the "
    "benchmark. A detector of Transformers stands in for it: "
    "polymeter.metrics.detectors.make_detector('hf:PATH_OR_ID'); polymeter.metrics.composition has GenEval's checks.",
)
