"""Stand-in for ``lmms_eval.api.task``: the base classes of tasks that are written in Python."""

from polymeter.interop.lmms_eval.shim.lmms_eval.api.instance import Instance
from polymeter.interop.lmms_eval.tasks import ConfigurableMessagesTask, ConfigurableTask, Task, TaskConfig

__all__ = ["ConfigurableMessagesTask", "ConfigurableTask", "Instance", "Task", "TaskConfig"]
