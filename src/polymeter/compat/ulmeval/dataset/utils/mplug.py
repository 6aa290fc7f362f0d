"""Stand-in for ``ulmeval.dataset.utils.mplug``: the model that DPG-Bench asks about pictures."""

from polymeter.compat.ulmeval._absent import absent_class

__all__ = ["MPLUGModel"]

MPLUGModel = absent_class(
    "MPLUGModel",
    "It needs modelscope with the weights of mplug_visual-question-answering_coco_large_en. A judge can answer yes or "
    "no about a picture: build_judge(model=...) with --judge.",
)
