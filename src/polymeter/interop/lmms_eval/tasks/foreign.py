"""The names that task code written for lmms-eval subclasses or makes, implemented here once; ``polymeter.interop`` gives
them their foreign module names.
"""

from polymeter.formats.task_yaml.registration import register_aggregation, register_filter, register_metric
from polymeter.interop.lmms_eval.instance import Instance
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
from polymeter.interop.lmms_eval.tasks.guest_config import ForeignConfig as TaskConfig
from polymeter.interop.lmms_eval.tasks.guest_task import ConfigurableMessagesTask, ConfigurableTask, Task

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
