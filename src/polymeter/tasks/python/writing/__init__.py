"""The names that authors of benchmarks import: the decorators ``task`` and ``scorer``, and the records they make."""
