"""What comes with Polymeter and is written as any author could write it: benchmarks, models and metrics that import
``polymeter.extend`` alone. A package, so that the import contracts see it.
"""
