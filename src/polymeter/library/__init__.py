"""Benchmarks, models and metrics that come with Polymeter, written as any author could write them: they import
``polymeter.extend`` alone. A package, so that the import contracts apply to it.
"""
