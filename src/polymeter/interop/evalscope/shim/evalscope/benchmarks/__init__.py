"""Where benchmarks are written: ``from evalscope.benchmarks import Benchmark, DataAdapter``."""

from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.registration import Benchmark, BenchmarkMeta

__all__ = ["Benchmark", "BenchmarkMeta", "DataAdapter"]
