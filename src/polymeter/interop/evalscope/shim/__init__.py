"""The names of EvalScope 0.17: ``aliases`` and ``refused`` are tables, ``evalscope`` has the modules with behaviour.

``guests.shims.finder`` makes the tables importable as ``evalscope.…``.
"""
