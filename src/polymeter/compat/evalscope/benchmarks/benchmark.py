"""Registrations."""

from polymeter.dialects.adapter.registration import BENCHMARK_MAPPINGS, Benchmark, BenchmarkMeta

__all__ = ["BENCHMARK_MAPPINGS", "Benchmark", "BenchmarkMeta"]
