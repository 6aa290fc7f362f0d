"""The names of lmms-eval: ``aliases`` is a table, ``lmms_eval`` has what does something itself.

``guests.shims`` makes the table importable as ``lmms_eval.…`` and ``lm_eval.…``. What is there only to be refused
(``WandbLogger``, ``MCPClient``) says so in words of its own and is no row of a table.
"""
