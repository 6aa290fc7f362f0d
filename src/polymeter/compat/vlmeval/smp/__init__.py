"""Stand-in for ``vlmeval.smp``: that of ``ulmeval``, with the older names."""

from polymeter.compat.ulmeval import smp
from polymeter.compat.ulmeval.smp import *  # noqa: F403
from polymeter.compat.ulmeval.smp import file, log, misc
from polymeter.compat.vlmeval.smp import vlm
from polymeter.compat.vlmeval.smp.vlm import concat_images_vlmeval

__all__ = ["concat_images_vlmeval", "file", "log", "misc", "vlm", *smp.__all__]  # noqa: PLE0604
