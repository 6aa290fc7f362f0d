"""Stand-in for ``evalscope`` 0.17: what data adapters and scripts written for it import."""

from polymeter.compat.evalscope.config import TaskConfig
from polymeter.compat.evalscope.run import run_task
from polymeter.compat.evalscope.version import __version__

__all__ = ["TaskConfig", "__version__", "run_task"]
