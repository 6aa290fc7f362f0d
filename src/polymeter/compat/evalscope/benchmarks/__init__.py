"""Where benchmarks are written: ``from evalscope.benchmarks import Benchmark, DataAdapter``."""

from polymeter.dialects.adapter.base import DataAdapter
from polymeter.dialects.adapter.registration import Benchmark, BenchmarkMeta

__all__ = ["Benchmark", "BenchmarkMeta", "DataAdapter"]
