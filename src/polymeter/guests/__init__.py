"""Guests: code that Polymeter did not write, loaded so that it finds what it expects and leaves nothing behind.

Each source file is loaded once, as a module of a private package that stands for its folder. Two folders that both
have a ``utils.py`` never see each other's. What loading does to the process (warnings, log sinks, working directory,
``sys.path``) is undone; variables that it adds to the environment stay, because its functions read them later.
"""

from polymeter.guests.contain import contained, seeded
from polymeter.guests.imports import load_file
from polymeter.guests.refs import FunctionRef, name_of, resolve

__all__ = ["FunctionRef", "contained", "load_file", "name_of", "resolve", "seeded"]
