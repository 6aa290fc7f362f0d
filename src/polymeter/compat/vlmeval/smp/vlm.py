"""Stand-in for ``vlmeval.smp.vlm``: ``ulmeval.smp.ulm`` under its older name."""

from polymeter.compat.ulmeval.smp import ulm
from polymeter.compat.ulmeval.smp.ulm import *  # noqa: F403
from polymeter.compat.ulmeval.smp.ulm import concat_images_ulmeval

__all__ = ["concat_images_vlmeval", *ulm.__all__]  # noqa: PLE0604

concat_images_vlmeval = concat_images_ulmeval
