"""Stand-in for ``ulmeval.dataset.utils``: judges."""

from polymeter.compat.ulmeval.dataset.utils.judge_util import DEBUG_MESSAGE, build_judge
from polymeter.compat.ulmeval.dataset.utils.mmdet_model import MMDetModel
from polymeter.compat.ulmeval.dataset.utils.mplug import MPLUGModel
from polymeter.compat.ulmeval.dataset.utils.openclip import OpenCLIPModel

__all__ = ["DEBUG_MESSAGE", "MMDetModel", "MPLUGModel", "OpenCLIPModel", "build_judge"]
