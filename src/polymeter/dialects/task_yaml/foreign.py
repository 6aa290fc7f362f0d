"""The names that task code written for lmms-eval subclasses or makes, implemented here once; ``polymeter.compat`` gives
them their foreign module names.
"""

from polymeter.dialects.task_yaml.filter_classes import (
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
from polymeter.dialects.task_yaml.guest_config import ForeignConfig as TaskConfig
from polymeter.dialects.task_yaml.guest_task import ConfigurableMessagesTask, ConfigurableTask, Task
from polymeter.dialects.task_yaml.registration import register_aggregation, register_filter, register_metric
from polymeter.guests.instance import Instance

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
