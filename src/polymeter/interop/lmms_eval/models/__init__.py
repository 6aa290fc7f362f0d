"""The ``lmms`` backend: model wrappers written for lmms-eval, run as they are.

``loading`` finds the class in somebody's file or package, ``plugins`` in installed packages; ``making`` checks its
arguments and constructs it; ``rows`` is the dataset that it believes to read; ``calls`` makes its argument tuples and
``answers`` reads what it gives back; ``model`` puts these together for the engine.
"""

from polymeter.interop.lmms_eval.models.model import LmmsModel

__all__ = ["LmmsModel"]
