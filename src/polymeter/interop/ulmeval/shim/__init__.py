"""The names of ULMEvalKit and VLMEvalKit: ``aliases`` and ``refused`` are tables, the folders have the modules with
behaviour.

``guests.shims`` makes the tables importable as ``ulmeval.…`` and ``vlmeval.…``.
"""
