"""The names of EvalScope 0.17: ``aliases`` and ``refused`` are tables, ``evalscope`` has what does something itself.

``guests.shims`` makes the tables importable as ``evalscope.…``.
"""
