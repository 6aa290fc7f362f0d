"""The names of ULMEvalKit and VLMEvalKit: ``aliases`` and ``refused`` are tables, the folders have what does something
itself.

``guests.shims`` makes the tables importable as ``ulmeval.…`` and ``vlmeval.…``.
"""
