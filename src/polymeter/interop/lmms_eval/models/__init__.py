"""The ``lmms`` backend: model wrappers written for lmms-eval, run unmodified.

``loading`` finds the class in the user's file or package, ``plugins`` in installed packages; ``making`` constructs the
wrapper; ``rows`` is the dataset that the wrapper reads; ``calls`` makes its argument tuples and ``answers`` reads what
it returns; ``model`` puts these together for the engine.
"""

from polymeter.interop.lmms_eval.models.model import LmmsModel

__all__ = ["LmmsModel"]
