"""The Python files of benchmarks, read or loaded, and the tasks that a call was given as objects."""
