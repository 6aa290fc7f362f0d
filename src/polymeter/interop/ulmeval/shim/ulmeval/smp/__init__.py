"""Stand-in for ``ulmeval.smp``: files, images, small helpers, and the modules that its star import gives."""

from polymeter.interop.ulmeval.shim.ulmeval.smp import _modules, file, log, misc, ulm
from polymeter.interop.ulmeval.shim.ulmeval.smp._modules import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.file import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.log import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.misc import *  # noqa: F403
from polymeter.interop.ulmeval.shim.ulmeval.smp.ulm import *  # noqa: F403

__all__ = [*_modules.__all__, *file.__all__, *ulm.__all__, *misc.__all__, *log.__all__]  # noqa: PLE0604
