"""Stand-in for ``ulmeval.dataset.utils.mplug``: the model that DPG-Bench asks about pictures."""

from polymeter.interop.ulmeval.shim.ulmeval._absent import absent_class

__all__ = ["MPLUGModel"]

MPLUGModel = absent_class(
    "MPLUGModel",
    "It needs modelscope, the weights of mplug_visual-question-answering_coco_large_en, and its file utils/mplug.py "
    "beside the benchmark. A judge can answer in its place: name one with --judge.",
)
