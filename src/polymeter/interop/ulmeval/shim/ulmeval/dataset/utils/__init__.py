"""Stand-in for ``ulmeval.dataset.utils``: judges."""

from polymeter.interop.ulmeval.shim.ulmeval.dataset.utils.judge_util import DEBUG_MESSAGE, build_judge
from polymeter.interop.ulmeval.shim.ulmeval.dataset.utils.mmdet_model import MMDetModel
from polymeter.interop.ulmeval.shim.ulmeval.dataset.utils.mplug import MPLUGModel
from polymeter.interop.ulmeval.shim.ulmeval.dataset.utils.openclip import OpenCLIPModel

__all__ = ["DEBUG_MESSAGE", "MMDetModel", "MPLUGModel", "OpenCLIPModel", "build_judge"]
