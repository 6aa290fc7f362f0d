"""Stand-in for ``vlmeval.smp.vlm``: ``ulmeval.smp.ulm`` under its older name."""

from polymeter.compat.ulmeval.smp import ulm
from polymeter.compat.ulmeval.smp.ulm import *  # noqa: F403

__all__ = [*ulm.__all__]  # noqa: PLE0604
