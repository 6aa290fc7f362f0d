"""The names of lm-eval: ``aliases`` is a table, ``lm_eval`` has the modules with behaviour.

``guests.shims.finder`` makes the table importable as ``lm_eval.…``. Names that it does not have are looked for below
``lmms_eval``, since wrappers and tasks of lmms-eval import some of its names under this one.
"""
