"""Benchmarks written as data adapters that come with Polymeter."""
