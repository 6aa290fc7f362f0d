"""Stand-in for ``ulmeval.dataset.utils.openclip``: the classifier that GenEval tells colours with."""

from polymeter.interop.ulmeval.shim.ulmeval._absent import absent_class

__all__ = ["OpenCLIPModel"]

OpenCLIPModel = absent_class(
    "OpenCLIPModel",
    "It needs open_clip with the weights of ViT-L/14, and its file utils/openclip.py beside the benchmark. "
    "polymeter.metrics.detectors tells objects and their colours.",
)
