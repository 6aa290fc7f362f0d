"""Stand-in for ``ulmeval`` (ULMEvalKit): what dataset classes, model wrappers and scripts written for it import."""

from polymeter import __version__

__all__ = ["__version__"]
