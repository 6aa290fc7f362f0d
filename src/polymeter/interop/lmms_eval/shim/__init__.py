"""The names of lmms-eval: ``aliases`` is a table, ``lmms_eval`` has the modules with behaviour.

``guests.shims.finder`` makes the table importable as ``lmms_eval.…``. The few names that are refused
(``WandbLogger``, ``MCPClient``) raise their own errors instead of standing in a table.
"""
