"""lmms-eval tasks beyond a YAML: Python classes, and requests that a task constructs itself.

``polymeter.tasks.yaml`` owns the task YAML; ``class_task`` extends it for the key ``class``. The names below are
what task code subclasses, makes and registers with; ``shim`` gives them their names in ``lmms_eval``.
"""

from polymeter.interop.lmms_eval.instance import Instance
from polymeter.interop.lmms_eval.tasks.class_config import TaskConfig
from polymeter.interop.lmms_eval.tasks.filter_classes import (
    ExtendedRegexFilter,
    Filter,
    FilterEnsemble,
    LowercaseFilter,
    MajorityVoteFilter,
    MapFilter,
    MultiChoiceRegexFilter,
    RegexFilter,
    TakeFirstFilter,
    TakeKFilter,
    UppercaseFilter,
    WhitespaceFilter,
)
from polymeter.interop.lmms_eval.tasks.task_classes import ConfigurableMessagesTask, ConfigurableTask, Task
from polymeter.tasks.yaml.registration import register_aggregation, register_filter, register_metric

__all__ = [
    "ConfigurableMessagesTask",
    "ConfigurableTask",
    "ExtendedRegexFilter",
    "Filter",
    "FilterEnsemble",
    "Instance",
    "LowercaseFilter",
    "MajorityVoteFilter",
    "MapFilter",
    "MultiChoiceRegexFilter",
    "RegexFilter",
    "TakeFirstFilter",
    "TakeKFilter",
    "Task",
    "TaskConfig",
    "UppercaseFilter",
    "WhitespaceFilter",
    "register_aggregation",
    "register_filter",
    "register_metric",
]
