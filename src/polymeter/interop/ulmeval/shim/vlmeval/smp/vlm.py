"""Stand-in for ``vlmeval.smp.vlm``: ``ulmeval.smp.ulm`` under its older name."""

from polymeter.interop.ulmeval.shim.ulmeval.smp import ulm
from polymeter.interop.ulmeval.shim.ulmeval.smp.ulm import *  # noqa: F403

__all__ = [*ulm.__all__]  # noqa: PLE0604
