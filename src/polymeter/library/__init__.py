"""Benchmarks, models and detectors that come with Polymeter. They import ``polymeter.extend`` alone, so any author
could write them. The folder is a package, so that the import contracts apply to it.
"""
