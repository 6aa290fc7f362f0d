"""Guests: code that Polymeter did not write. This package is the only way into it.

- ``door``: the three modes in which guests run (load, hook, model) and the process's lock; ``generators`` gives threads
  random generators of their own.
- ``loading``: a file, or the function of a ``!function`` tag, loaded with failures attributed to their author
  (``load``). Each source file is loaded once (``imports``), as a module of a private package (``packages``) that stands
  for its folder, so two folders that both have a ``utils.py`` never see each other's. ``neighbours`` finds names of the
  package that it was written for, and ``search_path`` the folders that it puts on ``sys.path``.
- ``contain`` undoes what loading does to the process (warnings, log sinks, working directory, ``sys.path``); variables
  that it adds to the environment stay, because its functions read them later.
- ``shims`` serves the names of other systems.
- ``reading``: facts about a guest's source without running it: the meaning of its imports, its files, the packages and
  names that it uses.
- ``alarms``: ``signal.alarm`` of a guest on worker threads. ``served``: data, metrics and packages that it imports by
  itself and Polymeter has.
- ``wrappers``: the modules, files and constructor arguments of classes that wrap a model.
- ``own_classes``: Polymeter's classes among a guest's bases. ``loggers``: guests' logging, without keys.
"""

from polymeter.guests.contain import contained, seeded
from polymeter.guests.loading.imports import load_file
from polymeter.guests.loading.load import FunctionRef, name_of, resolve

__all__ = ["FunctionRef", "contained", "load_file", "name_of", "resolve", "seeded"]
