"""Benchmark formats of Polymeter's own: task YAML, and tables without a class. Each compiles to core Tasks; none of them
knows the engine or the models.
"""
