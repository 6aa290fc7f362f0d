"""The other systems, one package each: their benchmark files, model wrappers, importable names and command lines.

Nothing else of Polymeter imports a system. Each says what it offers in the ``SYSTEM`` record of its ``__init__``, which
``polymeter.core.names.systems`` reads; deleting the package takes that system away and nothing else.
"""
