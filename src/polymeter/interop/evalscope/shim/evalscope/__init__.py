"""Stand-in for ``evalscope`` 0.17: what data adapters and scripts written for it import."""

from polymeter.interop.evalscope.shim.evalscope.config import TaskConfig
from polymeter.interop.evalscope.shim.evalscope.run import run_task
from polymeter.interop.evalscope.shim.evalscope.version import __version__

__all__ = ["TaskConfig", "__version__", "run_task"]
