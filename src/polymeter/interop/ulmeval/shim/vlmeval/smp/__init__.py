"""Stand-in for ``vlmeval.smp``: that of ``ulmeval``."""

from polymeter.interop.ulmeval.shim.ulmeval import smp
from polymeter.interop.ulmeval.shim.ulmeval.smp import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp import file, log, misc
from polymeter.interop.ulmeval.shim.vlmeval.smp import vlm

__all__ = ["file", "log", "misc", "vlm", *smp.__all__]  # noqa: PLE0604
