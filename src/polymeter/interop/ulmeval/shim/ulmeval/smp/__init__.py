"""``ulmeval.smp``: files, images, small helpers, and the modules that its star import binds."""

from polymeter.interop.ulmeval.shim.ulmeval.smp import file, misc, modules, ulm
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.misc import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.modules import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.ulm import *  # noqa: F403

__all__ = [*modules.__all__, *file.__all__, *ulm.__all__, *misc.__all__]  # noqa: PLE0604
