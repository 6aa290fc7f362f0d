"""Stand-in for ``vlmeval.smp``: that of ``ulmeval``."""

from polymeter.compat.ulmeval import smp
from polymeter.compat.ulmeval.smp import *  # noqa: F403
from polymeter.compat.ulmeval.smp import file, log, misc
from polymeter.compat.vlmeval.smp import vlm

__all__ = ["file", "log", "misc", "vlm", *smp.__all__]  # noqa: PLE0604
