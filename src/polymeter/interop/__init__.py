"""The other systems, one package each: their benchmark files, model wrappers, importable names and command lines.

Nothing else of Polymeter imports a system. Each lists its parts in the ``SYSTEM`` record of its ``__init__``, which
``polymeter.core.names.systems`` reads. Deleting the package removes that system and nothing else.
"""
