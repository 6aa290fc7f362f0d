"""Drawing a mixed dataset from a collection."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_class

_INSTEAD = "Name the datasets themselves in TaskConfig(datasets=[…], limit=…); each has its own report."

StratifiedSampler = absent_class("StratifiedSampler", _INSTEAD)
UniformSampler = absent_class("UniformSampler", _INSTEAD)
WeightedSampler = absent_class("WeightedSampler", _INSTEAD)
