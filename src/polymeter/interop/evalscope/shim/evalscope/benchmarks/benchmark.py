"""Registrations."""

from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, Benchmark, BenchmarkMeta

__all__ = ["BENCHMARK_MAPPINGS", "Benchmark", "BenchmarkMeta"]
