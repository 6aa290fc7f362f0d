"""Guests: code that Polymeter did not write. This package is the only way into it.

- ``door``: the three modes in which guests run (load, hook, model) and the process's lock; ``generators`` gives threads
  random generators of their own.
- ``loading``: a file, or the function of a ``!function`` tag, loaded with failures attributed to their author.
  ``contain`` undoes what loading does to the process (warnings, log sinks, working directory, ``sys.path``); variables
  that it adds to the environment stay, because its functions read them later.
- ``imports``: each source file is loaded once, as a module of a private package (``packages``) that stands for its
  folder, so two folders that both have a ``utils.py`` never see each other's. ``import_statements`` finds what its
  imports mean, with ``neighbours`` for names of the package that it was written for and ``search_path`` for what it
  puts on ``sys.path``; ``shims`` serves the names of other systems.
- ``sources``: the files that a guest's code is made of, for hashing and checking; nothing is run.
- ``alarms``: ``signal.alarm`` of a guest on worker threads. ``served_datasets`` and ``served_metrics``: what it opens
  or loads by itself and Polymeter has.
- ``wrappers``: the modules, files and constructor arguments of classes that wrap a model.
- ``own_classes``: which classes among a guest's bases are Polymeter's. ``loggers``: guests' logging, without keys.
"""

from polymeter.guests.contain import contained, seeded
from polymeter.guests.imports import load_file
from polymeter.guests.loading import FunctionRef, name_of, resolve

__all__ = ["FunctionRef", "contained", "load_file", "name_of", "resolve", "seeded"]
