"""Names of a tool's whole tree: the order of its classes, the presets of its video benchmarks, and files as the index
remembers them. Nothing is run.
"""
