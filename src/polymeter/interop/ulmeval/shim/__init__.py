"""The names of ULMEvalKit and VLMEvalKit: ``aliases`` and ``refused`` are tables, the folders have the modules with
behaviour.

``guests.shims.finder`` makes the tables importable as ``ulmeval.…`` and ``vlmeval.…``.
"""
