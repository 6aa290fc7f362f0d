"""Collections of datasets: how they are described. They are not run here as one dataset."""

from polymeter.interop.evalscope.shim.evalscope._absent import absent_class
from polymeter.interop.evalscope.shim.evalscope.collections.sampler import (
    StratifiedSampler,
    UniformSampler,
    WeightedSampler,
)
from polymeter.interop.evalscope.shim.evalscope.collections.schema import CollectionSchema, DatasetInfo

__all__ = [
    "CollectionSchema",
    "DatasetInfo",
    "EvaluatorCollection",
    "StratifiedSampler",
    "UniformSampler",
    "WeightedSampler",
]

EvaluatorCollection = absent_class(
    "EvaluatorCollection", "Name the datasets themselves in TaskConfig(datasets=[…]); each has its own report."
)
